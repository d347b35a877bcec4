"""Operators that move, select and arrange elements."""

import numpy as np
from draw import ALL, Recipe, array, dtype_of
from families.reductions import axis_of, some_axes
from onnx import numpy_helper
from registry import operator


def factors(b, count, parts):
    """`parts` sizes whose product is `count`."""
    sizes = []
    for _ in range(parts - 1):
        divisors = [d for d in range(1, count + 1) if count % d == 0] or [1]
        sizes.append(b.pick(divisors))
        count //= sizes[-1]
    return [*sizes, count] if parts else []


@operator("Transpose")
def transpose(b, op):
    x = b.value(b.kind(op))
    b.node(op, [x], perm=b.rng.permutation(len(x.shape)).tolist() if b.chance(0.85) and x.shape else None)


@operator("Reshape")
def reshape(b, op):
    x = b.value(b.kind(op))
    count = int(np.prod(x.shape))
    if count == 0:
        return b.node(op, [x, b.shape_input(x.shape)], allowzero=1 if b.opset >= 14 else None)
    sizes = factors(b, count, b.integer(0 if count == 1 else 1, 5))
    if sizes and b.chance(0.4):
        sizes[b.integer(0, len(sizes) - 1)] = -1
    for i, size in enumerate(sizes):
        if i < len(x.shape) and size == x.shape[i] and b.chance(0.4):
            sizes[i] = 0
    return b.node(op, [x, b.shape_input(sizes)])


@operator("Flatten")
def flatten(b, op):
    x = b.value(b.kind(op))
    b.node(op, [x], axis=b.integer(-len(x.shape), len(x.shape)) if b.chance(0.7) and x.shape else None)


@operator("Squeeze")
def squeeze(b, op):
    shape = list(b.shape(b.integer(0, 3)))
    for _ in range(b.integer(0, 2)):
        shape.insert(b.integer(0, len(shape)), 1)
    x = b.value(b.kind(op), tuple(shape))
    ones = [axis - (len(shape) if b.chance(0.3) else 0) for axis, size in enumerate(shape) if size == 1 and b.chance(0.7)]
    b.node(op, [x, b.constant(ones, "int64") if ones and b.chance(0.8) else None])


@operator("Unsqueeze")
def unsqueeze(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) <= 4)
    added = b.integer(1, 2)
    axes = b.rng.permutation(len(x.shape) + added)[:added]
    b.node(op, [x, b.shape_input([int(a) - (len(x.shape) + added if b.chance(0.3) else 0) for a in axes])])


@operator("Concat")
def concat(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0)
    axis = axis_of(b, len(x.shape))
    others = []
    for _ in range(b.pick([0, 1, 1, 2, 3])):
        shape = list(x.shape)
        shape[axis] = b.size()
        others.append(b.value(x.kind, tuple(shape)))
    inputs = [x, *others]
    b.node(op, [inputs[i] for i in b.rng.permutation(len(inputs))], axis=axis)


