// cuDNN in software: descriptors are kept as they are set, by the rules of its manual, and convolutions are
// computed from them, on memory of the process. The engines that it offers are set beforehand.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "vernier/backends/cuda/cudnn/cudnn.h"

namespace vernier::cuda {

struct SoftwareCudnn {
  struct Way {
    std::vector<int> numerical = {}, behaviour = {};  // notes
    size_t workspace = 0;
    bool plans = true;            // whether a plan can be made of it
    bool rounds_between = false;  // sums lie rounded in working memory, before anything is added
  };
  std::vector<Way> ways, fallback;
  DnnStatus create = kDnnSuccess, execute = kDnnSuccess;
  bool refuses_texts = false;  // of plans that were written

  // It counts what it was asked for.
  size_t live = 0, handles = 0;  // descriptors, handles
  std::vector<int> modes;        // of heuristics
  std::vector<int> operations;   // of the graph that was last planned: kDnnConvolutionForward, or how the
                                 // pointwise ones compute
  std::vector<size_t> planned;   // the numbers of the ways that plans were made of
  std::set<int64_t> alignments;  // of tensors
  size_t runs = 0;
  std::map<DnnHandle, StreamHandle> streams;  // of handles
  bool switched = false;  // whether a handle went from one stream to another, which may be gone by then
  bool aligned = true;    // every working memory was, and was there where a plan needs it
};

SoftwareCudnn& software_cudnn();
// A new one that offers these ways, and the table of its functions.
CudnnApi reset_software_cudnn(std::vector<SoftwareCudnn::Way> ways);

// The library, opened, on a GPU in software.
struct OpenedCudnn {
  explicit OpenedCudnn(const DriverApi& driver, std::vector<SoftwareCudnn::Way> ways = {{{kDnnTensorCores}}})
      : context(driver, 0),
        library({"libcudnn.so.9", "/lib", "9.19.0", ""}, reset_software_cudnn(std::move(ways))) {}

  Context context;
  CudnnLibrary library;
  Cudnn cudnn{context, library};
};

}  // namespace vernier::cuda
