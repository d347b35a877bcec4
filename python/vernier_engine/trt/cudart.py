"""Scripts use this part of cuda-python's cudart, on memory of the host: `from vernier_engine.trt import cudart`. As there, functions
return a tuple, of which the first is the error."""

from __future__ import annotations

import itertools
import time
from typing import Any

from ..errors import Usage
from . import memory
from .enums import Numbered


class cudaError_t(Numbered):
    """Names what can go wrong here."""

    cudaSuccess = 0
    cudaErrorInvalidValue = 1


class cudaMemcpyKind(Numbered):
    """All directions are the same."""

    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3
    cudaMemcpyDefault = 4


_OK = cudaError_t.cudaSuccess
_handles = itertools.count(1)
_times: dict[int, float] = {}
_owned: dict[int, memory.Allocation] = {}


def cudaMalloc(size: int) -> tuple[cudaError_t, int]:
    """So many bytes, until cudaFree."""
    made = memory.Allocation(size)
    _owned[made.address] = made
    return _OK, made.address


def cudaFree(pointer: Any) -> tuple[cudaError_t]:
    """Gives back what cudaMalloc gave; an error for other addresses."""
    address = memory.as_address(pointer)
    if address and address not in _owned:
        return (cudaError_t.cudaErrorInvalidValue,)
    if address:
        _owned.pop(address).free()
    return (_OK,)


def cudaMallocAsync(size: int, stream: Any) -> tuple[cudaError_t, int]:
    """As cudaMalloc."""
    del stream
    return cudaMalloc(size)


def cudaFreeAsync(pointer: Any, stream: Any) -> tuple[cudaError_t]:
    """As cudaFree."""
    del stream
    return cudaFree(pointer)


cudaMallocHost, cudaFreeHost = cudaMalloc, cudaFree


def cudaMemcpy(to: Any, source: Any, size: int, kind: cudaMemcpyKind) -> tuple[cudaError_t]:
    """Copies bytes; an error where there is no memory."""
    del kind
    try:
        memory.copy(to, source, size)
    except Usage:
        return (cudaError_t.cudaErrorInvalidValue,)
    return (_OK,)


def cudaMemcpyAsync(to: Any, source: Any, size: int, kind: cudaMemcpyKind, stream: Any) -> tuple[cudaError_t]:
    """As cudaMemcpy."""
    del stream
    return cudaMemcpy(to, source, size, kind)


def cudaMemset(pointer: Any, value: int, size: int) -> tuple[cudaError_t]:
    """Sets bytes; an error where there is no memory."""
    try:
        memory.fill(pointer, value, size)
    except Usage:
        return (cudaError_t.cudaErrorInvalidValue,)
    return (_OK,)


def cudaStreamCreate() -> tuple[cudaError_t, int]:
    """The order of calls, which is that of the script."""
    return _OK, next(_handles)


def cudaStreamCreateWithFlags(flags: int) -> tuple[cudaError_t, int]:
    """As cudaStreamCreate."""
    del flags
    return cudaStreamCreate()


def cudaStreamSynchronize(stream: Any) -> tuple[cudaError_t]:
    """Everything is done already."""
    del stream
    return (_OK,)


cudaStreamDestroy = cudaStreamSynchronize


def cudaEventCreate() -> tuple[cudaError_t, int]:
    """A point in time."""
    made = next(_handles)
    _times[made] = time.perf_counter()
    return _OK, made


def cudaEventRecord(event: int, stream: Any = 0) -> tuple[cudaError_t]:
    """Is now."""
    del stream
    _times[event] = time.perf_counter()
    return (_OK,)


def cudaEventElapsedTime(start: int, end: int) -> tuple[cudaError_t, float]:
    """Milliseconds."""
    return _OK, (_times[end] - _times[start]) * 1e3


def cudaEventDestroy(event: int) -> tuple[cudaError_t]:
    """Forgets it."""
    _times.pop(event, None)
    return (_OK,)


cudaEventSynchronize = cudaStreamSynchronize


def cudaDeviceSynchronize() -> tuple[cudaError_t]:
    """Everything is done already."""
    return (_OK,)


def cudaGetDeviceCount() -> tuple[cudaError_t, int]:
    """One host."""
    return _OK, 1


def cudaSetDevice(device: int) -> tuple[cudaError_t]:
    """There is the host alone."""
    return (_OK if device == 0 else cudaError_t.cudaErrorInvalidValue,)


def cudaGetErrorName(error: cudaError_t) -> tuple[cudaError_t, bytes]:
    """As cuda-python says it."""
    return _OK, cudaError_t(error).name.encode()


def cudaGetErrorString(error: cudaError_t) -> tuple[cudaError_t, bytes]:
    """Says what the error means."""
    return _OK, b"no error" if error == _OK else b"there is no such memory of the host"
