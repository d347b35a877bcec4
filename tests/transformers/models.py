"""Transformers with free batch and lengths. Each takes a writer and a Size, and gives the names of its free dimensions."""
import dataclasses
import math

import numpy as np
from layers import (attention_of_batches, eager_attention, feed_forward, fused_attention, gated_feed_forward, gelu, gelu_by_tanh, heads_of,
                    layer_norm, linear, linear_of_rows, repeat_heads, rms_norm, rotary_frequencies, rotate, rows_of)
from masks import (added_padding, causal_by_order, causal_by_trilu, causal_flags, causal_of_buffer, expanded_padding, places_of, positions)
from writer import FLOAT, INT32, INT64, Writer


@dataclasses.dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    vocabulary: int
    places: int  # of learned positions

    @property
    def head(self) -> int:
        return self.width // self.heads


SIZES = {"small": Size(2, 64, 4, 96, 256), "bench": Size(6, 512, 8, 8000, 1024)}


def table(g: Writer, name: str, rows: int, width: int, indices: str) -> str:
    with g.scope(name):
        return g.node("Gather", g.weight("weight", rows, width, deviation=0.5), indices)


def logits(g: Writer, x: str, size: Size) -> None:
    product = g.node("MatMul", x, g.weight("lm_head.weight", size.width, size.vocabulary, deviation=1 / math.sqrt(size.width)))
    g.output(product, "logits", FLOAT, ["batch", "sequence", size.vocabulary])


def three(g: Writer, x: str, size: Size, bias: bool = True) -> list[str]:
    """Queries, keys and values as rows."""
    return [linear(g, x, name, size.width, size.width, bias) for name in ("q_proj", "k_proj", "v_proj")]


class Cache:
    """past_key_values of one layer, [batch, heads, past, size], to which a step's keys and values are appended."""

    def __init__(self, g: Writer, layer: int, heads: int, size: int, part: str = "", total: str = "past + sequence"):
        self.g, self.part, self.layer, self.heads, self.size, self.total = g, part, layer, heads, size, total
        past = "encoder_sequence" if part == "encoder." else "past"
        self.past = [g.input(f"past_key_values.{layer}.{part}{kind}", FLOAT, ["batch", heads, past, size]) for kind in ("key", "value")]

    def append(self, k: str, v: str) -> list[str]:
        return [self.g.node("Concat", past, now, axis=2) for past, now in zip(self.past, (k, v))]

    def give(self, values: list[str]) -> None:
        for kind, value in zip(("key", "value"), values):
            self.g.output(value, f"present.{self.layer}.{self.part}{kind}", FLOAT, ["batch", self.heads, self.total, self.size])


def encoder(g: Writer, size: Size, *, fused: bool, **_) -> None:
    """BERT: eager attention with decomposed norms, scaled_dot_product_attention with fused ones."""
    ids, mask, types = (g.input(name, INT64, ["batch", "sequence"]) for name in ("input_ids", "attention_mask", "token_type_ids"))
    g_mask = added_padding(g, mask) if not fused else expanded_padding(g, mask, g.size(ids, 0), g.size(ids, 1), g.size(ids, 1))
    x = encoder_layers(g, embedded(g, ids, types, size, fused), size, fused, lambda q, k, v: (
        fused_attention(g, q, k, v, g_mask) if fused else
        eager_attention(g, q, k, v, size.head, lambda scores: g.node("Add", scores, g_mask))))
    g.output(x, "last_hidden_state", FLOAT, ["batch", "sequence", size.width])
    with g.scope("pooler"):
        first = g.node("Gather", "last_hidden_state", g.constant(0), axis=1)
        weight = g.weight("weight", size.width, size.width, deviation=1 / math.sqrt(size.width))
        g.output(g.node("Tanh", g.node("Gemm", first, weight, g.weight("bias", size.width), transB=1)), "pooler_output", FLOAT, ["batch", size.width])


def embedded(g: Writer, ids: str, types: str, size: Size, fused: bool) -> str:
    with g.scope("embeddings"):
        stored = g.buffer("position_ids", np.arange(size.places)[None])
        places = g.slice(stored, 1, 0, g.unsqueeze(g.size(ids, 1), 0))
        x = g.node("Add", table(g, "word_embeddings", size.vocabulary, size.width, ids), table(g, "token_type_embeddings", 2, size.width, types))
        x = g.node("Add", x, table(g, "position_embeddings", size.places, size.width, places))
        return layer_norm(g, x, "LayerNorm", size.width, fused)


