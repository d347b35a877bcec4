"""Products of matrices, attention, and what belongs to language models."""

import numpy as np
from builder import CannotDraw
from draw import Recipe
from registry import operator


@operator("MatMul")
def matmul(b, op):
    kind = b.kind(op)
    batch, m, k, n = b.shape(b.pick([0, 0, 1, 2])), b.size(65), b.size(65), b.size(65)
    left = batch + (m, k)
    right = tuple(1 if b.chance(0.3) else size for size in batch[b.integer(0, len(batch)) :]) + (k, n)
    form = b.pick(["matrix"] * 6 + ["row", "column"])
    x = b.value(kind, where=lambda s: len(s) >= 2 and s[-1] > 1) if b.chance(0.6) else b.value(kind, left)
    if x.shape != left:
        right = (x.shape[-1], n)
    if form == "column":
        right = right[-2:-1]
    if form == "row":
        x = b.value(kind, (k,))
        right = batch + (k, n)
    w = b.new(kind, right, Recipe(-1, 1), constant=b.chance(0.6))
    b.node(op, [x, w])


@operator("Gemm")
def gemm(b, op):
    kind = b.kind(op)
    m, k, n = b.size(65), b.size(65), b.size(65)
    ta, tb = b.pick([None, 0, 1]), b.pick([None, 0, 1])
    x = b.value(kind, (k, m) if ta else (m, k)) if b.chance(0.4) else b.value(kind, rank=2, where=lambda s: 0 not in s)
    k, m = (x.shape) if ta else (x.shape[1], x.shape[0])
    w = b.new(kind, (n, k) if tb else (k, n), Recipe(-1, 1), constant=b.chance(0.7))
    c = b.value(kind, b.pick([(), (1,), (n,), (m, n), (1, n), (m, 1)])) if b.chance(0.7) else None
    scalar = (lambda: b.pick([None, 0.0, 1.0, 0.5, -1.5])) if kind in ("float", "double", "float16", "bfloat16") else (lambda: b.pick([None, 1.0, 2.0]))
    b.node(op, [x, w, c], transA=ta, transB=tb, alpha=scalar(), beta=scalar())


@operator("MatMulInteger")
def matmul_integer(b, op):
    kind, other = b.kind(op), b.pick(["int8", "uint8"])
    batch, m, k, n = b.shape(b.pick([0, 0, 1])), b.size(33), b.integer(1, 33), b.size(33)
    x = b.value(kind, batch + (m, k), recipe=Recipe(-128, 255))
    w = b.new(other, (k, n), Recipe(-128, 127))
    zx = b.new(kind, (), Recipe(0, 99)) if b.chance(0.6) else None
    zw = b.new(other, b.pick([(), (n,)]), Recipe(0, 99)) if b.chance(0.5) else None
    b.node(op, [x, w, zx, zw])


@operator("Attention")
def attention(b, op):
    if b.opset < 23:
        raise CannotDraw(op)
    kind = b.kind(op, among=["float", "float16", "bfloat16", "double"])
    n, kv_heads, group, q_len, past, d, dv = (b.integer(1, 2), b.integer(1, 3), b.pick([1, 1, 2]), b.integer(1, 9), b.pick([0, 0, 3]), b.pick([1, 4, 8, 16]), 0)
    dv, k_len, heads = b.pick([d, d, 5]), b.integer(1, 9), kv_heads * group
    four = b.chance(0.6) or past > 0
    shape = (lambda h, length, size: (n, h, length, size)) if four else (lambda h, length, size: (n, length, h * size))
    q, k, v = b.value(kind, shape(heads, q_len, d)), b.value(kind, shape(kv_heads, k_len, d)), b.value(kind, shape(kv_heads, k_len, dv))
    total = past + k_len
    mask = None
    if b.chance(0.5):
        mask = b.new(b.pick(["bool", kind]), b.pick([(q_len, total), (n, 1, q_len, total), (n, heads, q_len, total), (1, 1, q_len, total)]))
    pasts = [b.value(kind, (n, kv_heads, past, d)), b.value(kind, (n, kv_heads, past, dv))] if past else [None, None]
    how = {"is_causal": b.pick([None, 0, 1]), "scale": b.pick([None, 0.5]), "softcap": b.pick([None, None, 2.0])}
    if not four:
        how |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
    if b.chance(0.2):
        how["qk_matmul_output_mode"] = b.integer(0, 3)
    outputs = [True, past > 0, past > 0, b.chance(0.2)]
    b.node(op, [q, k, v, mask, *pasts], outputs=outputs, **how)


@operator("RotaryEmbedding")
def rotary(b, op):
    if b.opset < 23:
        raise CannotDraw(op)
    kind = b.kind(op)
    n, heads, length, half = b.integer(1, 2), b.integer(1, 3), b.integer(1, 6), b.pick([1, 2, 4])
    size, partial = 2 * half, b.chance(0.3)
    full = size + (2 if partial else 0)
    four = b.chance(0.6)
    x = b.value(kind, (n, heads, length, full) if four else (n, length, heads * full))
    ids = b.chance(0.5)
    table = (9, half) if ids else (n, length, half)
    inputs = [x, b.new(kind, table, Recipe(-1, 1)), b.new(kind, table, Recipe(-1, 1))]
    inputs.append(b.new("int64", (n, length), Recipe(0, 8, special=False)) if ids else None)
    how = {"interleaved": b.pick([None, 0, 1]), "num_heads": None if four else heads, "rotary_embedding_dim": size if partial else None}
    b.node(op, inputs, **how)


@operator("LinearAttention", "CausalConvWithState")
def state_space(b, op):
    kind = b.kind(op)
    n, length = b.integer(1, 2), b.integer(1, 6)
    if op[0] == "C":
        channels, k = b.integer(1, 6), b.integer(1, 4)
        inputs = [b.value(kind, (n, channels, length)), b.new(kind, (channels, 1, k)), b.value(kind, (channels,)) if b.chance(0.5) else None,
                  b.value(kind, (n, channels, k - 1)) if b.chance(0.5) else None]  # fmt: skip
        return b.node(op, inputs, outputs=2, activation=b.pick([None, "silu"]))
    heads, d = b.integer(1, 3), b.pick([2, 4])
    inputs = [b.value(kind, (n, length, heads * d)) for _ in range(3)]
    return b.node(op, inputs, outputs=2, q_num_heads=heads, kv_num_heads=heads, update_rule="linear")


def softmax_of_products(b, kind):
    """Attention in its parts, as exporters write it."""
    n, heads, length, keys, d = b.integer(1, 2), b.integer(1, 3), b.integer(1, 9), b.integer(1, 9), b.pick([4, 8, 16])
    q, k, v = b.value(kind, (n, heads, length, d)), b.value(kind, (n, heads, keys, d)), b.value(kind, (n, heads, keys, d))
    (kt,) = b.node("Transpose", [k], perm=[0, 1, 3, 2])
    (scores,) = b.node("MatMul", [q, kt])
    (scores,) = b.node(b.pick(["Mul", "Div"]), [scores, b.constant(np.float32(b.pick([0.5, 2.0])), kind)])
    if b.chance(0.6):
        mask = b.new(kind, b.pick([(length, keys), (n, 1, length, keys), (n, 1, 1, keys)]), Recipe(-9, 0))
        (scores,) = b.node("Add", [scores, mask])
    (weights,) = b.node("Softmax", [scores], axis=-1)
    (out,) = b.node("MatMul", [weights, v])
    return out
