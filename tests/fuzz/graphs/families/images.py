"""Resampling of images."""

import numpy as np
from builder import CannotDraw
from draw import Recipe
from registry import operator


@operator("Resize")
def resize(b, op):
    if b.opset < 13:
        raise CannotDraw(op)
    kind = b.kind(op)
    rank = b.pick([1, 2, 3, 4, 4, 4, 4, 5])
    mode = b.pick([None, "nearest", "linear", "linear", "cubic"])
    x = b.value(kind, rank=rank, where=lambda s: 0 not in s)
    spatial = rank if rank < 3 else rank - 2
    if mode == "cubic" and spatial != 2:
        mode = "linear"
    fixed = rank - spatial
    modes = ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners"] + (["half_pixel_symmetric"] if b.opset >= 19 else [])
    how = {"mode": mode, "coordinate_transformation_mode": b.pick([None, *modes])}
    how["nearest_mode"] = b.pick([None, "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]) if mode in (None, "nearest") else None
    how["cubic_coeff_a"] = b.pick([None, -0.5]) if mode == "cubic" else None
    how["exclude_outside"] = b.pick([None, 0, 1]) if mode == "cubic" else None
    how["antialias"] = b.pick([None, 0, 1]) if b.opset >= 18 and mode in ("linear", "cubic") else None
    target = [b.integer(1, 12) for _ in range(spatial)]
    if b.opset >= 18 and fixed and b.chance(0.2):
        how["axes"] = list(range(fixed, rank))
        fixed_sizes, fixed_scales = [], []
    else:
        fixed_sizes, fixed_scales = list(x.shape[:fixed]), [1.0] * fixed
    if b.chance(0.5):
        if b.opset >= 18 and b.chance(0.2) and "axes" in how:
            how["keep_aspect_ratio_policy"] = b.pick(["stretch", "not_larger", "not_smaller"])
        b.node(op, [x, None, None, b.shape_input(fixed_sizes + target)], **how)
    else:
        scales = [b.pick([0.5, 1.0, 1.5, 2.0, 2.0, 3.0, 0.75]) for _ in range(spatial)]
        if any(int(np.floor(s * f)) < 1 for s, f in zip(x.shape[fixed:], scales)):
            scales = [2.0] * spatial
        b.node(op, [x, None, b.constant(fixed_scales + scales, "float")], **how)


@operator("GridSample")
def grid_sample(b, op):
    kind = b.kind(op, among=["float", "double", "float16", "bfloat16"])
    n, c, h, w, oh, ow = b.integer(1, 2), b.integer(1, 4), b.integer(1, 6), b.integer(1, 6), b.integer(1, 5), b.integer(1, 5)
    three = b.opset >= 20 and b.chance(0.2)
    x = b.value(kind, (n, c, 3, h, w) if three else (n, c, h, w))
    grid = b.new(kind, (n, 2, oh, ow, 3) if three else (n, oh, ow, 2), Recipe(-1.3, 1.3, special=False))
    names = ["linear", "nearest", "cubic"] if b.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    mode = b.pick([None, *(names[:2] if three else names)])
    b.node(op, [x, grid], mode=mode, padding_mode=b.pick([None, "zeros", "border", "reflection"]), align_corners=b.pick([None, 0, 1]))


@operator("AffineGrid")
def affine_grid(b, op):
    if b.opset < 20:
        raise CannotDraw(op)
    kind, n, three = b.kind(op), b.integer(1, 2), b.chance(0.3)
    theta = b.value(kind, (n, 3, 4) if three else (n, 2, 3))
    b.node(op, [theta, b.shape_input([n, 2, *([3] if three else []), b.integer(1, 5), b.integer(1, 5)])], align_corners=b.pick([None, 0, 1]))
