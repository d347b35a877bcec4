"""Addresses of the memory of this process. What `cuda` and `cudart` of this package allocate is known by its size; of other
addresses, as `.ctypes.data` and `.data_ptr()` are, the kernel's map of the process tells whether there is memory at all."""

from __future__ import annotations

import bisect
import ctypes
import mmap
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import Usage
from .types import volume


class Allocation:
    """Memory that plays the memory of a device. It is mapped by itself, so that it is gone when it is freed, and an address that is
    used later is found to be none."""

    def __init__(self, size: int) -> None:
        self._map: mmap.mmap | None = mmap.mmap(-1, max(int(size), 1))
        self.address = np.frombuffer(self._map, np.uint8).ctypes.data
        self.end = self.address + int(size)
        with _lock:
            bisect.insort(_starts, self.address)
            _known[self.address] = self

    @property
    def alive(self) -> bool:
        """Until it is freed."""
        return self._map is not None

    def free(self) -> None:
        """Gives the memory back; a second time does nothing."""
        with _lock:
            if self._map is not None:
                _starts.remove(self.address)
                del _known[self.address]
                self._map.close()
                self._map = None


# Reentrant, for memory may be freed by the collection of garbage within.
_lock = threading.RLock()
_starts: list[int] = []  # of what is alive, in order
_known: dict[int, Allocation] = {}


def find(address: int) -> Allocation | None:
    """The allocation that an address lies in."""
    with _lock:
        at = bisect.bisect(_starts, address) - 1
        found = _known[_starts[at]] if at >= 0 else None
    return found if found is not None and address < max(found.end, found.address + 1) else None


def as_address(given: Any) -> int:
    """The address that a script means: an integer, what int() makes one of, a void pointer of ctypes, or an array of the host."""
    if hasattr(given, "data_ptr"):
        return given.data_ptr()
    if isinstance(given, np.ndarray) and given.ndim > 0:
        return given.ctypes.data
    return int(given.value or 0) if isinstance(given, ctypes.c_void_p) else int(given)


def _require_mapped(address: int, size: int, writes: bool, what: str) -> None:
    at = address
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, access = line.split(None, 2)[:2]
            begin, end = (int(each, 16) for each in span.split("-"))
            if begin <= at < end and access[0] == "r" and (access[1] == "w" or not writes):
                at = end
                if at >= address + size:
                    return
    raise Usage(
        f"{what} is at address {address:#x}, where this process has no {'writable ' if writes else ''}memory of {size} bytes",
        advice="the engine runs on the CPU: give .ctypes.data of an array of numpy, .data_ptr() of a tensor on the CPU, or memory "
        "of vernier_engine.trt.cuda, which replaces pycuda.driver, or vernier_engine.trt.cudart",
    )


def require(address: int, size: int, writes: bool, what: str) -> Allocation | None:
    """Raises Usage where there is no such memory; gives the allocation that it is in, if it is one of ours."""
    found = find(address)
    if found is None and size > 0:
        _require_mapped(address, size, writes, what)
    elif found is not None and address + size > found.end:
        raise Usage(f"{what} has {size} bytes, and at address {address:#x} there are {found.end - address} allocated")
    return found


def array_at(address: int, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """An array on memory that `require` has found."""
    size = volume(shape) * np.dtype(dtype).itemsize
    if size == 0:
        return np.empty(tuple(shape), dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(address), np.uint8).view(dtype).reshape(tuple(shape))


def copy(to: Any, source: Any, size: int) -> None:
    """Copies bytes from address to address."""
    target, origin = as_address(to), as_address(source)
    require(target, size, True, "what is written")
    require(origin, size, False, "what is read")
    ctypes.memmove(target, origin, size)


def fill(to: Any, value: int, size: int) -> None:
    """Sets bytes."""
    address = as_address(to)
    require(address, size, True, "what is written")
    ctypes.memset(address, value, size)
