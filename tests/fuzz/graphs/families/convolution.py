"""Convolutions and pooling."""

import numpy as np
from builder import CannotDraw
from draw import Recipe, dtype_of
from registry import operator


def window(b, spatial, size_of_kernel, strides=True, dilations=True):
    """Attributes of a sliding window, and how far it reaches along each axis."""
    rank = len(spatial)
    steps = [b.pick([1, 1, 2, 3]) for _ in range(rank)]
    gaps = [b.pick([1, 1, 1, 2, 3]) for _ in range(rank)]
    how = {"strides": steps if strides and b.chance(0.6) else None, "dilations": gaps if dilations and b.chance(0.35) else None}
    reach = [(k - 1) * (g if how["dilations"] else 1) + 1 for k, g in zip(size_of_kernel, gaps)]
    auto = b.pick([None, None, None, "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    how["auto_pad"] = auto
    least = [max(0, r - size) for r, size in zip(reach, spatial)]  # so that the window fits
    if auto in (None, "NOTSET") and (b.chance(0.6) or any(least)):
        extra = [b.integer(0, max(0, min(2, k - 1))) for k in size_of_kernel * 2]
        how["pads"] = [max(e, -(-l // 2)) for e, l in zip(extra, least * 2)]
    elif auto == "VALID" and any(least):
        how["auto_pad"] = None
        how["pads"] = least * 2
    return how


def image(b, kind, channels=None, rank=None, most=12, **how):
    rank = rank or b.pick([1, 2, 2, 2, 2, 3])
    shape = (b.pick([1, 1, 2, 3]), channels or b.integer(1, 8), *(b.integer(1, most if rank < 3 else 6) for _ in range(rank)))
    fits = lambda s: len(s) == rank + 2 and (channels is None or s[1] == channels) and 0 not in s
    found = [v for v in b.values.values() if v.kind == kind and v.shape and fits(v.shape) and v.name not in b.given]
    if found and b.chance(b.reuse) and not how:
        return found[-1]
    return b.value(kind, shape, **how)


def groups_of(b, channels):
    divisors = [d for d in range(1, channels + 1) if channels % d == 0]
    return b.pick([1, 1, channels, b.pick(divisors)])


def conv_shapes(b, x):
    channels = x.shape[1]
    group = groups_of(b, channels)
    outputs = group * b.pick([1, 1, 2, 3, 5, 16 if group == 1 else 2, 32 if group == 1 else 1])
    kernel = [b.pick([1, 1, 2, 3, 3, 4, 5]) for _ in x.shape[2:]]
    if b.chance(0.4):
        kernel = [b.pick([1, 3])] * len(kernel)
    return group, outputs, kernel


@operator("Conv")
def conv(b, op):
    kind = b.kind(op)
    x = image(b, kind, channels=b.pick([None, None, None, 3, 16, 32, 33, 64]))
    group, outputs, kernel = conv_shapes(b, x)
    w = b.new(kind, (outputs, x.shape[1] // group, *kernel), Recipe(-1, 1), constant=b.chance(0.8))
    bias = b.value(kind, (outputs,)) if b.chance(0.6) else None
    b.node(op, [x, w, bias], group=group if group > 1 else None, kernel_shape=kernel if b.chance(0.7) else None, **window(b, x.shape[2:], kernel))


@operator("ConvTranspose")
def conv_transpose(b, op):
    kind = b.kind(op)
    x = image(b, kind, most=7)
    group, outputs, kernel = conv_shapes(b, x)
    w = b.new(kind, (x.shape[1], outputs // group, *kernel), Recipe(-1, 1), constant=b.chance(0.8))
    strides = [b.pick([1, 2, 2, 3]) for _ in kernel]
    dilations = [b.pick([1, 1, 2]) for _ in kernel]
    how = {"strides": strides if b.chance(0.7) else None, "dilations": dilations if b.chance(0.3) else None}
    if b.chance(0.4):
        how["pads"] = [b.integer(0, (k - 1) // 2) for k in kernel * 2]
    elif b.chance(0.2):
        how["auto_pad"] = b.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if b.chance(0.3) and how["strides"]:
        how["output_padding"] = [b.integer(0, s - 1) for s in strides]
    b.node(op, [x, w, b.value(kind, (outputs,)) if b.chance(0.5) else None], group=group if group > 1 else None, **how)


@operator("ConvInteger")
def conv_integer(b, op):
    kind = b.kind(op)
    x = image(b, kind, rank=2, recipe=Recipe(-128 if kind[0] == "i" else 0, 127))
    group, outputs, kernel = conv_shapes(b, x)
    weights = b.pick(["int8", "uint8"])
    w = b.new(weights, (outputs, x.shape[1] // group, *kernel), Recipe(-128, 127))
    zero_x = b.new(kind, (), Recipe(0, 9)) if b.chance(0.6) else None
    zero_w = b.new(weights, b.pick([(), (outputs,)]), Recipe(0, 9), constant=True) if b.chance(0.5) else None
    b.node(op, [x, w, zero_x, zero_w], group=group if group > 1 else None, **window(b, x.shape[2:], kernel))


@operator("MaxPool", "AveragePool", "LpPool")
def pool(b, op):
    x = image(b, b.kind(op))
    kernel = [b.pick([1, 2, 2, 3, 3, 4]) for _ in x.shape[2:]]
    dilations = op == "MaxPool" or b.opset >= (19 if op[0] == "A" else 18)
    how = window(b, x.shape[2:], kernel, dilations=dilations)
    if how.get("pads"):
        if any(p >= k for p, k in zip(how["pads"], kernel * 2)):
            raise CannotDraw("a window within the padding")
    if op != "LpPool" or b.opset >= 18:
        how["ceil_mode"] = b.pick([None, 0, 1])
    if op == "AveragePool":
        how["count_include_pad"] = b.pick([None, 0, 1])
    if op == "LpPool":
        how["p"] = b.pick([None, 1, 2, 3])
    outputs = 1
    if op == "MaxPool":
        outputs = b.pick([1, 1, 2])
        how["storage_order"] = b.pick([None, 0, 1]) if outputs == 2 else None
    b.node(op, [x], outputs=outputs, kernel_shape=kernel, **how)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(b, op):
    b.node(op, [image(b, b.kind(op))], p=b.pick([None, 1, 2]) if op == "GlobalLpPool" else None)


@operator("MaxUnpool")
def max_unpool(b, op):
    kind = b.kind(op, among=["float", "double"])
    n, c, h, w = b.integer(1, 2), b.integer(1, 3), b.integer(1, 4), b.integer(1, 4)
    plane = np.arange(4 * h * w).reshape(h, 2, w, 2)[:, 0, :, 0]
    at = np.broadcast_to(plane, (n, c, h, w)) + 4 * h * w * np.arange(n * c).reshape(n, c, 1, 1)
    x = b.value(kind, (n, c, h, w))
    b.node(op, [x, b.add_given(at.astype(np.int64), None, b.chance(0.5))], kernel_shape=[2, 2], strides=[2, 2])


@operator("Col2Im")
def col2im(b, op):
    kind = b.kind(op)
    h, w, kh, kw, n, c = (b.integer(3, 6), b.integer(3, 6), b.integer(1, 3), b.integer(1, 3), b.integer(1, 2), b.integer(1, 3))
    blocks = (h - kh + 1) * (w - kw + 1)
    x = b.value(kind, (n, c * kh * kw, blocks))
    b.node(op, [x, b.constant([h, w], "int64"), b.constant([kh, kw], "int64")], pads=b.pick([None, [0, 0, 0, 0]]))


@operator("DeformConv")
def deform_conv(b, op):
    kind = b.kind(op)
    n, c, h, w, k, outputs = b.integer(1, 2), b.pick([1, 2, 4]), b.integer(3, 6), b.integer(3, 6), b.integer(1, 3), b.integer(1, 4)
    x = b.value(kind, (n, c, h, w))
    offset = b.new(kind, (n, 2 * k * k, h - k + 1, w - k + 1), Recipe(-1.3, 1.3, special=False))
    mask = b.new(kind, (n, k * k, h - k + 1, w - k + 1), Recipe(0, 1)) if b.chance(0.5) else None
    b.node(op, [x, b.new(kind, (outputs, c, k, k)), offset, b.value(kind, (outputs,)) if b.chance(0.5) else None, mask], kernel_shape=[k, k])


@operator("RoiAlign", "MaxRoiPool")
def roi(b, op):
    kind = b.kind(op, among=["float", "double", "float16"])
    n, c, h, w, count = b.integer(1, 2), b.integer(1, 3), b.integer(3, 8), b.integer(3, 8), b.integer(0 if b.chance(0.1) else 1, 4)
    corners = b.rng.uniform(0, min(h, w) - 1, (count, 2, 2))
    corners.sort(axis=1)
    boxes = corners.reshape(count, 4)
    x = b.value(kind, (n, c, h, w))
    batch = b.rng.integers(0, n, count)
    if op == "MaxRoiPool":
        rois = np.concatenate([batch[:, None], np.round(boxes)], axis=1)
        given = b.add_given(rois.astype(dtype_of(kind)), None, False)
        return b.node(op, [x, given], pooled_shape=[b.integer(1, 3), b.integer(1, 3)], spatial_scale=b.pick([None, 1.0, 0.5]))
    given = b.add_given(boxes.astype(dtype_of(kind)), None, False)
    how = {"mode": b.pick([None, "avg", "max"]), "output_height": b.pick([None, 2, 3]), "output_width": b.pick([None, 2]),
           "sampling_ratio": b.pick([None, 0, 2]), "spatial_scale": b.pick([None, 1.0, 0.5])}  # fmt: skip
    if b.opset >= 16:
        how["coordinate_transformation_mode"] = b.pick([None, "half_pixel", "output_half_pixel"])
    return b.node(op, [x, given, b.add_given(batch.astype(np.int64), None, False)], **how)
