"""Cases of the attention operators of com.microsoft."""

import numpy as np
from onnx import TensorProto

from case_writer import generator
from cases_matmul import normal
from cases_qlinear import quantized, quantized_weights, scale

BATCH, LENGTH, HEADS, SIZE, PAST = 2, 4, 3, 8, 5
HIDDEN = HEADS * SIZE


def padding_masks(rng, queries, keys):
    return {
        "no_mask": None,
        "mask_ends": np.array([keys - 1, keys], np.int32),
        "mask_keys": (np.arange(keys) >= np.array([[1], [0]])).astype(np.int32),
        "mask_queries": (rng.random((BATCH, queries, keys)) < 0.7).astype(np.int32),
    }


def projected(writer):
    for causal in (0, 1):
        for past in (0, PAST):
            base = f"attention_causal{causal}_past{past}"
            rng = generator(base)
            x, weights, bias = normal(rng, BATCH, LENGTH, 10), normal(rng, 10, 3 * HIDDEN) * 0.3, normal(rng, 3 * HIDDEN)
            cache = normal(rng, 2, BATCH, HEADS, past, SIZE) if past else None
            for mask_name, mask in padding_masks(rng, LENGTH, LENGTH + past).items():
                writer.case(f"{base}_{mask_name}", "Attention", [x, weights, bias, mask, cache],
                            dict(num_heads=HEADS, unidirectional=causal), outputs=2 if past else 1)
    rng = generator("attention_variants")
    x, weights = normal(rng, BATCH, LENGTH, 10), normal(rng, 10, 2 * HIDDEN + 12) * 0.3
    writer.case("attention_value_size", "Attention", [x, weights, normal(rng, 2 * HIDDEN + 12)],
                dict(num_heads=HEADS, qkv_hidden_sizes=[HIDDEN, HIDDEN, 12], scale=0.3))
    weights = normal(rng, 10, 3 * HIDDEN) * 0.3
    writer.case("attention_mask_ends_and_starts", "Attention",
                [x, weights, normal(rng, 3 * HIDDEN), np.array([3, 4, 0, 1], np.int32)], dict(num_heads=HEADS))
    writer.case("attention_score_bias", "Attention",
                [x, weights, normal(rng, 3 * HIDDEN), None, None, normal(rng, 1, HEADS, LENGTH, LENGTH)],
                dict(num_heads=HEADS, unidirectional=1))


def quantized_projected(writer):
    for kind, dtype in (("uint8", np.uint8), ("int8", np.int8)):
        for past in (0, PAST):
            name = f"qattention_{kind}_past{past}"
            rng = generator(name)
            columns = 3 * HIDDEN
            inputs = [quantized(rng, np.uint8, BATCH, LENGTH, 10), quantized_weights(rng, dtype, 10, columns), normal(rng, columns),
                      scale(0.0119), scale(0.0071), np.array([3, 4], np.int32), np.array(117, np.uint8), np.array(5, dtype)]
            if past:
                inputs[5] = None
                inputs.append(normal(rng, 2, BATCH, HEADS, past, SIZE))
            writer.case(name, "QAttention", inputs, dict(num_heads=HEADS, unidirectional=int(past > 0)), outputs=2 if past else 1)
    rng = generator("qattention_columns")
    columns = 3 * HIDDEN
    writer.case("qattention_columns", "QAttention",
                [quantized(rng, np.uint8, BATCH, LENGTH, 10), quantized_weights(rng, np.int8, 10, columns), normal(rng, columns), scale(0.0119),
                 (rng.random(columns) * 0.01 + 0.001).astype(np.float32), None, np.array(117, np.uint8), np.zeros(columns, np.int8)],
                dict(num_heads=HEADS))


