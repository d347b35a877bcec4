"""The part of TensorRT's Python interface that scripts of its versions 8 to 10 use, on Vernier: `import vernier_engine.trt as trt`.

Engines run on the CPU, so addresses are those of the host: `import vernier_engine.trt.cuda as cuda` replaces pycuda.driver, and
`from vernier_engine.trt import cudart` that of cuda-python. docs/python.md says what has an effect, what has none, and what is refused.
"""

from __future__ import annotations

from typing import Any

from . import cuda, cudart
from ._strict import NotOffered
from .builder import Builder
from .calibration import IInt8Calibrator, IInt8EntropyCalibrator, IInt8EntropyCalibrator2, IInt8LegacyCalibrator, IInt8MinMaxCalibrator
from .config import IBuilderConfig, ITimingCache
from .context import NO_DEVICE_MEMORY, IExecutionContext, IOutputAllocator, IProfiler, Profiler
from .enums import (
    BuilderFlag, CalibrationAlgoType, DeviceType, EngineCapability, ErrorCode, ExecutionContextAllocationStrategy,
    HardwareCompatibilityLevel, LayerInformationFormat, LayerType, MemoryPoolType, NetworkDefinitionCreationFlag, OnnxParserFlag,
    PreviewFeature, ProfilingVerbosity, QuantizationFlag, TacticSource, TensorFormat, TensorIOMode, TensorLocation,
)  # fmt: skip
from .layers import ILayer, ITensor
from .logger import ILogger, Logger
from .network import INetworkDefinition
from .parser import OnnxParser, ParserError
from .plugins import (
    IPluginCreator, IPluginCreatorV3One, IPluginRegistry, IPluginV2, IPluginV2DynamicExt, IPluginV2Ext, IPluginV2IOExt, IPluginV3,
    IPluginV3OneBuild, IPluginV3OneCore, IPluginV3OneRuntime, PluginField, PluginFieldCollection, get_plugin_registry,
    init_libnvinfer_plugins,
)  # fmt: skip
from .profile import IOptimizationProfile
from .refit import OnnxParserRefitter, Refitter
from .runtime import EngineInspector, ICudaEngine, IHostMemory, Runtime
from .types import (
    DataType, Dims, Dims2, Dims3, Dims4, DimsHW, bfloat16, bool, float16, float32, fp4, fp8, int4, int8, int32, int64, nptype, uint8,
    volume,
)  # fmt: skip

# The version whose interface this is: that of TensorRT 10, which 8 and 9 lack parts of. What 10 removed is here as well.
__version__ = "10.0.1"

_NOT_OFFERED = {
    "UffParser": "TensorRT has it no more: export to ONNX",
    "CaffeParser": "TensorRT has it no more: export to ONNX",
    "IAlgorithmSelector": "tactics are chosen by config.vernier_options = {'tactics': '-winograd'}",
    "IProgressMonitor": "give config.vernier_options = {'progress': function}",
    "IGpuAllocator": NO_DEVICE_MEMORY,
    "IGpuAsyncAllocator": NO_DEVICE_MEMORY,
    "IErrorRecorder": "errors go to the logger",
    "IDebugListener": "inner values are shown by vernier_engine.compare(..., layers=True)",
    "Weights": "networks come from ONNX models",
    "Permutation": "networks come from ONNX models",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotOffered(f"vernier_engine.trt.{name}: {_NOT_OFFERED.get(name, 'this emulation of TensorRT has no such name')}")


__all__ = [
    "Builder", "BuilderFlag", "CalibrationAlgoType", "DataType", "DeviceType", "Dims", "Dims2", "Dims3", "Dims4", "DimsHW",
    "EngineCapability", "EngineInspector", "ErrorCode", "ExecutionContextAllocationStrategy", "HardwareCompatibilityLevel",
    "IBuilderConfig", "ICudaEngine", "IExecutionContext", "IHostMemory", "IInt8Calibrator", "IInt8EntropyCalibrator",
    "IInt8EntropyCalibrator2", "IInt8LegacyCalibrator", "IInt8MinMaxCalibrator", "ILayer", "ILogger", "INetworkDefinition",
    "IOptimizationProfile", "IOutputAllocator", "IPluginCreator", "IPluginCreatorV3One", "IPluginRegistry", "IPluginV2",
    "IPluginV2DynamicExt", "IPluginV2Ext", "IPluginV2IOExt", "IPluginV3", "IPluginV3OneBuild", "IPluginV3OneCore",
    "IPluginV3OneRuntime", "IProfiler", "ITensor", "ITimingCache", "LayerInformationFormat", "LayerType", "Logger", "MemoryPoolType",
    "NetworkDefinitionCreationFlag", "NotOffered", "OnnxParser", "OnnxParserFlag", "OnnxParserRefitter", "ParserError", "PluginField",
    "PluginFieldCollection", "PreviewFeature", "ProfilingVerbosity", "Profiler", "QuantizationFlag", "Refitter", "Runtime", "TacticSource",
    "TensorFormat", "TensorIOMode", "TensorLocation", "bfloat16", "bool", "cuda", "cudart", "float16", "float32", "fp4", "fp8",
    "get_plugin_registry", "init_libnvinfer_plugins", "int4", "int8", "int32", "int64", "nptype", "uint8", "volume",
]  # fmt: skip
