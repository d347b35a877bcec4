"""IExecutionContext: runs an engine on memory at addresses."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Usage, VernierError
from ..session import Session
from . import memory
from ._strict import Ignored, Only, Reporting
from .logger import ILogger, Severity
from .types import Dims

if TYPE_CHECKING:
    from .runtime import ICudaEngine

NO_DEVICE_MEMORY = "sessions get their working memory themselves"
_FUNCTIONS = {"min": min, "max": max, "floordiv": operator.floordiv}
_WORDS = re.compile(r"\s*(?:(\d+)|`([^`]*)`|([A-Za-z_][\w.?:]*)|([-+*(),]))")


def evaluated(size: int | str, values: Mapping[str, int]) -> int:
    """A size, or an expression of symbols as src/vernier/tensor/dim_parse.cpp reads it; -1 where a symbol has no value."""
    if isinstance(size, int):
        return size
    if size in values:  # a symbol by itself may have any letters
        return values[size]
    words, at = [], 0
    while at < len(size):
        match = _WORDS.match(size, at)
        if match is None:
            return -1
        number, quoted, word, sign = match.groups()
        symbol = word if quoted is None else quoted
        if symbol is not None and (quoted is not None or symbol not in _FUNCTIONS):
            if symbol not in values:
                return -1
            number = str(values[symbol])
        words.append(number or sign or word)
        at = match.end()
    # Words stand apart, so that no operator arises but those of the grammar; what is left are numbers and three functions.
    return eval(" ".join(words), {"__builtins__": {}}, _FUNCTIONS)  # noqa: S307


class IProfiler:
    """Scripts derive profilers from this."""

    def __init__(self) -> None:
        pass

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        """Called for each step of a run."""
        raise NotImplementedError(f"{type(self).__name__} has no method report_layer_time(layer_name, ms)")


class Profiler(IProfiler):
    """Prints the times."""

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        """A line each."""
        print(f"{layer_name}: {ms:.6g} ms")


class IOutputAllocator:
    """Scripts derive from this to get memory for outputs when their sizes are known."""

    def __init__(self) -> None:
        pass

    def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> int:
        """The address of so many bytes."""
        raise NotImplementedError(f"{type(self).__name__} has no method reallocate_output(tensor_name, memory, size, alignment)")

    def notify_shape(self, tensor_name: str, shape: Dims) -> None:
        """Gives what the run has made."""


class IExecutionContext(Reporting):
    """A session. Runs have ended when the calls return, also those that are called asynchronous."""

    _refused = {
        "set_shape_input": "values of inputs are read where they lie",
        "execute_async": "engines with an implicit batch are gone: use execute_async_v2",
        "execute": "engines with an implicit batch are gone: use execute_v2",
    }
    profiler: IProfiler | None = None
    name = ""
    debug_sync = Ignored(False, "runs have ended when they return")
    enqueue_emits_profile = Ignored(True, "a run with a profiler reports to it at once")
    persistent_cache_limit, nvtx_verbosity = Ignored(0, "the CPU has no such choice"), Ignored(0, "it is for profilers of NVIDIA")
    error_recorder = Ignored(None, "errors go to the logger")
    device_memory, temporary_allocator = Ignored(0, NO_DEVICE_MEMORY), Only(None, NO_DEVICE_MEMORY)

    def __init__(self, engine: ICudaEngine, logger: ILogger | None) -> None:
        super().__init__(logger)
        self._engine, self._profile = engine, 0
        self._open()
        self._shapes = {name: engine.get_tensor_shape(name) for name in engine._inputs}
        self._addresses: dict[str, int] = {}
        self._allocators: dict[str, IOutputAllocator] = {}

    def _open(self) -> None:
        """A session with nothing bound."""
        self._path, self._session = self._engine._path, Session(str(self._engine._path))
        self._bound: dict[str, tuple[int, tuple[int, ...], memory.Allocation | None]] = {}

    @property
    def engine(self) -> ICudaEngine:
        """The one that it runs."""
        return self._engine

    @property
    def active_optimization_profile(self) -> int:
        """Whose sizes inputs may have."""
        return self._profile

    @active_optimization_profile.setter
    def active_optimization_profile(self, profile: int) -> None:
        if not 0 <= profile < self._engine.num_optimization_profiles:
            raise Usage(f"there is no profile {profile}")
        self._profile = profile

    def set_optimization_profile_async(self, profile_index: int, stream_handle: int) -> bool:
        """As the attribute."""
        del stream_handle
        self.active_optimization_profile = profile_index
        return True

    def set_input_shape(self, name: str, shape: Sequence[int]) -> bool:
        """False, with an error in the log, where the profile does not hold the sizes."""
        if name not in self._shapes:
            raise Usage(f"'{name}' is no input (there are {', '.join(self._shapes)})")
        wanted = Dims(shape)
        least, _, most = self._engine.get_tensor_profile_shape(name, self._profile)
        fits = len(wanted) == len(least) and all(size >= max(low, 0) and (high < 0 or size <= high) for low, size, high in zip(least, wanted, most))
        if not fits:
            self._log(Severity.ERROR, f"set_input_shape('{name}', {wanted}): profile {self._profile} holds sizes from {least} to {most}")
            return False
        self._shapes[name] = wanted
        return True

    def set_binding_shape(self, binding: int, shape: Sequence[int]) -> bool:
        """As set_input_shape."""
        return self.set_input_shape(self._engine._binding(binding), shape)

    def get_tensor_shape(self, name: str) -> Dims:
        """Sizes of an output follow from those of inputs; -1 where only a run tells."""
        if name in self._shapes:
            return self._shapes[name]
        values = {symbol: size for known, shape in self._shapes.items() for symbol, size in zip(self._engine._info(known).shape or (), shape)
                  if isinstance(symbol, str) and size >= 0}  # fmt: skip
        return Dims(evaluated(size, values) for size in self._engine._info(name).shape or ())

    def get_binding_shape(self, binding: int) -> Dims:
        """As get_tensor_shape."""
        return self.get_tensor_shape(self._engine._binding(binding))

    def get_tensor_strides(self, name: str) -> Dims:
        """In elements; tensors are dense."""
        shape = self.get_tensor_shape(name)
        return Dims(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))

    def infer_shapes(self) -> list[str]:
        """Inputs whose sizes are missing."""
        return [name for name, shape in self._shapes.items() if -1 in shape]

    @property
    def all_binding_shapes_specified(self) -> bool:
        """True if no size of an input is missing."""
        return not self.infer_shapes()

    all_shape_inputs_specified = True

    def set_tensor_address(self, name: str, memory: int) -> bool:  # noqa: F811 (TensorRT calls it so)
        """Where an input lies, or an output is written to."""
        self._engine._info(name)
        self._addresses[name] = _address(memory)
        return True

    def set_device_memory(self, memory: int, size: int) -> None:
        """Changes nothing."""
        del memory, size
        self._note("set_device_memory", NO_DEVICE_MEMORY)

    def set_input_consumed_event(self, event: int) -> bool:
        """Inputs are consumed when a run returns."""
        del event
        return True

    def get_tensor_address(self, name: str) -> int:
        """0 where none was set."""
        return self._addresses.get(name, 0)

    def set_output_allocator(self, name: str, output_allocator: IOutputAllocator) -> bool:
        """Asks for memory of an output when its sizes are known."""
        self._engine._info(name)
        self._allocators[name] = output_allocator
        return True

    def get_output_allocator(self, name: str) -> IOutputAllocator | None:
        """The one that was set."""
        return self._allocators.get(name)

    def execute_v2(self, bindings: Sequence[Any]) -> bool:
        """An address for each binding; where there are several profiles, those of the active one count."""
        names = self._engine._names
        if len(bindings) not in (len(names), self._engine.num_bindings):
            raise Usage(f"execute_v2 got {len(bindings)} bindings, and the engine has {self._engine.num_bindings}")
        first = len(names) * self._profile if len(bindings) > len(names) else 0
        return self._run({name: _address(each) for name, each in zip(names, bindings[first : first + len(names)])}, {})

    def execute_async_v2(self, bindings: Sequence[Any], stream_handle: int, input_consumed: Any = None) -> bool:
        """As execute_v2."""
        del stream_handle, input_consumed
        return self.execute_v2(bindings)

    def execute_async_v3(self, stream_handle: int) -> bool:
        """On the addresses that were set."""
        del stream_handle
        return self._run(self._addresses, self._allocators)

    def _run(self, addresses: Mapping[str, int], allocators: Mapping[str, IOutputAllocator]) -> bool:
        """False, with an error in the log, where the engine refuses. Wrong addresses raise Usage: they would end a CUDA context."""
        missing = [name for name in self._engine._names if name not in addresses and name not in allocators]
        if missing or not self.all_binding_shapes_specified:
            what = "an address" if missing else "its sizes"
            self._log(Severity.ERROR, f"not executed: {', '.join(missing or self.infer_shapes())} lacks {what}")
            return False
        if self._path != self._engine._path:  # it was refitted
            self._open()
        copied = []
        for name in self._engine._names:
            shape = tuple(self.get_tensor_shape(name))
            if name in allocators or -1 in shape:
                copied.append(name)
                self._unbind(name)
            else:
                self._bind(name, addresses[name], shape)
        try:
            made = self._session()
            for name in copied:
                self._hand_over(name, made[name], addresses.get(name, 0), allocators.get(name))
            if self.profiler is not None:
                for step in self._session.profile(1):
                    self.profiler.report_layer_time(" + ".join(step.nodes) or step.kernel, step.milliseconds)
        except Usage:
            raise
        except VernierError as error:
            self._log(Severity.ERROR, f"not executed: {error}")
            return False
        return True

    def _bind(self, name: str, address: int, shape: tuple[int, ...]) -> None:
        at, known, allocation = self._bound.get(name, (0, (), None))
        if (at, known) == (address, shape) and (allocation is None or allocation.alive):
            return
        self._unbind(name)
        dtype, writes = np.dtype(self._engine._info(name).dtype), name not in self._shapes
        size = int(np.prod(shape)) * dtype.itemsize
        allocation = memory.require(address, size, writes, f"'{name}' {Dims(shape)}")
        self._session.bind(name, memory.array_at(address, shape, dtype))
        self._bound[name] = (address, shape, allocation)

    def _unbind(self, name: str) -> None:
        if self._bound.pop(name, None) is not None:
            self._session.unbind(name)

    def _hand_over(self, name: str, array: np.ndarray, address: int, allocator: IOutputAllocator | None) -> None:
        """An output whose sizes a run has told."""
        if allocator is not None:
            address = _address(allocator.reallocate_output(name, address, array.nbytes, 64))
            allocator.notify_shape(name, Dims(array.shape))
        memory.require(address, array.nbytes, True, f"'{name}' {Dims(array.shape)}")
        memory.array_at(address, array.shape, array.dtype)[...] = array


_address = memory.as_address