def multi_head(writer):
    for causal in (0, 1):
        for past in (0, PAST):
            base = f"multi_head_attention_causal{causal}_past{past}"
            rng = generator(base)
            q, k, v = (normal(rng, BATCH, LENGTH, HIDDEN) for _ in range(3))
            caches = [normal(rng, BATCH, HEADS, past, SIZE) if past else None for _ in range(2)]
            for mask_name, mask in padding_masks(rng, LENGTH, LENGTH + past).items():
                bias = normal(rng, 3 * HIDDEN) if mask_name == "mask_keys" else None
                writer.case(f"{base}_{mask_name}", "MultiHeadAttention", [q, k, v, bias, mask, None, *caches],
                            dict(num_heads=HEADS, unidirectional=causal), outputs=3 if past else 1)
    rng = generator("multi_head_attention_variants")
    q, k, v = normal(rng, BATCH, LENGTH, HIDDEN), normal(rng, BATCH, 6, HIDDEN), normal(rng, BATCH, 6, 4 * HEADS)
    attributes = dict(num_heads=HEADS)
    writer.case("multi_head_attention_cross", "MultiHeadAttention", [q, k, v], dict(attributes, scale=0.2))
    writer.case("multi_head_attention_score_bias", "MultiHeadAttention",
                [q, k, v, None, None, normal(rng, 1, HEADS, LENGTH, 6)], attributes)
    writer.case("multi_head_attention_shown_scores", "MultiHeadAttention", [q, k, v], attributes, outputs=[True, False, False, True],
                types=[TensorProto.FLOAT] * 2)
    separate = [normal(rng, BATCH, HEADS, 6, SIZE) for _ in range(2)]
    writer.case("multi_head_attention_separate_keys", "MultiHeadAttention", [q, *separate], attributes)
    writer.case("multi_head_attention_separate_keys_bias", "MultiHeadAttention", [q, *separate, normal(rng, 3 * HIDDEN)], attributes)


def decoder_masked(writer):
    """ONNX Runtime's CPU kernel attends to itself only with one buffer for past and present."""
    capacity = 9
    for past in (0, PAST):
        for variant in ("plain", "mask", "score_bias", "projection_bias", "scale", "shown_scores"):
            name = f"decoder_masked_attention_{variant}_past{past}"
            rng = generator(name)
            q, k, v = (normal(rng, BATCH, 1, HIDDEN) for _ in range(3))
            inputs = [q, k, v, None, None, *(normal(rng, BATCH, HEADS, capacity, SIZE) for _ in range(2)), np.array([past], np.int32)]
            attributes = dict(num_heads=HEADS, past_present_share_buffer=1)
            if variant == "mask":
                inputs[3] = (np.arange(past + 1) >= np.array([[1], [0]])).astype(np.int32)
            if variant == "score_bias":
                inputs[4] = normal(rng, 1, HEADS, 1, past + 1)
            if variant == "projection_bias":
                inputs += [None, None, normal(rng, 3 * HIDDEN)]
            if variant == "scale":
                attributes["scale"] = 0.3
            if variant == "shown_scores":
                attributes["output_qk"] = 1
            writer.case(name, "DecoderMaskedMultiHeadAttention", inputs, attributes, outputs=4 if variant == "shown_scores" else 3,
                        types=[TensorProto.FLOAT] * 4)
    # With a past of its own size the operator is the same as MultiHeadAttention.
    rng = generator("decoder_masked_attention_growing")
    operands, caches = [normal(rng, BATCH, 1, HIDDEN) for _ in range(3)], [normal(rng, BATCH, HEADS, PAST, SIZE) for _ in range(2)]
    expected = writer.run("MultiHeadAttention", [*operands, None, None, None, *caches], dict(num_heads=HEADS), outputs=3)
    writer.case("decoder_masked_attention_growing", "DecoderMaskedMultiHeadAttention", [*operands, None, None, *caches],
                dict(num_heads=HEADS), outputs=3, expected=expected)
    for variant in ("plain", "mask", "shown_scores"):
        name = f"decoder_masked_attention_across_{variant}"
        rng = generator(name)
        inputs = [normal(rng, BATCH, 1, HIDDEN), *(normal(rng, BATCH, HEADS, 6, SIZE) for _ in range(2))]
        if variant == "mask":
            inputs.append((np.arange(6) >= np.array([[1], [0]])).astype(np.int32))
        shown = variant == "shown_scores"
        writer.case(name, "DecoderMaskedMultiHeadAttention", inputs, dict(num_heads=HEADS, output_qk=int(shown)),
                    outputs=[True, False, False, True] if shown else 1, types=[TensorProto.FLOAT] * 2)


