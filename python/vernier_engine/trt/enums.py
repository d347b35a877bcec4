"""The enumerations of TensorRT, with its numbers: scripts shift by them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Numbered(IntEnum):
    """Prints its name, as the enumerations of TensorRT do."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


def _numbered(name: str, members: str, **more: int) -> Any:
    pairs = [(member, number) for number, member in enumerate(members.split())] + list(more.items())
    made = Numbered(name, pairs)  # type: ignore[arg-type]
    made.__module__ = __name__
    return made


NetworkDefinitionCreationFlag = _numbered("NetworkDefinitionCreationFlag", "EXPLICIT_BATCH STRONGLY_TYPED")
# STRICT_TYPES is of TensorRT 8 alone, and another flag has its number since.
BuilderFlag = _numbered(
    "BuilderFlag",
    "FP16 INT8 DEBUG GPU_FALLBACK REFIT DISABLE_TIMING_CACHE TF32 SPARSE_WEIGHTS SAFETY_SCOPE OBEY_PRECISION_CONSTRAINTS "
    "PREFER_PRECISION_CONSTRAINTS DIRECT_IO REJECT_EMPTY_ALGORITHMS VERSION_COMPATIBLE EXCLUDE_LEAN_RUNTIME FP8 "
    "ERROR_ON_TIMING_CACHE_MISS BF16 DISABLE_COMPILATION_CACHE STRIP_PLAN REFIT_IDENTICAL WEIGHT_STREAMING INT4 REFIT_INDIVIDUAL "
    "STRICT_NANS MONITOR_MEMORY FP4 EDITABLE_TIMING_CACHE",
    STRICT_TYPES=40,
    ENABLE_TACTIC_HEURISTIC=41,
)
MemoryPoolType = _numbered(
    "MemoryPoolType", "WORKSPACE DLA_MANAGED_SRAM DLA_LOCAL_DRAM DLA_GLOBAL_DRAM TACTIC_DRAM TACTIC_SHARED_MEMORY"
)
TacticSource = _numbered("TacticSource", "CUBLAS CUBLAS_LT CUDNN EDGE_MASK_CONVOLUTIONS JIT_CONVOLUTIONS")
ProfilingVerbosity = _numbered("ProfilingVerbosity", "LAYER_NAMES_ONLY NONE DETAILED", DEFAULT=0, VERBOSE=2)
DeviceType = _numbered("DeviceType", "GPU DLA")
EngineCapability = _numbered("EngineCapability", "STANDARD SAFETY DLA_STANDALONE", DEFAULT=0, SAFE_GPU=1, SAFE_DLA=2)
HardwareCompatibilityLevel = _numbered("HardwareCompatibilityLevel", "NONE AMPERE_PLUS SAME_COMPUTE_CAPABILITY")
PreviewFeature = _numbered("PreviewFeature", "PROFILE_SHARING_0806 ALIASED_PLUGIN_IO_10_03", FASTER_DYNAMIC_SHAPES_0805=10,
                           DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805=11)  # fmt: skip
QuantizationFlag = _numbered("QuantizationFlag", "CALIBRATE_BEFORE_FUSION")
CalibrationAlgoType = _numbered("CalibrationAlgoType", "LEGACY_CALIBRATION ENTROPY_CALIBRATION ENTROPY_CALIBRATION_2 MINMAX_CALIBRATION")
ErrorCode = _numbered(
    "ErrorCode",
    "SUCCESS INTERNAL_ERROR MEM_ALLOC_FAILED MODEL_DESERIALIZE_FAILED INVALID_VALUE INVALID_GRAPH INVALID_NODE UNSUPPORTED_GRAPH "
    "UNSUPPORTED_NODE UNSUPPORTED_NODE_ATTR UNSUPPORTED_NODE_INPUT UNSUPPORTED_NODE_DATATYPE UNSUPPORTED_NODE_DYNAMIC "
    "UNSUPPORTED_NODE_SHAPE REFIT_FAILED",
)
OnnxParserFlag = _numbered("OnnxParserFlag", "NATIVE_INSTANCENORM ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA")
TensorIOMode = _numbered("TensorIOMode", "NONE INPUT OUTPUT")
TensorLocation = _numbered("TensorLocation", "DEVICE HOST")
TensorFormat = _numbered("TensorFormat", "LINEAR CHW2 HWC8 CHW4 CHW16 CHW32 DHWC8 CDHW32 HWC DLA_LINEAR DLA_HWC4 HWC16 DHWC")
LayerInformationFormat = _numbered("LayerInformationFormat", "ONELINE JSON")
ExecutionContextAllocationStrategy = _numbered("ExecutionContextAllocationStrategy", "STATIC ON_PROFILE_CHANGE USER_MANAGED")
LayerType = _numbered(
    "LayerType",
    "CONVOLUTION CAST ACTIVATION POOLING LRN SCALE SOFTMAX DECONVOLUTION CONCATENATION ELEMENTWISE PLUGIN UNARY PADDING SHUFFLE "
    "REDUCE TOPK GATHER MATRIX_MULTIPLY RAGGED_SOFTMAX CONSTANT IDENTITY PLUGIN_V2 SLICE SHAPE PARAMETRIC_RELU RESIZE TRIP_LIMIT "
    "RECURRENCE ITERATOR LOOP_OUTPUT SELECT FILL QUANTIZE DEQUANTIZE CONDITION CONDITIONAL_INPUT CONDITIONAL_OUTPUT SCATTER EINSUM "
    "ASSERTION ONE_HOT NON_ZERO GRID_SAMPLE NMS REVERSE_SEQUENCE NORMALIZATION PLUGIN_V3 SQUEEZE UNSQUEEZE CUMULATIVE "
    "DYNAMIC_QUANTIZE FULLY_CONNECTED",
)

