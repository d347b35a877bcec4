"""Reductions, softmaxes, and what orders or accumulates along an axis."""

import numpy as np
from builder import CannotDraw
from draw import Recipe
from registry import operator


def some_axes(b, rank):
    count = b.integer(0, rank)
    axes = b.rng.permutation(rank)[:count].tolist()
    return [axis - rank if b.chance(0.3) else axis for axis in axes]


def axis_of(b, rank):
    axis = b.integer(0, rank - 1)
    return axis - rank if b.chance(0.35) else axis


@operator(*(f"Reduce{name}" for name in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()))
def reduce(b, op):
    kind = b.kind(op)
    recipe = Recipe(0.05, 2) if op == "ReduceLogSum" or (op == "ReduceProd" and b.chance(0.7)) else None
    x = b.value(kind, recipe=recipe)
    rank = len(x.shape)
    axes = some_axes(b, rank) if b.chance(0.8) else None
    how = {"keepdims": b.pick([None, 0, 1])}
    as_input = b.opset >= (13 if op == "ReduceSum" else 18)
    if as_input:
        how["noop_with_empty_axes"] = b.pick([None, None, 0, 1])
        b.node(op, [x, b.shape_input(axes) if axes is not None else None], **how)
    else:
        b.node(op, [x], axes=axes or None, **how)


@operator("ArgMax", "ArgMin")
def arg_extremum(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0 and 0 not in shape, exact=True,
                recipe=Recipe(-3, 3, whole=True) if b.chance(0.3) else None)  # fmt: skip
    b.node(op, [x], axis=axis_of(b, len(x.shape)), keepdims=b.pick([None, 0, 1]), select_last_index=b.pick([None, 0, 1]))


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0, exact=op == "Hardmax")
    b.node(op, [x], axis=axis_of(b, len(x.shape)) if b.chance(0.7) else None)


@operator("CumSum", "CumProd")
def cumulative(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0, recipe=Recipe(0.3, 1.5) if op == "CumProd" else None)
    axis = b.shape_input(axis_of(b, len(x.shape)), b.pick(["int32", "int64"]))
    b.node(op, [x, axis], exclusive=b.pick([None, 0, 1]), reverse=b.pick([None, 0, 1]))


@operator("LpNormalization")
def lp_normalization(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0)
    b.node(op, [x], axis=axis_of(b, len(x.shape)), p=b.pick([None, 1, 2]))


@operator("TopK")
def top_k(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0, exact=True, recipe=Recipe(-3, 3, whole=True) if b.chance(0.3) else None)
    axis = axis_of(b, len(x.shape))
    k = b.integer(0 if b.chance(0.1) else min(1, x.shape[axis]), x.shape[axis])
    largest, ordered = b.pick([None, 0, 1]), b.pick([None, 1, 1])
    b.node(op, [x, b.shape_input([k])], outputs=b.pick([2, 2, [True, False]]), axis=axis, largest=largest, sorted=ordered)


@operator("Det")
def det(b, op):
    n = b.integer(1, 4)
    b.node(op, [b.value(b.kind(op), b.shape(b.pick([0, 0, 1, 2])) + (n, n))])


@operator("MeanVarianceNormalization")
def mean_variance(b, op):
    x = b.value(b.kind(op), rank=4)
    b.node(op, [x], axes=None if b.chance(0.4) else sorted({axis % 4 for axis in some_axes(b, 4)} | {1}))


@operator("Einsum")
def einsum(b, op):
    equation = b.pick(["ij,jk->ik", "bij,bjk->bik", "i,i->", "ij->ji", "ij->", "ij->j", "bhid,bhjd->bhij", "bhij,bhjd->bhid", "...i,...i->...",
                       "ii->i", "ij,ij->ij", "i,j->ij", "abc,cd->abd", "ij,jk,kl->il", "ijk->ki", "bij,bij", "bqhd,bkhd->bhqk"])  # fmt: skip
    sizes = {letter: b.size(9) for letter in "abcdhijklqk"}
    kind = b.kind(op, among=["float", "double", "int32", "float16", "int64"])
    terms = equation.split("->")[0].split(",")
    b.node(op, [b.value(kind, tuple(sizes[letter] for letter in term if letter != ".")) for term in terms], equation=equation)


@operator("NonZero")
def non_zero(b, op):
    b.node(op, [b.value(b.kind(op), rank=b.integer(1, 3), exact=True, recipe=Recipe(-1, 1, whole=True))])


@operator("Unique")
def unique(b, op):
    x = b.value(b.kind(op), rank=b.integer(1, 3), exact=True, recipe=Recipe(0, 3, whole=True, special=False))
    outputs = [True, b.chance(0.5), b.chance(0.5), b.chance(0.5)]
    b.node(op, [x], outputs=outputs, axis=axis_of(b, len(x.shape)) if b.chance(0.6) else None, sorted=b.pick([None, 0, 1]))


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(b, op):
    kind = b.kind(op)
    classes, batch, rest = b.integer(1, 6), b.integer(1, 5), b.shape(b.pick([0, 0, 1, 2]))
    scores = b.value(kind, (batch, classes, *rest))
    target = b.new(b.pick(["int32", "int64"]), (batch, *rest), Recipe(0, classes - 1, special=False))
    weight = b.value(kind, (classes,), recipe=Recipe(0.1, 2)) if b.chance(0.5) else None
    outputs = b.pick([1, 2]) if op[0] == "S" else 1
    how = {"ignore_index": b.pick([None, None, 0, -1])}
    b.node(op, [scores, target, weight], outputs=outputs, reduction=b.pick([None, "none", "sum", "mean"]), **how)


@operator("OneHot")
def one_hot(b, op):
    depth, kind = b.integer(1, 7), b.kind(op, 2)
    indices = b.new(b.pick(["int64", "int32", "float"]), b.shape(b.integer(0, 3)), Recipe(-depth, depth - 1, special=False, whole=True))
    values = b.new(kind, (2,))
    b.node(op, [indices, b.shape_input(b.pick([depth, [depth]])), values], axis=b.integer(-len(indices.shape) - 1, len(indices.shape)))


@operator("NonMaxSuppression")
def nms(b, op):
    if b.opset < 10:
        raise CannotDraw(op)
    batch, boxes, classes = b.integer(1, 2), b.integer(1, 12), b.integer(1, 3)
    corners = b.rng.uniform(0, 1, (batch, boxes, 2, 2)).astype(np.float32)
    corners.sort(axis=2)
    scores = b.rng.permutation(batch * classes * boxes).reshape(batch, classes, boxes).astype(np.float32) / (batch * classes * boxes)
    inputs = [b.add_given(corners.reshape(batch, boxes, 4), None, False), b.add_given(scores, None, False)]
    inputs.append(b.constant(b.integer(0, 6), "int64") if b.chance(0.8) else None)
    inputs.append(b.constant(b.pick([0.0, 0.3, 0.5, 1.0]), "float") if b.chance(0.7) else None)
    inputs.append(b.constant(b.pick([0.0, 0.3, 0.5]), "float") if b.chance(0.6) else None)
    b.node(op, inputs, center_point_box=b.pick([None, 0, 1]))
