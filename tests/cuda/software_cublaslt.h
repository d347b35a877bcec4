// cuBLASLt in software: what it is asked for is kept, and products are computed, on memory of the process,
// from the descriptors as its manual defines them. The ways that it offers are set beforehand.
#pragma once

#include <map>
#include <vector>

#include "vernier/backends/cuda/libraries/cublaslt_api.h"

namespace vernier::cuda {

struct SoftwareLayout {
  int type = 0;
  int64_t rows = 0, columns = 0, leading = 0, batch = 1, step = 0;
};

struct SoftwareOperation {
  int compute = 0, scale = 0;
  int32_t transpose_left = 0, transpose_right = 0;
  uint32_t epilogue = kLtNoEpilogue;
  const void* bias = nullptr;
};

struct SoftwareCublasLt {
  struct Way {
    uint64_t flags;  // numerical, as the library numbers them
    uint32_t scheme = kLtOneSequence;
    size_t workspace = 0;
    LtStatus state = kLtSuccess;
  };
  std::vector<Way> ways;
  LtStatus create = kLtSuccess, multiply = kLtSuccess;

  // It counts what it was asked for.
  size_t live = 0;  // descriptors
  SoftwareOperation operation;
  SoftwareLayout left, right, result;
  std::map<int, uint64_t> preference;
  std::vector<uint64_t> chosen;  // the numbers of the ways that were run
  bool aligned = true;           // every working memory was, and as large as its way needs
};

inline constexpr uint64_t kHalfUnits = 0x010202, kFloatLoops = 0x080201, kTf32Units = 0x040202,
                          kHalfSums = 0x010102;  // numerical flags

SoftwareCublasLt& software_cublaslt();
// A new one that offers one way, of `flags`, and the table of its functions.
CublasLtApi reset_software_cublaslt(uint64_t flags);

}  // namespace vernier::cuda
