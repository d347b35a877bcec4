"""Gather and Scatter."""

import numpy as np
from builder import CannotDraw
from draw import Recipe
from families.reductions import axis_of
from registry import operator


def indices(b, shape, size, kinds=("int64", "int32")):
    if size == 0:
        raise CannotDraw("nothing to index")
    return b.new(b.pick(kinds), shape, Recipe(-size if b.chance(0.5) else 0, size - 1, special=False))


@operator("Gather")
def gather(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0 and 0 not in shape)
    axis = axis_of(b, len(x.shape))
    first = axis % len(x.shape) == 0  # the default
    b.node(op, [x, indices(b, b.shape(b.pick([0, 1, 1, 2]), 5), x.shape[axis])], axis=None if first and b.chance(0.4) else axis)


@operator("GatherElements")
def gather_elements(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0 and 0 not in shape)
    axis = axis_of(b, len(x.shape))
    shape = [b.integer(1, size) for size in x.shape]
    shape[axis] = b.integer(0 if b.chance(0.05) else 1, 7)
    b.node(op, [x, indices(b, tuple(shape), x.shape[axis])], axis=axis)


def nd_indices(b, shape, batch):
    """Indices of GatherND and ScatterND: those of different axes have different ranges."""
    depth = b.integer(1, len(shape) - batch)
    outer = shape[:batch] + b.shape(b.pick([0, 1, 1, 2]), 4)
    columns = [b.rng.integers(-size if b.chance(0.3) else 0, size, outer) for size in shape[batch : batch + depth]]
    return np.stack(columns, axis=-1).astype(np.int64)


@operator("GatherND")
def gather_nd(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0 and 0 not in shape)
    batch = b.integer(0, len(x.shape) - 1) if b.opset >= 12 and b.chance(0.4) else 0
    b.node(op, [x, b.add_given(nd_indices(b, x.shape, batch), None, b.chance(0.5))], batch_dims=batch or None)


@operator("ScatterND")
def scatter_nd(b, op):
    kind = b.kind(op)
    x = b.value(kind, where=lambda shape: len(shape) > 0 and 0 not in shape)
    where = nd_indices(b, x.shape, 0)
    reduction = b.pick([None, "none"] + (["add", "mul"] if b.opset >= 16 else []) + (["min", "max"] if b.opset >= 18 else []))
    if reduction in (None, "none"):  # which of several wins is not defined
        flat = where.reshape(-1, where.shape[-1]) % np.array(x.shape[: where.shape[-1]])
        if len(np.unique(flat, axis=0)) < len(flat):
            where = where.reshape(-1, where.shape[-1])[:1]
    updates = b.value(kind, tuple(where.shape[:-1]) + x.shape[where.shape[-1] :])
    b.node(op, [x, b.add_given(where, None, b.chance(0.5)), updates], reduction=reduction, exact=None if reduction in (None, "none") else False)


@operator("ScatterElements")
def scatter_elements(b, op):
    kind = b.kind(op)
    x = b.value(kind, where=lambda shape: len(shape) > 0 and 0 not in shape)
    axis = axis_of(b, len(x.shape))
    reduction = b.pick([None, "none"] + (["add", "mul"] if b.opset >= 16 else []) + (["min", "max"] if b.opset >= 18 else []))
    shape = [b.integer(1, size) for size in x.shape]
    if reduction in (None, "none"):
        order = np.argsort(b.rng.random(x.shape), axis=axis)
        where = np.take_along_axis(order, order, axis=axis)[tuple(slice(0, size) for size in shape)]
        at = b.add_given(np.ascontiguousarray(where.astype(np.int64)), None, b.chance(0.5))
    else:
        at = indices(b, tuple(shape), x.shape[axis])
    b.node(op, [x, at, b.value(kind, tuple(shape))], axis=axis, reduction=reduction, exact=None if reduction in (None, "none") else False)