_LAYERS_OF = {
    LayerType.CONVOLUTION: "Conv ConvInteger QLinearConv", LayerType.DECONVOLUTION: "ConvTranspose", LayerType.CAST: "Cast CastLike",
    LayerType.ACTIVATION: "Celu Clip Elu Gelu HardSigmoid HardSwish LeakyRelu Mish Relu Selu Sigmoid Softplus Softsign Swish Tanh "
    "ThresholdedRelu",
    LayerType.POOLING: "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool", LayerType.LRN: "LRN",
    LayerType.SCALE: "BatchNormalization", LayerType.SOFTMAX: "LogSoftmax Softmax", LayerType.CONCATENATION: "Concat",
    LayerType.ELEMENTWISE: "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Xor",
    LayerType.UNARY: "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor IsInf IsNaN Log Neg Not Reciprocal Round "
    "Sign Sin Sinh Sqrt Tan",
    LayerType.SHUFFLE: "DepthToSpace Flatten Reshape SpaceToDepth Transpose", LayerType.SQUEEZE: "Squeeze",
    LayerType.UNSQUEEZE: "Unsqueeze", LayerType.TOPK: "ArgMax ArgMin TopK",
    LayerType.REDUCE: "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
    LayerType.GATHER: "Gather GatherElements GatherND", LayerType.MATRIX_MULTIPLY: "Gemm MatMul MatMulInteger QLinearMatMul",
    LayerType.CONSTANT: "Constant", LayerType.IDENTITY: "Dropout Identity", LayerType.SLICE: "CenterCropPad Expand Pad Slice Split Tile",
    LayerType.SHAPE: "Shape Size", LayerType.PARAMETRIC_RELU: "PRelu", LayerType.RESIZE: "Resize Upsample",
    LayerType.RECURRENCE: "GRU LSTM Loop RNN Scan", LayerType.SELECT: "Where", LayerType.CONDITION: "If",
    LayerType.FILL: "ConstantOfShape EyeLike RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range",
    LayerType.QUANTIZE: "QuantizeLinear", LayerType.DEQUANTIZE: "DequantizeLinear", LayerType.DYNAMIC_QUANTIZE: "DynamicQuantizeLinear",
    LayerType.SCATTER: "Scatter ScatterElements ScatterND", LayerType.EINSUM: "Einsum", LayerType.ONE_HOT: "OneHot",
    LayerType.NON_ZERO: "NonZero", LayerType.GRID_SAMPLE: "GridSample", LayerType.NMS: "NonMaxSuppression",
    LayerType.REVERSE_SEQUENCE: "ReverseSequence", LayerType.CUMULATIVE: "CumSum",
    LayerType.NORMALIZATION: "GroupNormalization InstanceNormalization LayerNormalization RMSNormalization",
}  # fmt: skip
_LAYER_TYPES = {operator: kind for kind, operators in _LAYERS_OF.items() for operator in operators.split()}


def layer_type(operator: str) -> Any:
    """Gives what TensorRT's parser makes of an operator of ONNX: a plugin, where it does not know it."""
    return _LAYER_TYPES.get(operator, LayerType.PLUGIN_V2)
