// Our declarations of functions of NVIDIA's libraries, and theirs, where their headers are (scripts/setup
// --cuda).
#include <gtest/gtest.h>

#include <array>

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#define VERNIER_HAS_CUDA_HEADERS
#endif

#include "vernier/backends/cuda/libraries/nvrtc_api.h"

namespace vernier::cuda {
namespace {

#ifdef VERNIER_HAS_CUDA_HEADERS

// Sizes of the result and of the arguments: all that matters to a call through a table.
template <class Result, class... Arguments>
constexpr auto sizes_of(Result (*)(Arguments...)) {
  return std::array<size_t, sizeof...(Arguments) + 1>{sizeof(Result), sizeof(Arguments)...};
}

TEST(RealHeadersTest, FunctionsTakeWhatTheLibrariesTake) {
#define VERNIER_CUDA_COMPARE(name, symbol, ...) \
  EXPECT_EQ(sizes_of(&::symbol), sizes_of(Pointer<__VA_ARGS__>())) << #symbol;
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

}  // namespace
}  // namespace vernier::cuda
