"""Random data: arrays of every element type, with special values where they are wanted."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

FLOATS = ["float", "double", "float16", "bfloat16"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + ["bool"]
WEIGHTS = {"float": 12, "float16": 3, "bfloat16": 3, "double": 2, "int32": 2, "int64": 3, "int8": 2, "uint8": 2}


def dtype_of(kind):
    return helper.tensor_dtype_to_np_dtype(getattr(TensorProto, kind.upper()))


def kind_of(dtype):
    return TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()


@dataclass
class Recipe:
    """How an array is drawn: from [low, high], integers as such; `special` allows NaN, Inf and the like."""

    low: float = -3.0
    high: float = 3.0
    special: bool = True
    whole: bool = False  # integral values, also of floats


def special_values(kind):
    """Draws what breaks kernels: of floats NaN, infinities, zeros of both signs, subnormal and huge numbers."""
    dtype = dtype_of(kind)
    if kind == "bool":
        return np.array([False, True])
    if kind in FLOATS:
        limits = ml_dtypes.finfo(dtype)
        tiny, huge = float(limits.smallest_subnormal), float(limits.max)
        return np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny, tiny * 5, huge, -huge, huge / 2]).astype(dtype)
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.max, limits.max - 1, 0, 1], dtype)


def array(rng, kind, shape, recipe, special=False):
    """`special`: a part of the elements are special values, if the recipe allows them."""
    dtype = dtype_of(kind)
    if kind == "bool":
        return rng.random(shape) < 0.5
    if kind in FLOATS:
        values = rng.uniform(recipe.low, recipe.high, shape)
        values = np.round(values) if recipe.whole else values
    else:
        low, high = np.ceil(recipe.low), np.floor(recipe.high)
        low = max(low, np.iinfo(dtype).min)
        values = rng.integers(int(low), int(max(high, low)), shape, endpoint=True)
    values = np.asarray(values).astype(dtype)
    if special and recipe.special and values.size:
        chosen = rng.random(shape) < rng.choice([0.02, 0.2, 0.7])
        values = np.where(chosen, rng.choice(pick_specials(rng, kind), shape), values).astype(dtype)
    return np.ascontiguousarray(values).reshape(shape)


def pick_specials(rng, kind):
    """Often one kind of special value alone: together they hide each other."""
    values = special_values(kind)
    return values if rng.random() < 0.4 else values[rng.integers(len(values)) :][:1]


def weighted(rng, kinds):
    weights = np.array([WEIGHTS.get(kind, 1) for kind in kinds], float)
    return kinds[rng.choice(len(kinds), p=weights / weights.sum())]