def group_query(writer):
    heads, shared, size = 4, 2, 16
    angles = np.outer(np.arange(16), 1 / 100 ** (np.arange(size // 2) / (size // 2)))
    caches = [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]
    variants = {
        "plain": {}, "rotary": dict(do_rotary=1), "interleaved": dict(do_rotary=1, rotary_interleaved=1),
        "window": dict(local_window_size=3), "soft_cap": dict(softcap=1.5), "scale": dict(scale=0.5), "smooth": dict(smooth_softmax=1),
    }
    # name: (new rows, rows of the past buffer, keys of each batch entry)
    steps = {"prompt": (5, 0, [5, 5]), "decode": (1, 6, [4, 7]), "shared_decode": (1, 12, [4, 7]), "chunk": (3, 6, [9])}
    for variant, attributes in variants.items():
        for step, (rows, past, totals) in steps.items():
            for packed in (False, True):
                name = f"group_query_attention_{variant}_{step}_{'packed' if packed else 'separate'}"
                rng, batch = generator(name), len(totals)
                if packed:
                    operands = [normal(rng, batch, rows, (heads + 2 * shared) * size), None, None]
                else:
                    operands = [normal(rng, batch, rows, count * size) for count in (heads, shared, shared)]
                cache = [normal(rng, batch, shared, past, size) if past else None for _ in range(2)]
                inputs = [*operands, *cache, np.array(totals, np.int32) - 1, np.array(max(totals), np.int32)]
                if "do_rotary" in attributes:
                    inputs += caches
                writer.case(name, "GroupQueryAttention", inputs, dict(attributes, num_heads=heads, kv_num_heads=shared), outputs=3)
    for extra in ("score_bias", "sink", "shown_scores", "shown_weights"):
        name = f"group_query_attention_{extra}"
        rng = generator(name)
        inputs = [normal(rng, 2, 5, count * size) for count in (heads, shared, shared)]
        inputs += [None, None, np.array([4, 4], np.int32), np.array(5, np.int32), None, None, None]
        attributes = dict(num_heads=heads, kv_num_heads=shared)
        if extra == "score_bias":
            inputs.append(normal(rng, 2, heads, 5, 5))
        if extra == "sink":
            inputs += [None, normal(rng, heads)]
        shown = {"shown_scores": 1, "shown_weights": 2}.get(extra)
        if shown:
            attributes["qk_output"] = shown
        writer.case(name, "GroupQueryAttention", inputs, attributes, outputs=4 if shown else 3)


def rotary(writer):
    for interleaved in (0, 1):
        for layout in ("packed", "separate", "partial"):
            for positions in ("all", "start"):
                name = f"microsoft_rotary_embedding_{layout}_{positions}_interleaved{interleaved}"
                rng = generator(name)
                half = SIZE // 4 if layout == "partial" else SIZE // 2
                x = normal(rng, BATCH, HEADS, LENGTH, SIZE) if layout == "separate" else normal(rng, BATCH, LENGTH, HIDDEN)
                ids = rng.integers(0, 9, (BATCH, LENGTH)) if positions == "all" else np.array([3])
                attributes = dict(interleaved=interleaved)
                if layout == "partial":
                    attributes.update(num_heads=HEADS, rotary_embedding_dim=2 * half)
                writer.case(name, "RotaryEmbedding", [x, ids.astype(np.int64), normal(rng, 9, half), normal(rng, 9, half)], attributes)


def write(writer):
    for family in (projected, quantized_projected, multi_head, decoder_masked, group_query, rotary):
        family(writer)
