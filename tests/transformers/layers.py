"""The layers of transformers as PyTorch's exporters decompose them."""
import math

import numpy as np
from writer import FLOAT, LAST, Writer


def linear(g: Writer, x: str, name: str, width: int, into: int, bias: bool = True) -> str:
    with g.scope(name):
        product = g.node("MatMul", x, g.weight("weight", width, into, deviation=1 / math.sqrt(width)))
        return g.node("Add", g.weight("bias", into), product) if bias else product


def linear_of_rows(g: Writer, x: str, name: str, width: int, into: int) -> str:
    """The Conv1D of GPT-2: a Gemm of all rows."""
    with g.scope(name):
        batch, length = g.size(x, 0), g.size(x, 1)
        rows = g.node("Reshape", x, g.sizes(-1, width))
        product = g.node("Gemm", rows, g.weight("weight", width, into, deviation=1 / math.sqrt(width)), g.weight("bias", into))
        return g.reshape(product, batch, length, into)


def layer_norm(g: Writer, x: str, name: str, width: int, fused: bool) -> str:
    with g.scope(name):
        scale, bias = g.weight("weight", width, mean=1, deviation=0.1), g.weight("bias", width)
        if fused:
            return g.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
        centred = g.node("Sub", x, g.mean(x))
        variance = g.mean(g.node("Pow", centred, g.constant(2.0)))
        deviation = g.node("Sqrt", g.node("Add", variance, g.constant(1e-5)))
        return g.node("Add", g.node("Mul", g.node("Div", centred, deviation), scale), bias)


def rms_norm(g: Writer, x: str, name: str, width: int) -> str:
    """Opset 14: x times 1 / sqrt(…), as TorchScript writes rsqrt; opset 18: the reciprocal, as Dynamo does."""
    with g.scope(name):
        mean = g.node("Add", g.mean(g.node("Pow", x, g.constant(2.0))), g.constant(1e-6))
        root = g.node("Sqrt", mean)
        inverse = g.node("Div", g.constant(1.0), root) if g.opset < 18 else g.node("Reciprocal", root)
        return g.node("Mul", g.weight("weight", width, mean=1, deviation=0.1), g.node("Mul", x, inverse))


def gelu(g: Writer, x: str) -> str:
    erf = g.node("Erf", g.node("Div", x, g.constant(math.sqrt(2))))
    return g.node("Mul", g.node("Mul", x, g.node("Add", erf, g.constant(1.0))), g.constant(0.5))


def gelu_by_tanh(g: Writer, x: str) -> str:
    cubic = g.node("Mul", g.node("Pow", x, g.constant(3.0)), g.constant(0.044715))
    inner = g.node("Mul", g.node("Add", x, cubic), g.constant(math.sqrt(2 / math.pi)))
    return g.node("Mul", g.node("Mul", x, g.constant(0.5)), g.node("Add", g.node("Tanh", inner), g.constant(1.0)))


def feed_forward(g: Writer, x: str, width: int, activation, layer=linear) -> str:
    with g.scope("mlp"):
        return layer(g, activation(g, layer(g, x, "fc1", width, 4 * width)), "fc2", 4 * width, width)


def gated_feed_forward(g: Writer, x: str, width: int) -> str:
    """SwiGLU."""
    inner = 8 * width // 3 // 32 * 32
    with g.scope("mlp"):
        gate = linear(g, x, "gate_proj", width, inner, bias=False)
        gated = g.node("Mul", g.node("Mul", gate, g.node("Sigmoid", gate)), linear(g, x, "up_proj", width, inner, bias=False))
        return linear(g, gated, "down_proj", inner, width, bias=False)


def heads_of(g: Writer, x: str, heads: int, size: int) -> str:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    seen = g.reshape(x, g.size(x, 0), g.size(x, 1), heads, size)
    return g.node("Transpose", seen, perm=[0, 2, 1, 3])


def rows_of(g: Writer, x: str, width: int) -> str:
    """[batch, heads, length, size] as [batch, length, heads * size]."""
    x = g.node("Transpose", x, perm=[0, 2, 1, 3])
    return g.reshape(x, g.size(x, 0), g.size(x, 1), width)


def eager_attention(g: Writer, q: str, k: str, v: str, size: int, edit) -> str:
    """softmax(edit(Q * K^T / sqrt(size))) * V."""
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = edit(g.node("Div", scores, g.constant(math.sqrt(size))))
    return g.node("MatMul", g.node("Softmax", scores, axis=-1), v)


def fused_attention(g: Writer, q: str, k: str, v: str, mask: str, guarded: bool = False) -> str:
    """scaled_dot_product_attention as it is exported: the scale is computed from the queries' sizes, and half of it is on each side."""
    last = g.node("Slice", g.node("Shape", q), g.constant([-1]), g.constant([LAST]))
    scale = g.node("Div", g.constant([1.0]), g.node("Sqrt", g.cast(last, FLOAT)))
    scaled = [g.node("Mul", each, g.node("Sqrt", g.cast(scale, FLOAT))) for each in (q, g.node("Transpose", k, perm=[0, 1, 3, 2]))]
    weights = g.node("Softmax", g.node("Add", g.node("MatMul", *scaled), mask), axis=-1)
    if guarded:
        weights = g.node("Where", g.node("IsNaN", weights), g.constant(0.0), weights)
    return g.node("MatMul", weights, v)


def attention_of_batches(g: Writer, q: str, k: str, v: str, heads: int, size: int, mask: str) -> str:
    """The attention of BART, Marian and Whisper before they had a fused one: heads are folded into the batch, and unfolded for the mask.

    q: [batch, length, heads * size], scaled; k, v: [batch, heads, keys, size]. Gives [batch, length, heads * size]."""
    batch, length, keys = g.size(q, 0), g.size(q, 1), g.size(k, 2)
    q = heads_of(g, q, heads, size)
    folded = g.node("Mul", batch, g.constant(heads))
    q, k, v = (g.reshape(each, folded, -1, size) for each in (q, k, v))
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 2, 1]))
    if mask:
        scores = g.node("Add", g.reshape(scores, batch, heads, length, keys), mask)
        scores = g.reshape(scores, folded, length, keys)
    result = g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
    return rows_of(g, g.reshape(result, batch, heads, length, size), heads * size)


def repeat_heads(g: Writer, x: str, times: int, heads: int, size: int) -> str:
    """Each of the heads `times` times, for grouped queries."""
    batch, length = g.size(x, 0), g.size(x, 2)
    return g.reshape(g.expand(g.unsqueeze(x, 2), batch, heads, times, length, size), batch, heads * times, length, size)


def rotate(g: Writer, x: str, cos: str, sin: str) -> str:
    """Rotary positions: x * cos + rotate_half(x) * sin."""
    half = g.unsqueeze(g.node("Div", g.size(x, 3), g.constant(2)), 0)
    turned = g.node("Concat", g.node("Neg", g.slice(x, 3, half, LAST)), g.slice(x, 3, 0, half), axis=-1)
    return g.node("Add", g.node("Mul", x, cos), g.node("Mul", turned, sin))


def rotary_frequencies(size: int) -> np.ndarray:
    return (1 / 10000 ** (np.arange(0, size, 2) / size)).astype(np.float32)
