"""Element types: ONNX's names and numbers, numpy's and ml_dtypes' dtypes. The module _core calls bits_of and typed."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from .errors import Unsupported, Usage

# ONNX's name -> (number of TensorProto.DataType, dtype)
TYPES: dict[str, tuple[int, np.dtype]] = {
    name: (number, np.dtype(dtype))
    for name, number, dtype in [
        ("FLOAT", 1, np.float32), ("UINT8", 2, np.uint8), ("INT8", 3, np.int8), ("UINT16", 4, np.uint16),
        ("INT16", 5, np.int16), ("INT32", 6, np.int32), ("INT64", 7, np.int64), ("STRING", 8, object), ("BOOL", 9, np.bool_),
        ("FLOAT16", 10, np.float16), ("DOUBLE", 11, np.float64), ("UINT32", 12, np.uint32), ("UINT64", 13, np.uint64),
        ("COMPLEX64", 14, np.complex64), ("COMPLEX128", 15, np.complex128), ("BFLOAT16", 16, ml_dtypes.bfloat16),
        ("FLOAT8E4M3FN", 17, ml_dtypes.float8_e4m3fn), ("FLOAT8E4M3FNUZ", 18, ml_dtypes.float8_e4m3fnuz),
        ("FLOAT8E5M2", 19, ml_dtypes.float8_e5m2), ("FLOAT8E5M2FNUZ", 20, ml_dtypes.float8_e5m2fnuz),
        ("UINT4", 21, ml_dtypes.uint4), ("INT4", 22, ml_dtypes.int4), ("FLOAT4E2M1", 23, ml_dtypes.float4_e2m1fn),
        ("FLOAT8E8M0", 24, ml_dtypes.float8_e8m0fnu), ("UINT2", 25, ml_dtypes.uint2), ("INT2", 26, ml_dtypes.int2),
    ]
}  # fmt: skip
BY_NUMBER = {number: (name, dtype) for name, (number, dtype) in TYPES.items()}
BY_DTYPE = {dtype: name for name, (_, dtype) in TYPES.items()}
# Numpy cannot hand these on by the buffer protocol or DLPack, so they go as their bits.
BEYOND_NUMPY = {dtype: number for number, dtype in TYPES.values() if number >= 16}


def bits_of(array: object, name: str, writable: bool) -> tuple[np.ndarray, int]:
    """The memory of an array that nanobind does not take, as integers, and its ONNX type. Nothing is copied."""
    if not isinstance(array, np.ndarray):
        raise Usage(
            f"'{name}' is a {type(array).__name__}, whose memory cannot be shared (give an array of numpy, a dense tensor of "
            "torch, or what has __dlpack__)"
        )
    if writable and not array.flags.writeable:
        raise Usage(f"'{name}' is an output, and its array is read-only")
    if array.dtype not in BEYOND_NUMPY:
        why = "other byte order" if not array.dtype.isnative else "a dtype that is none of ONNX's"
        raise Unsupported(f"'{name}' has the dtype {array.dtype}: {why}")
    return array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8), BEYOND_NUMPY[array.dtype]


def typed(bits: np.ndarray, number: int) -> np.ndarray:
    """The same memory with the dtype of an ONNX type."""
    return bits.view(BY_NUMBER[number][1])
