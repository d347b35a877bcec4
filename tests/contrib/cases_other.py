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


def pad(writer):
    for mode in ("constant", "reflect", "edge"):
        for variant, pads in (("list", np.array([0, 2, 1, 1, 0, 2])), ("matrix", np.array([[1, 0, 2, 0, 1, 1]])), ("cut", np.array([0, -1, 1, 1, 0, -2]))):
            name = f"microsoft_pad_{mode}_{variant}"
            inputs = [normal(generator(name), 3, 4, 5), pads]
            if variant == "matrix":
                inputs.append(np.array([0.7], np.float32))
            writer.case(name, "Pad", inputs, dict(mode=mode))


def ranges(writer):
    for kind, dtype in (("float", np.float32), ("double", np.float64), ("int16", np.int16), ("int32", np.int32), ("int64", np.int64)):
        for variant, numbers in (("up", (2, 9, 3)), ("down", (9, 1, -2)), ("empty", (3, 1, 1)), ("no_delta", (-2, 5))):
            shape = (1,) if variant == "down" else ()
            writer.case(f"microsoft_range_{kind}_{variant}", "Range", [np.full(shape, number, dtype) for number in numbers])


def unique(writer):
    for size in (0, 1, 40):
        name = f"microsoft_unique_{size}"
        writer.case(name, "Unique", [generator(name).integers(-5, 5, size).astype(np.float32)], outputs=3)


def murmur(writer):
    for dtype in (np.uint32, np.int32, np.uint64, np.int64, np.float32, np.float64):
        for positive, seed in ((1, 0), (0, 0), (1, 42)):
            name = f"murmur_hash3_{np.dtype(dtype).name}_positive{positive}_seed{seed}"
            x = (generator(name).normal(0, 1, (3, 4)) * 1000).astype(dtype)
            writer.case(name, "MurmurHash3", [x], dict(positive=positive, seed=seed))
    texts = np.array(["", "a", "ab", "abc", "abcd", "the quick brown fox", "\u00fcber"], object)
    for positive in (0, 1):
        writer.case(f"murmur_hash3_text_positive{positive}", "MurmurHash3", [texts], dict(positive=positive, seed=7))


def unfold(writer):
    for axis, size, step in ((-1, 3, 2), (1, 2, 1), (0, 3, 1)):
        name = f"unfold_tensor_{axis % 3}_{size}_{step}"
        writer.case(name, "UnfoldTensor", [normal(generator(name), 3, 4, 7)], dict(dim=axis, size=size, step=step))


def time_warping(writer):
    for shape in ((5, 9), (1, 8, 6), (1, 7), (4, 1)):
        name = f"dynamic_time_warping_{'x'.join(map(str, shape))}"
        writer.case(name, "DynamicTimeWarping", [normal(generator(name), *shape)])
    # Whole costs meet ties.
    ties = generator("dynamic_time_warping_ties").integers(0, 2, (6, 7)).astype(np.float32)
    writer.case("dynamic_time_warping_ties", "DynamicTimeWarping", [ties])


def write(writer):
    for family in (expand_dims, cdist, inverse, shared_with_onnx, pad, ranges, unique, murmur, unfold, time_warping):
        family(writer)
