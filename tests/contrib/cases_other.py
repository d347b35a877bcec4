"""Cases of single operators of com.microsoft that belong to no family."""

import numpy as np

from case_writer import generator
from cases_matmul import normal


def expand_dims(writer):
    for axis in (0, 1, 3, -1, -2):
        name = f"expand_dims_axis_{axis % 4}_{'behind' if axis < 0 else 'front'}"
        x = normal(generator(name), 2, 3, 4)
        writer.case(name, "ExpandDims", [x, np.array(axis, np.int32)])


def cdist(writer):
    for metric in ("sqeuclidean", "euclidean"):
        for kind, dtype in (("float", np.float32), ("double", np.float64)):
            name = f"cdist_{metric}_{kind}"
            rng = generator(name)
            writer.case(name, "CDist", [normal(rng, 5, 7, dtype=dtype), normal(rng, 3, 7, dtype=dtype)], dict(metric=metric))


def inverse(writer):
    for shape in ((3, 3), (2, 4, 4), (2, 3, 1, 1)):
        name = f"inverse_{len(shape)}d"
        x = normal(generator(name), *shape) + 3 * np.eye(shape[-1], dtype=np.float32)
        writer.case(name, "Inverse", [x])


def shared_with_onnx(writer):
    """Operators that ONNX took over."""
    for k in (-1, 0, 2):
        name = f"microsoft_trilu_{k + 1}"
        x = normal(generator(name), 2, 3, 5)
        writer.case(name, "Trilu", [x, np.array(k, np.int64)], dict(upper=k % 2))
    for mode, padding in (("bilinear", "border"), ("nearest", "reflection"), ("bicubic", "zeros"), ("bicubic", "border")):
        name = f"microsoft_grid_sample_{mode}_{padding}"
        rng = generator(name)
        grid = rng.uniform(-1.2, 1.2, (2, 3, 4, 2)).astype(np.float32)
        writer.case(name, "GridSample", [normal(rng, 2, 3, 5, 6), grid], dict(mode=mode, padding_mode=padding, align_corners=1))


def write(writer):
    for family in (expand_dims, cdist, inverse, shared_with_onnx):
        family(writer)