def encoder_layers(g: Writer, x: str, size: Size, fused: bool, attend) -> str:
    for layer in range(size.layers):
        with g.scope(f"encoder/layer.{layer}"):
            q, k, v = (heads_of(g, each, size.heads, size.head) for each in three(g, x, size))
            rows = linear(g, rows_of(g, attend(q, k, v), size.width), "dense", size.width, size.width)
            x = layer_norm(g, g.node("Add", rows, x), "attention.LayerNorm", size.width, fused)
            x = layer_norm(g, g.node("Add", feed_forward(g, x, size.width, gelu), x), "output.LayerNorm", size.width, fused)
    return x


def decoder_inputs(g: Writer, size: Size, heads: int) -> tuple[str, str, list[Cache], str]:
    """input_ids, attention_mask of all keys, the caches, and their length as a scalar."""
    ids = g.input("input_ids", INT64, ["batch", "sequence"])
    mask = g.input("attention_mask", INT64, ["batch", "past + sequence"])
    caches = [Cache(g, layer, heads, size.head) for layer in range(size.layers)]
    return ids, mask, caches, g.size(caches[0].past[0], 2)


def gpt2(g: Writer, size: Size, **_) -> None:
    """Queries, keys and values from one Gemm, a causal mask cut out of a stored triangle."""
    ids, mask, caches, past = decoder_inputs(g, size, size.heads)
    places = g.unsqueeze(positions(g, past, g.node("Add", past, g.size(ids, 1))), 0)
    padding = added_padding(g, g.reshape(mask, g.size(ids, 0), -1))
    x = g.node("Add", table(g, "wte", size.vocabulary, size.width, ids), table(g, "wpe", size.places, size.width, places))
    triangle = g.buffer("bias", np.tril(np.ones((1, 1, size.places, size.places), np.uint8)))
    for layer, cache in enumerate(caches):
        with g.scope(f"h.{layer}"):
            packed = linear_of_rows(g, layer_norm(g, x, "ln_1", size.width, fused=False), "c_attn", size.width, 3 * size.width)
            q, k, v = (heads_of(g, each, size.heads, size.head) for each in g.node("Split", packed, g.constant([size.width] * 3), outputs=3, axis=2))
            k, v = cache.append(k, v)
            causal = causal_of_buffer(g, triangle, q, k)
            result = eager_attention(g, q, k, v, size.head, lambda scores: g.node("Add", causal(scores), padding))
            x = g.node("Add", linear_of_rows(g, rows_of(g, result, size.width), "c_proj", size.width, size.width), x)
            inner = feed_forward(g, layer_norm(g, x, "ln_2", size.width, fused=False), size.width, gelu_by_tanh, linear_of_rows)
            x = g.node("Add", x, inner)
            cache.give([k, v])
    logits(g, layer_norm(g, x, "ln_f", size.width, fused=False), size)


def opt(g: Writer, size: Size, *, fused: bool, **_) -> None:
    """Learned positions that count what is no padding, causal and padding masks added, scaled_dot_product_attention."""
    ids, mask, caches, past = decoder_inputs(g, size, size.heads)
    batch, queries = g.size(ids, 0), g.size(ids, 1)
    total = g.node("Add", past, queries)
    causal = g.node("Add", causal_by_order(g, batch, queries, past), expanded_padding(g, mask, batch, queries, total))
    x = g.node("Add", table(g, "embed_tokens", size.vocabulary, size.width, ids), table(g, "embed_positions", size.places, size.width, places_of(g, mask, past)))
    for layer, cache in enumerate(caches):
        with g.scope(f"layers.{layer}"):
            q, k, v = (heads_of(g, each, size.heads, size.head) for each in three(g, layer_norm(g, x, "attn_norm", size.width, fused), size))
            k, v = cache.append(k, v)
            result = fused_attention(g, q, k, v, causal)
            x = g.node("Add", x, linear(g, rows_of(g, result, size.width), "out_proj", size.width, size.width))
            x = g.node("Add", x, feed_forward(g, layer_norm(g, x, "final_norm", size.width, fused), size.width, lambda g, x: g.node("Relu", x)))
            cache.give([k, v])
    logits(g, layer_norm(g, x, "final_layer_norm", size.width, fused), size)


def rotary_tables(g: Writer, size: Size, batch: str, places: str) -> list[str]:
    """Cosines and sines of [batch, 1, sequence, head], computed from places of [batch, sequence], or looked up in later exports."""
    frequencies = rotary_frequencies(size.head)
    if g.opset >= 18:
        angles = np.outer(np.arange(size.places), np.concatenate([frequencies, frequencies])).astype(np.float32)
        return [g.unsqueeze(g.node("Gather", g.buffer(name, turn(angles)), places), 1) for name, turn in (("cos_cached", np.cos), ("sin_cached", np.sin))]
    column = g.expand(g.buffer("inv_freq", frequencies[None, :, None]), batch, -1, 1)
    angles = g.node("Transpose", g.node("MatMul", column, g.cast(g.unsqueeze(places, 1), FLOAT)), perm=[0, 2, 1])
    angles = g.node("Concat", angles, angles, axis=-1)
    return [g.unsqueeze(g.node(op, angles), 1) for op in ("Cos", "Sin")]


