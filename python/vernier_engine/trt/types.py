"""Element types and sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._types import TYPES
from ..errors import Unsupported
from .enums import Numbered


class DataType(Numbered):
    """The element types of TensorRT."""

    FLOAT = 0
    HALF = 1
    INT8 = 2
    INT32 = 3
    BOOL = 4
    UINT8 = 5
    FP8 = 6
    BF16 = 7
    INT64 = 8
    INT4 = 9
    FP4 = 10

    @property
    def itemsize(self) -> int:
        """Bytes of an element in memory."""
        return np.dtype(nptype(self)).itemsize


float32, float16, int8, int32, bool, uint8, fp8, bfloat16, int64, int4, fp4 = DataType  # noqa: A001 (TensorRT calls it so)

# ONNX's names, those that Vernier prints, and those that its options take.
_NAMES = {
    float32: ("FLOAT", "f32", "fp32"), float16: ("FLOAT16", "f16", "fp16"), int8: ("INT8", "i8", "int8"), int32: ("INT32", "i32", ""),
    bool: ("BOOL", "bool", ""), uint8: ("UINT8", "u8", ""), fp8: ("FLOAT8E4M3FN", "f8e4m3fn", ""), bfloat16: ("BFLOAT16", "bf16", "bf16"),
    int64: ("INT64", "i64", ""), int4: ("INT4", "i4", ""), fp4: ("FLOAT4E2M1", "f4e2m1", ""),
}  # fmt: skip
_BY_NAME = {name: kind for kind, names in _NAMES.items() for name in names if name}


def data_type(name: str) -> DataType:
    """By a name of ONNX or of Vernier's reports. TensorRT has no type for doubles, strings and others."""
    if name not in _BY_NAME:
        raise Unsupported(f"TensorRT has no DataType for {name or 'what is no tensor'}", advice="run it by vernier_engine.Session")
    return _BY_NAME[name]


def onnx_number(kind: DataType) -> int:
    """As TensorProto.DataType says it."""
    return TYPES[_NAMES[kind][0]][0]


def precision_name(kind: DataType) -> str:
    """As --layer-precisions takes it."""
    name = _NAMES[DataType(kind)][2]
    if not name:
        raise Unsupported(f"layers compute in float32, float16, bfloat16 or int8, not in {kind}")
    return name


def nptype(trt_type: DataType) -> type:
    """The type of numpy, of ml_dtypes for those that numpy lacks."""
    return TYPES[_NAMES[DataType(trt_type)][0]][1].type


class Dims(list):
    """Sizes; -1 where only a run tells."""

    MAX_DIMS = 8

    def __init__(self, sizes: Iterable[Any] = ()) -> None:
        super().__init__(int(size) for size in sizes)

    def __eq__(self, other: object) -> Any:
        return list(self) == list(other) if isinstance(other, (list, tuple)) else NotImplemented

    def __radd__(self, other: Iterable[int]) -> tuple[int, ...]:
        return (*other, *self)

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self))})"


class Dims2(Dims):
    """Two sizes."""


class Dims3(Dims):
    """Three sizes."""


class Dims4(Dims):
    """Four sizes."""


class DimsHW(Dims2):
    """Height and width."""


def volume(iterable: Iterable[int]) -> int:
    """The product of sizes; 1 of none."""
    return math.prod(int(size) for size in iterable)
