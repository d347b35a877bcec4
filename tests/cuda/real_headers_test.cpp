// Our declarations of functions of NVIDIA's libraries, and theirs, where their headers are (scripts/setup
// --cuda).
#include <gtest/gtest.h>

#include <array>

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#define VERNIER_HAS_CUDA_HEADERS
#endif

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define VERNIER_HAS_CUBLASLT_HEADER
#endif

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#define VERNIER_HAS_CUDNN_HEADER
#endif

#include "vernier/backends/cuda/libraries/cublaslt_api.h"
#include "vernier/backends/cuda/libraries/cudnn_api.h"
#include "vernier/backends/cuda/libraries/nvrtc_api.h"

namespace vernier::cuda {
namespace {

#if defined(VERNIER_HAS_CUDA_HEADERS) || defined(VERNIER_HAS_CUBLASLT_HEADER) || \
    defined(VERNIER_HAS_CUDNN_HEADER)

template <class T>
constexpr size_t size_of() {
  if constexpr (std::is_void_v<T>)
    return 0;
  else
    return sizeof(T);
}

// Sizes of the result and of the arguments: all that matters to a call through a table.
template <class Result, class... Arguments>
constexpr auto sizes_of(Result (*)(Arguments...)) {
  return std::array<size_t, sizeof...(Arguments) + 1>{size_of<Result>(), sizeof(Arguments)...};
}

#endif

#ifdef VERNIER_HAS_CUDA_HEADERS

TEST(RealHeadersTest, FunctionsTakeWhatTheLibrariesTake) {
#define VERNIER_CUDA_COMPARE(name, symbol, ...) \
  EXPECT_EQ(sizes_of(decltype (&::symbol)()), sizes_of(Pointer<__VA_ARGS__>())) << #symbol;
  VERNIER_CUDA_DRIVER_FUNCTIONS(VERNIER_CUDA_COMPARE)
  VERNIER_CUDA_NVRTC_FUNCTIONS(VERNIER_CUDA_COMPARE)
#undef VERNIER_CUDA_COMPARE
}

TEST(RealHeadersTest, NumbersMeanWhatTheyMeanThere) {
  EXPECT_EQ(kSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kOutOfDeviceMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kMajorVersion, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kMinorVersion, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kCacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(kNonBlockingStream, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(kEventWithoutTiming, CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(kPortableMemory, CU_MEMHOSTALLOC_PORTABLE);
  EXPECT_EQ(kMappedMemory, CU_MEMHOSTALLOC_DEVICEMAP);
  EXPECT_EQ(kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  EXPECT_EQ(kDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  EXPECT_EQ(kHostMemory, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(kDeviceMemory, CU_MEMORYTYPE_DEVICE);
}

#else

TEST(RealHeadersTest, FunctionsTakeWhatTheLibrariesTake) {
  GTEST_SKIP() << "SKIPPED: cuda.h and nvrtc.h are not here (scripts/setup --cuda)";
}

#endif

#ifdef VERNIER_HAS_CUBLASLT_HEADER

TEST(RealHeadersTest, CublasLtIsDeclaredAsItIs) {
#define VERNIER_CUDA_COMPARE(name, symbol, ...) \
  EXPECT_EQ(sizes_of(decltype (&::symbol)()), sizes_of(Pointer<__VA_ARGS__>())) << #symbol;
  VERNIER_CUDA_CUBLASLT_FUNCTIONS(VERNIER_CUDA_COMPARE)
#undef VERNIER_CUDA_COMPARE
  EXPECT_EQ(sizeof(LtAlgorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(LtFound), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(LtFound, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(LtFound, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
}

TEST(RealHeadersTest, NumbersOfCublasLtMeanWhatTheyMeanThere) {
  EXPECT_EQ(kLtSuccess, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kLtCompute32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(kLtCompute32FByTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(kLtCompute32I, CUBLAS_COMPUTE_32I);
  EXPECT_EQ(kLtInt8, CUDA_R_8I);
  EXPECT_EQ(kLtInt32, CUDA_R_32I);
  EXPECT_EQ(kLtFloat, CUDA_R_32F);
  EXPECT_EQ(kLtFloat16, CUDA_R_16F);
  EXPECT_EQ(kLtBFloat16, CUDA_R_16BF);
  EXPECT_EQ(kLtPlain, CUBLAS_OP_N);
  EXPECT_EQ(kLtTransposed, CUBLAS_OP_T);
  EXPECT_EQ(kLtNoEpilogue, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(kLtAddBias, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(kLtBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(kLtBatchStep, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(kLtTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(kLtTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(kLtEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(kLtBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(kLtMostWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(kLtReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(kLtAlignments[0], CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(kLtAlignments[3], CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(kLtReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  EXPECT_EQ(kLtAlgorithmId, CUBLASLT_ALGO_CONFIG_ID);
  EXPECT_EQ(kLtTile, CUBLASLT_ALGO_CONFIG_TILE_ID);
  EXPECT_EQ(kLtSplitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  EXPECT_EQ(kLtSwizzle, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  EXPECT_EQ(kLtCustom, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  EXPECT_EQ(kLtStages, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  EXPECT_EQ(kLtInnerShape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  EXPECT_EQ(kLtClusterShape, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  EXPECT_EQ(kLtNumericalFlags, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS);
  EXPECT_EQ(kLtOneSequence, CUBLASLT_REDUCTION_SCHEME_NONE);
  EXPECT_EQ(kLtInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(kLtFma, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA);
  EXPECT_EQ(kLtAccumulators32F << 8, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F);
  EXPECT_EQ(kLtFactorsTf32 << 16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32);
  EXPECT_EQ(kLtFactors32F << 16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F);
}

#else

TEST(RealHeadersTest, CublasLtIsDeclaredAsItIs) {
  GTEST_SKIP() << "SKIPPED: cublasLt.h is not here (pip install nvidia-cublas)";
}

#endif

#ifdef VERNIER_HAS_CUDNN_HEADER

TEST(RealHeadersTest, CudnnIsDeclaredAsItIs) {
#define VERNIER_CUDA_COMPARE(name, symbol, ...) \
  EXPECT_EQ(sizes_of(decltype (&::symbol)()), sizes_of(Pointer<__VA_ARGS__>())) << #symbol;
  VERNIER_CUDA_CUDNN_FUNCTIONS(VERNIER_CUDA_COMPARE)
#undef VERNIER_CUDA_COMPARE
}

TEST(RealHeadersTest, NumbersOfCudnnMeanWhatTheyMeanThere) {
  const std::pair<int, int> numbers[] = {
      {kDnnSuccess, CUDNN_STATUS_SUCCESS},
      {kDnnPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR},
      {kDnnConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR},
      {kDnnEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR},
      {kDnnConfiguration, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
      {kDnnHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR},
      {kDnnPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR},
      {kDnnConvolutionForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR},
      {kDnnPointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR},
      {kDnnGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
      {kDnnVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR},
      {kDnnTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR},
      {kDnnOfHandle, CUDNN_TYPE_HANDLE},
      {kDnnOfDataType, CUDNN_TYPE_DATA_TYPE},
      {kDnnOfBoolean, CUDNN_TYPE_BOOLEAN},
      {kDnnOfInt64, CUDNN_TYPE_INT64},
      {kDnnOfFloat, CUDNN_TYPE_FLOAT},
      {kDnnOfDouble, CUDNN_TYPE_DOUBLE},
      {kDnnOfPointer, CUDNN_TYPE_VOID_PTR},
      {kDnnOfConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE},
      {kDnnOfHeuristicsMode, CUDNN_TYPE_HEUR_MODE},
      {kDnnOfNanPropagation, CUDNN_TYPE_NAN_PROPOGATION},
      {kDnnOfNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE},
      {kDnnOfPointwiseMode, CUDNN_TYPE_POINTWISE_MODE},
      {kDnnOfDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR},
      {kDnnOfBehaviourNote, CUDNN_TYPE_BEHAVIOR_NOTE},
      {kDnnPointwiseMode, CUDNN_ATTR_POINTWISE_MODE},
      {kDnnPointwiseComputes, CUDNN_ATTR_POINTWISE_MATH_PREC},
      {kDnnPointwiseNan, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION},
      {kDnnReluUpper, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP},
      {kDnnConvolutionComputes, CUDNN_ATTR_CONVOLUTION_COMP_TYPE},
      {kDnnConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE},
      {kDnnDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS},
      {kDnnStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES},
      {kDnnPadsEnd, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS},
      {kDnnPadsBegin, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS},
      {kDnnSpatialAxes, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS},
      {kDnnHeuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE},
      {kDnnHeuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH},
      {kDnnHeuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS},
      {kDnnConfigurationEngine, CUDNN_ATTR_ENGINECFG_ENGINE},
      {kDnnPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE},
      {kDnnPlanConfiguration, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG},
      {kDnnPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE},
      {kDnnPlanJson, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION},
      {kDnnOfChar, CUDNN_TYPE_CHAR},
      {kDnnForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA},
      {kDnnForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {kDnnForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
      {kDnnForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
      {kDnnForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X},
      {kDnnForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      {kDnnOperationPointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR},
      {kDnnOperationX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC},
      {kDnnOperationB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC},
      {kDnnOperationY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC},
      {kDnnGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE},
      {kDnnGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS},
      {kDnnTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT},
      {kDnnTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE},
      {kDnnTensorSizes, CUDNN_ATTR_TENSOR_DIMENSIONS},
      {kDnnTensorSteps, CUDNN_ATTR_TENSOR_STRIDES},
      {kDnnTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID},
      {kDnnTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL},
      {kDnnPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS},
      {kDnnPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS},
      {kDnnPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE},
      {kDnnEngineNumber, CUDNN_ATTR_ENGINE_GLOBAL_INDEX},
      {kDnnEngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE},
      {kDnnEngineBehaviourNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE},
      {kDnnFloat, CUDNN_DATA_FLOAT},
      {kDnnFloat16, CUDNN_DATA_HALF},
      {kDnnBFloat16, CUDNN_DATA_BFLOAT16},
      {kDnnCrossCorrelation, CUDNN_CROSS_CORRELATION},
      {kDnnAdd, CUDNN_POINTWISE_ADD},
      {kDnnRelu, CUDNN_POINTWISE_RELU_FWD},
      {kDnnPropagateNan, CUDNN_PROPAGATE_NAN},
      {kDnnFallback, CUDNN_HEUR_MODE_FALLBACK},
      {kDnnModeA, CUDNN_HEUR_MODE_A},
      {kDnnTensorCores, CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
      {kDnnDownConvertsInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
      {kDnnReducedPrecision, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION},
      {kDnnFft, CUDNN_NUMERICAL_NOTE_FFT},
      {kDnnNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
      {kDnnWinograd, CUDNN_NUMERICAL_NOTE_WINOGRAD},
      {kDnnWinograd4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4},
      {kDnnWinograd6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6},
      {kDnnWinograd13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13},
      {kDnnCompilesAtRunTime, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION}};
  for (const auto& [ours, theirs] : numbers) EXPECT_EQ(ours, theirs);
}

#else

TEST(RealHeadersTest, CudnnIsDeclaredAsItIs) {
  GTEST_SKIP() << "SKIPPED: cudnn_graph.h is not here (pip install nvidia-cudnn-jit-cu13)";
}

#endif

}  // namespace
}  // namespace vernier::cuda
