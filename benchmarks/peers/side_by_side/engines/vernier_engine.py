"""Vernier through its C interface (include/vernier/vernier_c.h), from an engine file."""
import ctypes

import numpy as np

from ..paths import LIBRARY
from . import Caches

FLOAT, INT64 = 1, 7  # vernier_element_type
ELEMENT_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64}
DTYPES = {number: dtype for dtype, number in ELEMENT_TYPES.items()}


class TensorInfo(ctypes.Structure):  # vernier_tensor_info
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("has_default", ctypes.c_int), ("has_rank", ctypes.c_int),
                ("rank", ctypes.c_size_t), ("dims", ctypes.POINTER(ctypes.c_int64)), ("symbols", ctypes.POINTER(ctypes.c_char_p))]


class Tensor(ctypes.Structure):  # vernier_tensor
    _fields_ = [("type", ctypes.c_int), ("rank", ctypes.c_size_t), ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


class Library:
    """The C interface; a status that is no success is an exception with what went wrong."""

    def __init__(self):
        self.functions = ctypes.CDLL(str(LIBRARY))
        self.functions.vernier_last_error.restype = ctypes.c_char_p
        self.functions.vernier_engine_output_count.restype = ctypes.c_size_t

    def call(self, name: str, *arguments) -> None:
        if getattr(self.functions, "vernier_" + name)(*arguments) != 0:
            raise RuntimeError(self.functions.vernier_last_error().decode())


class Session:
    def __init__(self, library: Library, engine: ctypes.c_void_p, outputs: list[str], threads: int):
        self.library, self.names, self.handle = library, outputs, ctypes.c_void_p()
        library.call("session_create", engine, threads, ctypes.byref(self.handle))

    def bind_memory(self, kind: str, name: str, element_type: int, dims: tuple, address: int) -> None:
        sizes = (ctypes.c_int64 * len(dims))(*dims)
        self.library.call(f"session_bind_{kind}", self.handle, name.encode(), element_type, sizes, ctypes.c_size_t(len(dims)),
                          ctypes.c_void_p(address))

    def bind_cache(self, past: str, present: str, area: np.ndarray) -> None:
        sizes = (ctypes.c_int64 * area.ndim)(*area.shape)
        self.library.call("session_bind_cache", self.handle, past.encode(), present.encode(), FLOAT, sizes, ctypes.c_size_t(area.ndim),
                          ctypes.c_void_p(area.ctypes.data), ctypes.c_int64(0))

    def bind(self, inputs):
        for name, array in inputs.items():
            self.bind_memory("input", name, ELEMENT_TYPES[array.dtype], array.shape, array.ctypes.data)
        self.bound = inputs  # memory that the session reads
        return self.run

    def run(self) -> None:
        self.library.call("session_run", self.handle)

    def output(self, name: str) -> np.ndarray:
        """A view, valid until the next run."""
        tensor = Tensor()
        self.library.call("session_output", self.handle, name.encode(), ctypes.byref(tensor))
        dims, dtype = tensor.dims[:tensor.rank], DTYPES[tensor.type]
        raw = (ctypes.c_char * (int(np.prod(dims)) * dtype.itemsize)).from_address(tensor.data)
        return np.frombuffer(raw, dtype).reshape(dims)

    def outputs(self):
        return {name: self.output(name).copy() for name in self.names}


class Decoder:
    """Each cache is one area of memory, in which runs put new rows behind those that are there."""

    def __init__(self, session: Session, caches: Caches):
        self.session = session
        self.areas = {name: np.zeros(caches.dims(caches.capacity), np.float32) for name in caches.pairs}
        for past, present in caches.pairs.items():
            session.bind_cache(past, present, self.areas[past])

    def step(self, ids, mask):
        self.session.bind({"input_ids": ids, "attention_mask": mask})()
        return self.session.output("logits")


class Engine:
    def __init__(self, engine_file, threads):
        self.library, self.threads, self.handle = Library(), threads, ctypes.c_void_p()
        self.library.call("engine_load", str(engine_file).encode(), ctypes.byref(self.handle))
        self.outputs = [self.output_name(index) for index in range(self.library.functions.vernier_engine_output_count(self.handle))]

    def output_name(self, index: int) -> str:
        info = TensorInfo()
        self.library.call("engine_output", self.handle, ctypes.c_size_t(index), ctypes.byref(info))
        return info.name.decode()

    def session(self):
        return Session(self.library, self.handle, self.outputs, self.threads)

    def decoder(self, caches):
        return Decoder(self.session(), caches)
