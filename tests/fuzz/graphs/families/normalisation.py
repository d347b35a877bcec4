"""Normalisations."""

from builder import CannotDraw
from draw import Recipe
from families.convolution import image
from families.reductions import axis_of
from registry import operator


def epsilon(b):
    return b.pick([None, 1e-5, 1e-3, 0.1])


@operator("BatchNormalization")
def batch_normalization(b, op):
    kind = b.kind(op)
    x = image(b, kind)
    c = x.shape[1]
    inputs = [x] + [b.new(kind, (c,), recipe, constant=b.chance(0.8)) for recipe in (None, None, None, Recipe(0.1, 3, special=False))]
    b.node(op, inputs, epsilon=epsilon(b))


@operator("InstanceNormalization")
def instance_normalization(b, op):
    kind = b.kind(op)
    x = image(b, kind)
    b.node(op, [x, b.value(kind, (x.shape[1],)), b.value(kind, (x.shape[1],))], epsilon=epsilon(b))


@operator("LayerNormalization", "RMSNormalization")
def layer_normalization(b, op):
    if b.opset < (17 if op[0] == "L" else 23):
        raise CannotDraw(op)
    kind = b.kind(op)
    x = b.value(kind, where=lambda shape: len(shape) > 0)
    axis = axis_of(b, len(x.shape)) if b.chance(0.5) else -1
    shape = x.shape[axis:]
    scale = b.value(kind, shape if b.chance(0.8) else shape[-1:])
    if op[0] == "R":
        return b.node(op, [x, scale], axis=axis, epsilon=epsilon(b), stash_type=b.pick([None, 1]))
    bias = b.value(kind, shape) if b.chance(0.6) else None
    outputs = [True, b.chance(0.3), b.chance(0.3)]
    return b.node(op, [x, scale, bias], outputs=outputs, axis=axis, epsilon=epsilon(b), stash_type=b.pick([None, 1]))


@operator("GroupNormalization")
def group_normalization(b, op):
    if b.opset < 18:
        raise CannotDraw(op)
    kind, groups, per = b.kind(op), b.integer(1, 3), b.integer(1, 3)
    x = image(b, kind, channels=groups * per)
    count = groups * per if b.opset >= 21 else groups
    b.node(op, [x, b.value(kind, (count,)), b.value(kind, (count,))], num_groups=groups, epsilon=epsilon(b))


@operator("LRN")
def lrn(b, op):
    x = image(b, b.kind(op), rank=2)
    b.node(op, [x], size=b.pick([1, 3, 5]), alpha=b.pick([None, 0.01, 1.0]), beta=b.pick([None, 0.5]), bias=b.pick([None, 2.0]))
