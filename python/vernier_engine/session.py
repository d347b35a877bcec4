"""Engines run in this process, without copies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._types import BY_DTYPE, BY_NUMBER, TYPES
from .engine import Engine, build
from .errors import Usage

_ENGINE_MAGIC = b"VERNIER\n"


@dataclass(frozen=True)
class TensorInfo:
    """An input or output. `shape` has a number for each dimension, or the name of one that is known only when running;
    None where any rank will do. `type` is ONNX's name of the element type, "" for what is no tensor."""

    name: str
    type: str
    dtype: np.dtype | None
    shape: tuple[int | str, ...] | None
    has_default: bool = False


@dataclass(frozen=True)
class LayerTime:
    """One step of a run: the kernel, the ONNX nodes that it computes, and its median time."""

    kernel: str
    nodes: tuple[str, ...]
    milliseconds: float
    is_fallback: bool


class DeviceArray:
    """An array in memory of a device of an engine, which sessions of the engine read and write where it lies. It has
    __dlpack__, so that torch.from_dlpack shows it without a copy."""

    def __init__(self, engine: _core.Engine, device: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.device = device if ":" in device else f"{device}:0"
        self.shape, self.dtype = shape, dtype
        self._array = _core.DeviceArray(engine, self.device, TYPES[BY_DTYPE[dtype]][0], shape)

    def copy_from(self, array: Any) -> None:
        """Copies an array of the CPU, of the same type and sizes, there."""
        self._array.write(array)

    def numpy(self) -> np.ndarray:
        """A copy on the CPU."""
        array = np.empty(self.shape, self.dtype)
        self._array.read(array)
        return array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class Outputs(Mapping[str, np.ndarray]):
    """The outputs of a run by name: arrays on the memory that the run wrote, which they keep alive."""

    def __init__(self, names: Sequence[str], outputs: _core.Outputs) -> None:
        self._names, self._outputs = names, outputs

    def __getitem__(self, name: str) -> np.ndarray:
        return self._outputs.numpy(self._index(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def dlpack(self, name: str) -> Any:
        """The output as an object with __dlpack__, for types that numpy lacks: torch.from_dlpack(outputs.dlpack("y"))."""
        return self._outputs.dlpack(self._index(name))

    def _index(self, name: str) -> int:
        try:
            return self._names.index(name)
        except ValueError:
            raise KeyError(f"there is no output '{name}' (there are {', '.join(self._names)})") from None


class Event:
    """A run under way in the background."""

    def __init__(self, names: Sequence[str], event: _core.Event) -> None:
        self._names, self._event = names, event

    @property
    def ready(self) -> bool:
        """True when wait() will not block."""
        return self._event.ready

    def wait(self) -> Outputs:
        """The outputs, when they are there. Raises what the run raised."""
        return Outputs(self._names, self._event.wait())


class Session:
    """Runs an engine in memory of its own, with `threads` threads (0: all).

    `engine` is what `build` gave, an engine file, or an ONNX model, which is built first with the `options` of `build`.
    Sessions of one engine run at the same time, in as many threads as you like: the GIL is released. One session has one
    run at a time; a second one raises Busy. Arrays that are bound or fed are read where they lie: numpy, torch, ml_dtypes
    and whatever has __dlpack__, dense, on the CPU or a device of the engine (a CUDA tensor of torch or CuPy).
    """

    def __init__(self, engine: Engine | str | os.PathLike[str], threads: int = 0, **options: Any) -> None:
        if not isinstance(engine, Engine) and not _is_engine_file(engine):
            engine = build(engine, **options)
        elif options:
            raise Usage(f"'{next(iter(options))}' is an option of `build`, and this engine is built already")
        self._engine = engine  # keeps its file until it is mapped
        loaded = _core.Engine.load(os.fspath(engine))
        self.inputs = [_info(each) for each in loaded.inputs]
        self.outputs = [_info(each) for each in loaded.outputs]
        self._loaded = loaded
        self._names = [each.name for each in self.outputs]
        self._session = _core.Session(loaded, threads)

    def run(self, output_names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[np.ndarray]:
        """The outputs of these names (None: all, in the order of the model) for these inputs."""
        outputs = self._session.run(feeds if type(feeds) is dict else dict(feeds))
        if output_names is None:
            return [outputs.numpy(i) for i in range(len(outputs))]
        named = Outputs(self._names, outputs)
        return [named[name] for name in output_names]

    def __call__(self, feeds: Mapping[str, Any] | None = None) -> Outputs:
        """The outputs by name, for these inputs and what is bound."""
        return Outputs(self._names, self._session.run(dict(feeds or {})))

    def bind(self, name: str, array: Any) -> None:
        """The memory that all runs from now on read an input from, or write an output to. It may be changed between runs."""
        self._session.bind(name, array)

    def unbind(self, name: str) -> None:
        """Forgets the memory of an input or output."""
        self._session.unbind(name)

    def bind_cache(self, past: str, present: str, array: Any, rows: int = 0) -> None:
        """Lets the output `present` lie in the memory of the input `past`, [..., capacity, size], of which the first `rows`
        are there: a run writes only the new rows, as decoders do from token to token."""
        self._session.bind_cache(past, present, array, rows)

    def cache_rows(self, past: str) -> int:
        """How many rows a cache has."""
        return self._session.cache_rows(past)

    def set_cache_rows(self, past: str, rows: int) -> None:
        """Goes back to fewer rows, or to 0 for another text."""
        self._session.set_cache_rows(past, rows)

    def device_array(self, device: str, shape: Sequence[int], dtype: Any = np.float32) -> DeviceArray:
        """An array in memory of a device of the engine ("cuda:0"), to be bound or fed."""
        return DeviceArray(self._loaded, device, tuple(shape), np.dtype(dtype))

    def use_stream(self, device: str, stream: int) -> None:
        """Runs in the order of a CUDA stream from now on: `stream` is its handle, as torch.cuda.current_stream().cuda_stream.
        Where all inputs and outputs lie on that device, and all nodes run there, a run only enqueues."""
        self._session.use_stream(device, stream)

    def leave_stream(self) -> None:
        """Waits for runs that were only enqueued, and is in the order of no stream any more."""
        self._session.leave_stream()

    def synchronize(self) -> None:
        """Waits for runs that were only enqueued. Raises what went wrong in them."""
        self._session.synchronize()

    def run_async(self) -> Event:
        """Starts a run with what is bound; the session is busy until the event was waited for, or is gone."""
        return Event(self._names, self._session.run_async())

    def cancel(self) -> None:
        """Ends the run under way, from any thread; it raises Cancelled."""
        self._session.cancel()

    def profile(self, runs: int = 10) -> list[LayerTime]:
        """The time of each step, with what is bound."""
        return [LayerTime(each[0], tuple(each[1]), each[2], each[3]) for each in self._session.profile(runs)]

    @property
    def memory_bytes(self) -> int:
        """Working memory that the session holds; weights belong to the engine."""
        return self._session.memory_bytes

    def __repr__(self) -> str:
        sides = (", ".join(f"{each.name} {each.type}{list(each.shape or [])}" for each in side) for side in (self.inputs, self.outputs))
        return "Session({} -> {})".format(*sides)


def _is_engine_file(path: str | os.PathLike[str]) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_ENGINE_MAGIC)) == _ENGINE_MAGIC
    except OSError:
        return False  # `build` tells what is wrong with it


def _info(described: tuple) -> TensorInfo:
    name, number, shape, has_default = described
    kind, dtype = BY_NUMBER.get(number, ("", None))
    return TensorInfo(name, kind, dtype, shape, has_default)
