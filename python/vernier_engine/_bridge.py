"""Functions of this process as runners: threads that answer what python/vernier_runners/bridge.py forwards."""

from __future__ import annotations

import functools
import json
import os
import socket
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes  # noqa: F401  (numpy knows its dtypes from here on)
import numpy as np

from ._program import run
from ._protocol import Failure, Packed, answer
from .data import array_of
from ._types import BEYOND_NUMPY, BY_DTYPE, TYPES

_BITS = {"UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2, "INT2": 2}  # of types that ONNX packs


class Bridge:
    """Listens while it is entered; each process that connects is a runner of its own."""

    def __init__(self, name: str, function: Callable[[dict[str, Any]], Any]) -> None:
        self._name, self._function = name, function
        self._lock = threading.Lock()  # a function is called by one at a time

    def __enter__(self) -> Bridge:
        self._folder = tempfile.TemporaryDirectory(prefix="vernier-")
        self.address = os.path.join(self._folder.name, "socket")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.address)
        self._server.listen()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._server.close()
        self._thread.join()
        self._folder.cleanup()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        handler = _Handler(self._name, self._function, self._lock)
        with connection, connection.makefile("r", encoding="utf-8") as requests:
            for line in requests:
                request = json.loads(line)
                if request.get("request") == "close":
                    return
                reply = json.dumps({"id": request.get("id"), **_answer(handler, request)}) + "\n"
                try:
                    connection.sendall(reply.encode())
                except OSError:
                    return


def _answer(handler: _Handler, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return answer(handler, request)
    except Failure as failure:
        return {"error": {key: text for key, text in failure.fields.items() if text}}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return {"error": {"code": "bad_input", "message": f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"}}


class _Handler:
    def __init__(self, name: str, function: Callable[[dict[str, Any]], Any], lock: threading.Lock) -> None:
        self._name, self._function, self._lock = name, function, lock
        self._model = ""

    def hello(self) -> dict[str, Any]:
        described = getattr(self._function, "description", {})
        return {"engine": self._name, "version": "", "capabilities": ["repeat"], "description": {"process": "this one", **described}}

    def load(self, model: str, options: Mapping[str, str], threads: int) -> None:
        del threads
        if options:
            raise Failure(f"a function takes no option '{min(options)}'", "unsupported")
        self._model = model
        if hasattr(self._function, "load"):
            self._function.load(model)

    def run(self, inputs: dict[str, Any], taps: list[str]) -> tuple[dict[str, Any], list[str], float]:
        del taps
        made, seconds = self._call({name: unpacked(value) for name, value in inputs.items()})
        outputs = {name: packed(name, value) for name, value in self._named(made).items()}
        return outputs, list(getattr(self._function, "notes", [])), seconds

    def time(self, inputs: dict[str, Any], repeat: int) -> list[float]:
        feeds = {name: unpacked(value) for name, value in inputs.items()}
        return [self._call(feeds)[1] for _ in range(repeat)]

    def _call(self, feeds: dict[str, Any]) -> tuple[Any, float]:
        with self._lock:
            began = time.perf_counter()
            made = self._function(feeds)
            return made, time.perf_counter() - began

    def _named(self, made: Any) -> dict[str, Any]:
        if isinstance(made, Mapping):
            return dict(made)
        values = list(made) if isinstance(made, (list, tuple)) else [made]
        names = output_names(self._model)
        if len(values) != len(names):
            raise Failure(f"{len(values)} values came back, and the model has {len(names)} outputs: {', '.join(names)}")
        return dict(zip(names, values))


def output_names(model: str) -> list[str]:
    """In the order of the model."""
    return _names(model, "outputs")


def input_names(model: str) -> list[str]:
    """In the order of the model."""
    return _names(model, "inputs")


@functools.lru_cache(maxsize=8)
def _names(model: str, side: str) -> list[str]:
    return [each["name"] for each in run("inspect", [model]).result[side]]


def unpacked(value: Any) -> Any:
    """A value as the protocol reads it, with arrays of ml_dtypes for what numpy lacks."""
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if not isinstance(value, Packed):
        return value
    dtype = TYPES[value.type][1]
    data: np.ndarray = np.frombuffer(value.data, np.uint8)
    if bits := _BITS.get(value.type):
        per_byte = 8 // bits
        shifts = np.arange(per_byte, dtype=np.uint8) * bits
        data = ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[: int(np.prod(value.shape, dtype=np.int64))]
        if value.type in ("INT4", "INT2"):  # ml_dtypes wants the sign in all bits above
            data = ((data.astype(np.int8) << (8 - bits)) >> (8 - bits)).astype(np.uint8)
    return data.view(dtype).reshape(value.shape)


def packed(name: str, value: Any) -> Any:
    """A value as the protocol writes it."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [packed(name, each) for each in value]
    array = array_of(value)
    if array.dtype not in BEYOND_NUMPY:
        return array
    kind, dense = BY_DTYPE[array.dtype], np.ascontiguousarray(array)
    data = dense.view(np.uint8).reshape(-1)
    if bits := _BITS.get(kind):
        per_byte = 8 // bits
        rows = np.zeros((-(-data.size // per_byte), per_byte), np.uint8)
        rows.reshape(-1)[: data.size] = data & ((1 << bits) - 1)
        data = np.bitwise_or.reduce(rows << (np.arange(per_byte, dtype=np.uint8) * bits), axis=1).astype(np.uint8)
    return Packed(kind, array.shape, data.tobytes())