def llama(g: Writer, size: Size, **_) -> None:
    """Rotary positions, RMSNorm, SwiGLU, grouped queries."""
    groups = size.heads // 2
    ids, mask, caches, past = decoder_inputs(g, size, groups)
    batch, queries = g.size(ids, 0), g.size(ids, 1)
    cos, sin = rotary_tables(g, size, batch, places_of(g, mask, past))
    new = g.opset >= 18
    causal = (causal_flags if new else causal_by_trilu)(g, mask, batch, queries, past)
    x = table(g, "embed_tokens", size.vocabulary, size.width, ids)
    for layer, cache in enumerate(caches):
        with g.scope(f"layers.{layer}"):
            normal = rms_norm(g, x, "input_layernorm", size.width)
            q = heads_of(g, linear(g, normal, "q_proj", size.width, size.width, bias=False), size.heads, size.head)
            k, v = (heads_of(g, linear(g, normal, name, size.width, groups * size.head, bias=False), groups, size.head) for name in ("k_proj", "v_proj"))
            kept = cache.append(rotate(g, k, cos, sin), v)
            k, v = (repeat_heads(g, each, 2, groups, size.head) for each in kept)
            q = rotate(g, q, cos, sin)
            if new:
                result = fused_attention(g, q, k, v, causal, guarded=True)
            else:
                result = eager_attention(g, q, k, v, size.head, lambda scores: g.node("Add", scores, g.slice(causal, 3, 0, g.unsqueeze(g.size(k, 2), 0))))
            x = g.node("Add", x, linear(g, rows_of(g, result, size.width), "o_proj", size.width, size.width, bias=False))
            x = g.node("Add", x, gated_feed_forward(g, rms_norm(g, x, "post_attention_layernorm", size.width), size.width))
            cache.give(kept)
    logits(g, rms_norm(g, x, "norm", size.width), size)


def genai(g: Writer, size: Size, **_) -> None:
    """As ONNX Runtime's model builder writes Llama: one operator rotates, keeps the caches and attends, told how many keys there are."""
    groups = size.heads // 2
    ids = g.input("input_ids", INT64, ["batch", "sequence"])
    mask = g.input("attention_mask", INT64, ["batch", "total_sequence_length"])
    caches = [Cache(g, layer, groups, size.head, total="total_sequence_length") for layer in range(size.layers)]
    last = g.cast(g.node("Sub", g.node("ReduceSum", mask, g.constant([1]), keepdims=0), g.constant([1])), INT32)
    total = g.cast(g.size(mask, 1), INT32)
    angles = np.outer(np.arange(size.places), rotary_frequencies(size.head)).astype(np.float32)
    turns = [g.buffer(name, turn(angles)) for name, turn in (("cos_cache", np.cos), ("sin_cache", np.sin))]
    x = table(g, "embed_tokens", size.vocabulary, size.width, ids)
    for layer, cache in enumerate(caches):
        with g.scope(f"layers.{layer}"):
            normal = rms_norm(g, x, "input_layernorm", size.width)
            q, k, v = (linear(g, normal, name, size.width, heads * size.head, bias=False)
                       for name, heads in (("q_proj", size.heads), ("k_proj", groups), ("v_proj", groups)))
            rows, *present = g.node("GroupQueryAttention", q, k, v, *cache.past, last, total, *turns, outputs=3, domain="com.microsoft",
                                    do_rotary=1, kv_num_heads=groups, num_heads=size.heads)
            x = g.node("Add", x, linear(g, rows, "o_proj", size.width, size.width, bias=False))
            x = g.node("Add", x, gated_feed_forward(g, rms_norm(g, x, "post_attention_layernorm", size.width), size.width))
            cache.give(present)
    logits(g, rms_norm(g, x, "norm", size.width), size)


