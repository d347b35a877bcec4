"""Scripts use this part of pycuda.driver, on memory of the host: `import vernier_engine.trt.cuda as cuda`. Streams have nothing to wait
for, because every call has ended when it returns. `import pycuda.autoinit` is to be left out."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np

from ..errors import Usage, VernierError
from . import memory

Error, LogicError = VernierError, Usage
_handles = itertools.count(1)


class DeviceAllocation:
    """Memory that is freed with this object; int() of it is its address."""

    def __init__(self, size: int) -> None:
        self._allocation = memory.Allocation(size)

    def __int__(self) -> int:
        return self._allocation.address

    __index__ = __int__

    def __del__(self) -> None:
        if hasattr(self, "_allocation"):
            self._allocation.free()

    def free(self) -> None:
        """Gives the memory back."""
        self._allocation.free()


class Stream:
    """The order of calls, which is that of the script."""

    def __init__(self, flags: int = 0) -> None:
        del flags
        self.handle = next(_handles)

    def synchronize(self) -> None:
        """Everything is done already."""

    def is_done(self) -> bool:
        """Always true."""
        return True

    def wait_for_event(self, event: Event) -> None:
        """Waits for nothing: what was recorded has happened."""


class Event:
    """A point in time."""

    def __init__(self, flags: int = 0) -> None:
        del flags
        self._at = time.perf_counter()

    def record(self, stream: Stream | None = None) -> Event:
        """Is now."""
        del stream
        self._at = time.perf_counter()
        return self

    def synchronize(self) -> Event:
        """It has happened."""
        return self

    def query(self) -> bool:
        """Always true."""
        return True

    def time_till(self, other: Event) -> float:
        """Milliseconds until another event."""
        return (other._at - self._at) * 1e3

    def time_since(self, other: Event) -> float:
        """Milliseconds since another event."""
        return other.time_till(self)


class Context:
    """The one context that there is."""

    def push(self) -> None:
        """Nothing changes."""

    def detach(self) -> None:
        """Nothing changes."""

    @staticmethod
    def pop() -> None:
        """Nothing changes."""

    @staticmethod
    def synchronize() -> None:
        """Everything is done already."""


class Device:
    """The host, whatever the number."""

    def __init__(self, number: int) -> None:
        self.number = number

    @staticmethod
    def count() -> int:
        """One host."""
        return 1

    def name(self) -> str:
        """Says that it is no GPU."""
        return "the host's processor (Vernier)"

    def make_context(self, flags: int = 0) -> Context:
        """The one context."""
        del flags
        return Context()

    retain_primary_context = make_context


def init(flags: int = 0) -> None:
    """There is nothing to start."""
    del flags


def mem_alloc(size: int) -> DeviceAllocation:
    """So many bytes."""
    return DeviceAllocation(size)


def mem_alloc_like(array: np.ndarray) -> DeviceAllocation:
    """As many bytes as an array has."""
    return DeviceAllocation(array.nbytes)


def to_device(array: Any) -> DeviceAllocation:
    """A copy of an array."""
    made = DeviceAllocation(np.asarray(array).nbytes)
    memcpy_htod(made, array)
    return made


def from_device(devptr: Any, shape: Any, dtype: Any, order: str = "C") -> np.ndarray:
    """An array that holds a copy."""
    made = np.empty(shape, dtype, order)
    memcpy_dtoh(made, devptr)
    return made


def memcpy_htod(dest: Any, src: Any, stream: Stream | None = None) -> None:
    """Copies a contiguous array to memory."""
    del stream
    array = np.asarray(src)
    if not array.flags.forc:
        raise Usage("what is copied lies in strided memory", advice="give numpy.ascontiguousarray of it")
    memory.copy(dest, array.reshape(-1, order="A"), array.nbytes)


def memcpy_dtoh(dest: np.ndarray, src: Any, stream: Stream | None = None) -> None:
    """Copies memory to a contiguous array that can be written."""
    del stream
    if not dest.flags.forc or not dest.flags.writeable:
        raise Usage("what is copied to is strided or read-only")
    memory.copy(dest.ctypes.data, src, dest.nbytes)


def memcpy_dtod(dest: Any, src: Any, size: int, stream: Stream | None = None) -> None:
    """Copies bytes."""
    del stream
    memory.copy(dest, src, size)


memcpy_htod_async, memcpy_dtoh_async, memcpy_dtod_async = memcpy_htod, memcpy_dtoh, memcpy_dtod


def memset_d8(dest: Any, data: int, count: int) -> None:
    """Sets bytes."""
    memory.fill(dest, data, count)


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    """An array of numpy, as all memory of the host serves."""
    del mem_flags
    return np.empty(shape, dtype, order)


def pagelocked_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    """The same, of zeros."""
    del mem_flags
    return np.zeros(shape, dtype, order)


def pagelocked_empty_like(array: np.ndarray, mem_flags: int = 0) -> np.ndarray:
    """The same, as another array is."""
    del mem_flags
    return np.empty_like(array)
