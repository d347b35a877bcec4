"""Engines: the bytes that a build gives, and what they are once they are loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import _core, verbs
from ..engine import Engine
from ..errors import Unsupported, Usage, VernierError
from ..session import _ENGINE_MAGIC, TensorInfo, _info
from ._strict import Ignored, Only, Reporting, Strict
from .context import NO_DEVICE_MEMORY, IExecutionContext
from .enums import EngineCapability, ExecutionContextAllocationStrategy, LayerInformationFormat, TensorFormat, TensorIOMode, TensorLocation
from .logger import ILogger, Severity
from .types import DataType, Dims, data_type



class IHostMemory(bytes):
    """An engine file, or a cache, as bytes. `vernier` is the Engine of vernier_engine that it was read from, with its verdict."""

    vernier: Engine | None = None
    dtype = DataType.INT8

    @property
    def nbytes(self) -> int:
        """How many there are."""
        return len(self)

    def __enter__(self) -> IHostMemory:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Runtime(Reporting):
    """Loads engines."""

    _refused = {"load_runtime": "there is no lean runtime"}
    DLA_core, num_DLA_cores = Only(-1, "there is no DLA"), 0
    gpu_allocator = Only(None, NO_DEVICE_MEMORY)
    error_recorder, max_threads = Ignored(None, "errors go to the logger"), Ignored(1, "loading takes one thread")
    engine_host_code_allowed = Ignored(False, "engine files hold no code")
    temporary_directory = Ignored("", "engines are written to the folder of TMPDIR")
    tempfile_control_flags = Ignored(0, "engines are written to the folder of TMPDIR")

    def __init__(self, logger: ILogger) -> None:
        super().__init__(logger)

    @property
    def logger(self) -> ILogger | None:
        """The one that it was made with."""
        return self._logger

    def deserialize_cuda_engine(self, serialized_engine: Any) -> ICudaEngine | None:
        """None, with an error in the log, for what is no engine of Vernier."""
        content = bytes(serialized_engine)
        if not content.startswith(_ENGINE_MAGIC):
            self._log(Severity.ERROR, "this is no engine file of Vernier; plans of TensorRT run only there: build one from the ONNX model")
            return None
        folder = TemporaryDirectory(prefix="vernier-engine-")
        path = Path(folder.name) / "model.engine"
        path.write_bytes(content)
        try:
            return ICudaEngine(path, self._logger, getattr(serialized_engine, "vernier", None), folder)
        except VernierError as error:
            self._log(Severity.ERROR, str(error))
            return None


class ICudaEngine(Reporting):
    """An engine. What is numbered are inputs and then outputs; the calls of old name each of them once for each profile."""

    _refused = {
        "get_weight_streaming*": "memory of the CPU needs no such choice",
        "weight_streaming*": "memory of the CPU needs no such choice",
        "is_debug_tensor": "inner values are shown by vernier_engine.compare(..., layers=True)",
    }
    error_recorder = Ignored(None, "errors go to the logger")
    has_implicit_batch_dimension, refittable, max_batch_size = False, True, 1
    engine_capability, num_aux_streams, hardware_compatibility_level = EngineCapability.STANDARD, 0, 0
    tactic_sources, profiling_verbosity = 0, 2
    device_memory_size = device_memory_size_v2 = 0  # sessions hold theirs

    def __init__(self, path: Path, logger: ILogger | None, vernier: Engine | None, keeps: Any) -> None:
        super().__init__(logger)
        self._load(path, vernier, keeps)

    def _load(self, path: Path, vernier: Engine | None, keeps: Any) -> None:
        """A file without weights is loaded as one without tensors, until it is refitted."""
        self._path, self.vernier, self._keeps = path, vernier, keeps
        self._described: dict[str, Any] = {}
        self._inputs: dict[str, TensorInfo] = {}
        self._tensors: dict[str, TensorInfo] = {}
        try:
            loaded = _core.Engine.load(os.fspath(path))
            self._inputs = {each[0]: _info(each) for each in loaded.inputs}
            self._tensors = self._inputs | {each[0]: _info(each) for each in loaded.outputs}
        except Unsupported as error:
            if not self._file().get("stripped"):
                raise
            self._log(Severity.WARNING, f"{error}; a Refitter does that, too")
        self._names = list(self._tensors)

    vernier: Engine | None = None

    def _file(self) -> dict[str, Any]:
        """Gives what `vernier inspect` finds in the file."""
        self._described = self._described or verbs.inspect(self._path).json
        return self._described

    def _info(self, name: str) -> TensorInfo:
        if name not in self._tensors:
            raise Usage(f"there is no tensor '{name}' (there are {', '.join(self._names)})")
        return self._tensors[name]

    @property
    def name(self) -> str:
        """Gives the name of the model's file."""
        return self._file()["model"]["name"]

    @property
    def num_layers(self) -> int:
        """Steps of the plan for the first sizes."""
        plans = self._file()["plans"]
        return len(plans[0]["steps"]) if plans else 0

    def serialize(self) -> IHostMemory:
        """The engine file."""
        made = IHostMemory(self._path.read_bytes())
        made.vernier = self.vernier
        return made

    def create_execution_context(self, strategy: Any = ExecutionContextAllocationStrategy.STATIC) -> IExecutionContext:
        """A session of its own: contexts of one engine run at the same time."""
        if strategy != ExecutionContextAllocationStrategy.STATIC:
            self._note(str(strategy), NO_DEVICE_MEMORY)
        return IExecutionContext(self, self._logger)

    def create_execution_context_without_device_memory(self) -> IExecutionContext:
        """As create_execution_context: there is no memory of a device to be given."""
        return self.create_execution_context()

    def create_engine_inspector(self) -> EngineInspector:
        """Tells what the engine is made of."""
        return EngineInspector(self)

    @property
    def num_io_tensors(self) -> int:
        """Inputs and outputs."""
        return len(self._names)

    def get_tensor_name(self, index: int) -> str:
        """Inputs come first."""
        return self._names[index]

    def get_tensor_mode(self, name: str) -> Any:
        """NONE for what is neither input nor output."""
        return TensorIOMode.NONE if name not in self._tensors else TensorIOMode.INPUT if name in self._inputs else TensorIOMode.OUTPUT

    def get_tensor_shape(self, name: str) -> Dims:
        """-1 for sizes that are known only when running."""
        return Dims(size if isinstance(size, int) else -1 for size in self._info(name).shape or ())

    def get_tensor_dtype(self, name: str) -> DataType:
        """As the model declares it."""
        return data_type(self._info(name).type)

    def get_tensor_location(self, name: str) -> Any:
        """TensorRT calls it the device."""
        self._info(name)
        return TensorLocation.DEVICE

    def get_tensor_format(self, name: str, profile_index: int = 0) -> Any:
        """Dense, row by row."""
        del profile_index
        self._info(name)
        return TensorFormat.LINEAR

    @property
    def num_optimization_profiles(self) -> int:
        """At least one, as in TensorRT."""
        return max(1, len(self._file()["profiles"]))

    def get_tensor_profile_shape(self, name: str, profile_index: int) -> list[Dims]:
        """[min, opt, max] of an input."""
        if name not in self._inputs:
            raise Usage(f"'{name}' is no input")
        profiles = self._file()["profiles"]
        if not 0 <= profile_index < self.num_optimization_profiles:
            raise Usage(f"there is no profile {profile_index}")
        sizes = profiles[profile_index].get(name) if profiles else None
        shape = self.get_tensor_shape(name)
        return [Dims(each) for each in zip(*sizes)] if sizes else [shape, shape, shape]

    # Bindings, which TensorRT 10 no longer has.

    def _binding(self, binding: int | str) -> str:
        """The name of a tensor, by what names a binding."""
        if isinstance(binding, str):
            return binding.split(" [profile ")[0]
        if not 0 <= binding < self.num_bindings:
            raise Usage(f"there is no binding {binding} (there are {self.num_bindings})")
        return self._names[binding % len(self._names)]

    @property
    def num_bindings(self) -> int:
        """All tensors for each profile."""
        return len(self._names) * self.num_optimization_profiles

    def get_binding_name(self, index: int) -> str:
        """Names the tensors, those of profiles behind the first with their number."""
        profile = index // len(self._names)
        return self._binding(index) + (f" [profile {profile}]" if profile else "")

    def get_binding_index(self, name: str) -> int:
        """-1 where there is none."""
        names = [self.get_binding_name(index) for index in range(self.num_bindings)]
        return names.index(name) if name in names else -1

    def get_binding_shape(self, binding: int | str) -> Dims:
        """As get_tensor_shape."""
        return self.get_tensor_shape(self._binding(binding))

    def get_binding_dtype(self, binding: int | str) -> DataType:
        """As get_tensor_dtype."""
        return self.get_tensor_dtype(self._binding(binding))

    def binding_is_input(self, binding: int | str) -> bool:
        """True for an input."""
        return self._binding(binding) in self._inputs

    def get_profile_shape(self, profile_index: int, binding: int | str) -> list[Dims]:
        """As get_tensor_profile_shape."""
        return self.get_tensor_profile_shape(self._binding(binding), profile_index)

    def __len__(self) -> int:
        return self.num_bindings

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return (self.get_binding_name(index) for index in range(self.num_bindings))

    def __getitem__(self, binding: int | str) -> Any:
        return self.get_binding_name(binding) if isinstance(binding, int) else self.get_binding_index(binding)


class EngineInspector(Strict):
    """Holds what `vernier inspect` finds in the engine file."""

    execution_context: Any = None

    def __init__(self, engine: ICudaEngine) -> None:
        self._engine = engine

    def get_engine_information(self, format: Any) -> str:  # noqa: A002 (TensorRT calls it so)
        """As JSON, or a line for each step of the plan for the first sizes."""
        if format == LayerInformationFormat.JSON:
            return json.dumps(self._engine._file())
        return "\n".join(self.get_layer_information(index, format) for index in range(self._engine.num_layers))

    def get_layer_information(self, layer_index: int, format: Any) -> str:  # noqa: A002
        """Describes a step of that plan."""
        step = self._engine._file()["plans"][0]["steps"][layer_index]
        return json.dumps(step) if format == LayerInformationFormat.JSON else f"{step['kernel']}: {', '.join(step['nodes'])}"