def bart(g: Writer, size: Size, *, fused: bool, **_) -> None:
    """Encoder and decoder in one graph, heads folded into the batch; the decoder's own keys and values are cached."""
    source, mask = (g.input(name, INT64, ["batch", "encoder_sequence"]) for name in ("input_ids", "attention_mask"))
    ids = g.input("decoder_input_ids", INT64, ["batch", "sequence"])
    caches = [Cache(g, layer, size.heads, size.head) for layer in range(size.layers)]
    past, batch, queries, length = g.size(caches[0].past[0], 2), g.size(ids, 0), g.size(ids, 1), g.size(source, 1)
    words = lambda each: table(g, "shared", size.vocabulary, size.width, each)
    with g.scope("encoder"):
        x = g.node("Add", words(source), table(g, "embed_positions", size.places, size.width, positions(g, g.constant(0), length)))
        hidden = folded_layers(g, x, size, fused, expanded_padding(g, mask, batch, length, length))
    with g.scope("decoder"):
        places = positions(g, past, g.node("Add", past, queries))
        x = g.node("Add", words(ids), table(g, "embed_positions", size.places, size.width, places))
        x = folded_layers(g, x, size, fused, causal_by_order(g, batch, queries, past), caches, hidden, expanded_padding(g, mask, batch, queries, length))
    logits(g, x, size)


def folded_layers(g: Writer, x: str, size: Size, fused: bool, mask: str, caches=(), hidden: str = "", cross_mask: str = "") -> str:
    def attend(x: str, others: str, mask: str, cache, name: str) -> str:
        with g.scope(name):
            q = g.node("Mul", linear(g, x, "q_proj", size.width, size.width), g.constant(size.head ** -0.5))
            k, v = (heads_of(g, linear(g, others, each, size.width, size.width), size.heads, size.head) for each in ("k_proj", "v_proj"))
            if cache:
                k, v = cache.append(k, v)
            rows = attention_of_batches(g, q, k, v, size.heads, size.head, mask)
            if cache:
                cache.give([k, v])
            return layer_norm(g, g.node("Add", x, linear(g, rows, "out_proj", size.width, size.width)), "norm", size.width, fused)

    for layer in range(size.layers):
        with g.scope(f"layers.{layer}"):
            x = attend(x, x, mask, caches[layer] if caches else None, "self_attn")
            if hidden:
                x = attend(x, hidden, cross_mask, None, "encoder_attn")
            x = layer_norm(g, g.node("Add", x, feed_forward(g, x, size.width, gelu)), "final_norm", size.width, fused)
    return x


def whisper(g: Writer, size: Size, *, fused: bool, **_) -> None:
    """A decoder with past: its own keys and values grow, those of the encoder come as they are."""
    ids = g.input("input_ids", INT64, ["batch", "sequence"])
    caches = [[Cache(g, layer, size.heads, size.head, f"{part}.") for part in ("decoder", "encoder")] for layer in range(size.layers)]
    past, batch, queries = g.size(caches[0][0].past[0], 2), g.size(ids, 0), g.size(ids, 1)
    places = g.node("Add", g.unsqueeze(positions(g, g.constant(0), queries), 0), past)
    mask = causal_by_order(g, batch, queries, past)
    x = g.node("Add", table(g, "embed_tokens", size.vocabulary, size.width, ids), table(g, "embed_positions", size.places, size.width, places))
    for layer, (own, other) in enumerate(caches):
        with g.scope(f"layers.{layer}"):
            q, k, v = (heads_of(g, each, size.heads, size.head) for each in three(g, layer_norm(g, x, "self_attn_norm", size.width, fused), size))
            k, v = own.append(k, v)
            rows = rows_of(g, fused_attention(g, q, k, v, mask), size.width)
            x = g.node("Add", x, linear(g, rows, "self_attn.out_proj", size.width, size.width))
            own.give([k, v])
            normal = layer_norm(g, x, "encoder_attn_norm", size.width, fused)
            q = heads_of(g, linear(g, normal, "encoder_attn.q_proj", size.width, size.width), size.heads, size.head)
            rows = rows_of(g, eager_attention(g, q, *other.past, size.head, lambda scores: scores), size.width)
            x = g.node("Add", x, linear(g, rows, "encoder_attn.out_proj", size.width, size.width))
            x = g.node("Add", x, feed_forward(g, layer_norm(g, x, "final_norm", size.width, fused), size.width, gelu))
    logits(g, layer_norm(g, x, "layer_norm", size.width, fused), size)


# Name: the function, opset, and whether norms are one operator.
KINDS = {
    "bert-14": (encoder, 14, False),
    "bert-18": (encoder, 18, True),
    "gpt2-14": (gpt2, 14, False),
    "opt-18": (opt, 18, False),
    "llama-14": (llama, 14, False),
    "llama-18": (llama, 18, False),
    "genai-14": (genai, 14, False),
    "bart-14": (bart, 14, False),
    "whisper-18": (whisper, 18, True),
}
