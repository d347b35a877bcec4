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

#include "vernier/backends/cuda/libraries/cublaslt_api.h"
#include "vernier/backends/cuda/libraries/nvrtc_api.h"

namespace vernier::cuda {
namespace {

#if defined(VERNIER_HAS_CUDA_HEADERS) || defined(VERNIER_HAS_CUBLASLT_HEADER)

// Sizes of the result and of the arguments: all that matters to a call through a table.
template <class Result, class... Arguments>
constexpr auto sizes_of(Result (*)(Arguments...)) {
  return std::array<size_t, sizeof...(Arguments) + 1>{sizeof(Result), sizeof(Arguments)...};
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
  EXPECT_EQ(kNonBlockingStream, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(kEventWithoutTiming, CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(kPortableMemory, CU_MEMHOSTALLOC_PORTABLE);
  EXPECT_EQ(kMappedMemory, CU_MEMHOSTALLOC_DEVICEMAP);
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
  EXPECT_EQ(kLtNumericalFlags, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS);
  EXPECT_EQ(kLtOneSequence, CUBLASLT_REDUCTION_SCHEME_NONE);
  EXPECT_EQ(kLtInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(kLtFma, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA);
  EXPECT_EQ(kLtAccumulators32F << 8, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F);
  EXPECT_EQ(kLtFactors32F << 16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F);
}

#else

TEST(RealHeadersTest, CublasLtIsDeclaredAsItIs) {
  GTEST_SKIP() << "SKIPPED: cublasLt.h is not here (pip install nvidia-cublas)";
}

#endif

}  // namespace
}  // namespace vernier::cuda