@operator("Split")
def split(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0)
    axis = axis_of(b, len(x.shape))
    size, parts = x.shape[axis], b.integer(1, 4)
    if b.opset >= 18 and b.chance(0.5):
        parts = min(parts, max(size, 1))
        if size and (-(-size // parts)) * (parts - 1) > size:
            parts = 1
        return b.node(op, [x], outputs=parts, axis=axis, num_outputs=parts)
    cuts = sorted(b.integer(0, size) for _ in range(parts - 1))
    sizes = np.diff([0, *cuts, size]).tolist()
    return b.node(op, [x, b.constant(sizes, "int64")], outputs=parts, axis=axis)


@operator("Slice")
def slice_(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0)
    axes = some_axes(b, len(x.shape)) or [0]
    starts, ends, steps = [], [], []
    for axis in axes:
        size, step = x.shape[axis], b.pick([1, 1, 1, 2, 3, -1, -2])
        start, end = b.integer(-size - 1, size + 1), b.pick([b.integer(-size - 2, size + 2), 2**62, -(2**62)])
        if b.chance(0.6):  # something of it
            start, end = (0, size) if step > 0 else (size - 1, -size - 1)
        starts.append(start), ends.append(end), steps.append(step)
    kind = b.pick(["int64", "int32"])
    clamp = lambda numbers: np.clip(numbers, *((-(2**31), 2**31 - 1) if kind == "int32" else (-(2**63), 2**63 - 1)))
    full = b.chance(0.15)
    if full:
        axes = list(range(len(axes)))
    inputs = [b.shape_input(clamp(numbers), kind) for numbers in (starts, ends)]
    inputs.append(None if full and b.chance(0.5) else b.shape_input(axes, kind))
    inputs.append(b.shape_input(steps, kind) if b.chance(0.6) or any(step < 0 for step in steps) else None)
    b.node(op, [x, *inputs])


@operator("Pad")
def pad(b, op):
    kind = b.kind(op)
    x = b.value(kind)
    rank = len(x.shape)
    mode = b.pick([None, "constant", "constant", "reflect", "edge"] + (["wrap"] if b.opset >= 19 else []))
    axes = None
    if b.opset >= 18 and b.chance(0.3) and rank:
        axes = some_axes(b, rank)
    sizes = [x.shape[axis] for axis in (range(rank) if axes is None else axes)]
    least = -1 if mode in (None, "constant") and b.chance(0.2) and all(size > 2 for size in sizes) else 0
    most = {None: lambda s: 4, "constant": lambda s: 4, "edge": lambda s: 4 if s else 0, "wrap": lambda s: s}.get(mode, lambda s: max(s - 1, 0))
    pads = [b.integer(least, min(4, most(size))) for _ in range(2) for size in sizes]
    value = b.new(kind, ()) if mode in (None, "constant") and b.chance(0.5) else None
    b.node(op, [x, b.shape_input(pads), value, b.constant(axes, "int64") if axes is not None else None], mode=mode)


@operator("Tile")
def tile(b, op):
    x = b.value(b.kind(op), where=lambda shape: np.prod(shape) <= 300)
    b.node(op, [x, b.shape_input([b.pick([1, 1, 2, 3, 0 if b.chance(0.05) else 1]) for _ in x.shape])])


@operator("Expand")
def expand(b, op):
    target = b.shape(b.integer(0, 4))
    shape = tuple(1 if b.chance(0.4) else size for size in target[b.integer(0, len(target)) :])
    wanted = [1 if b.chance(0.2) and i >= len(target) - len(shape) else size for i, size in enumerate(target)]
    b.node(op, [b.value(b.kind(op), shape), b.shape_input(wanted)])


@operator("Trilu")
def trilu(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) >= 2)
    b.node(op, [x, b.shape_input(b.integer(-5, 5)) if b.chance(0.7) else None], upper=b.pick([None, 0, 1]))


@operator("DepthToSpace", "SpaceToDepth")
def space(b, op):
    block, n, c, h, w = b.integer(1, 3), b.size(3), b.integer(1, 4), b.integer(1, 5), b.integer(1, 5)
    shape = (n, c * block * block, h, w) if op[0] == "D" else (n, c, h * block, w * block)
    b.node(op, [b.value(b.kind(op), shape)], blocksize=block, mode=b.pick([None, "DCR", "CRD"]) if op[0] == "D" else None)


@operator("ReverseSequence")
def reverse_sequence(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) >= 2 and 0 not in shape)
    batch = b.integer(0, 1)
    lengths = b.new("int64", (x.shape[batch],), Recipe(1, x.shape[1 - batch], special=False))
    b.node(op, [x, lengths], batch_axis=batch, time_axis=1 - batch)


@operator("Compress")
def compress(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0)
    axis = axis_of(b, len(x.shape)) if b.chance(0.7) else None
    size = x.shape[axis] if axis is not None else int(np.prod(x.shape))
    b.node(op, [x, b.new("bool", (b.integer(0, size),))], axis=axis)


@operator("EyeLike")
def eye_like(b, op):
    b.node(op, [b.value(b.kind(op), rank=2)], k=b.pick([None, 0, 1, -2, 3]), dtype=b.pick([None, 1, 7, 11, 10]))


@operator("Range")
def range_(b, op):
    kind = b.kind(op)
    down = kind[0] != "u" and b.chance(0.3)
    start, step = b.integer(0, 4), b.integer(1, 3)
    numbers = (start, start + b.integer(-1, 9), step) if not down else (start, start - b.integer(-1, 9), -step)
    numbers = tuple(max(n, 0) for n in numbers) if kind[0] == "u" else numbers
    b.node(op, [b.add_given(np.asarray(n, dtype_of(kind)), None, b.chance(0.6)) for n in numbers])


@operator("ConstantOfShape")
def constant_of_shape(b, op):
    kind = b.pick([kind for kind in ALL if kind != "bfloat16" or b.opset >= 20])
    value = numpy_helper.from_array(array(b.rng, kind, (1,), Recipe(0, 5))) if b.chance(0.8) else None
    b.node(op, [b.shape_input(list(b.shape()))], value=value)


@operator("Shape")
def shape_of(b, op):
    how = {}
    x = b.value(b.kind(op))
    if b.opset >= 15:
        rank = len(x.shape)
        how = {"start": b.pick([None, b.integer(-rank - 1, rank + 1)]), "end": b.pick([None, b.integer(-rank - 1, rank + 1)])}
    b.node(op, [x], **how)


@operator("Size")
def size_of(b, op):
    b.node(op, [b.value(b.kind(op))])


@operator("CenterCropPad")
def center_crop_pad(b, op):
    x = b.value(b.kind(op), where=lambda shape: len(shape) > 0)
    axes = some_axes(b, len(x.shape)) or [0]
    if b.chance(0.3):
        axes = None
    b.node(op, [x, b.shape_input([b.integer(1, 9) for _ in (axes if axes is not None else x.shape)])], axes=axes)


@operator("TensorScatter")
def tensor_scatter(b, op):
    kind = b.kind(op)
    n, h, most, d = b.integer(1, 3), b.integer(1, 3), b.integer(2, 8), b.integer(1, 5)
    fresh = b.integer(1, most)
    mode = b.pick([None, "linear", "circular"])
    at = b.new("int64", (n,), Recipe(0, most - fresh, special=False)) if b.chance(0.8) else None
    b.node(op, [b.value(kind, (n, h, most, d)), b.value(kind, (n, h, fresh, d)), at], mode=mode, axis=b.pick([None, -2]))
