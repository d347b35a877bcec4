// A convolution as a graph of operations of cuDNN, and the plans by which its engines compute it.
#pragma once

#include "vernier/backends/cuda/cudnn/cudnn.h"

namespace vernier::cuda {

// An engine with its knobs set, as the library offers it.
struct DnnEngine {
  DnnDescriptor configuration;
  int64_t number = 0;
  std::vector<int> numerical, behaviour;  // notes
};

// All throw DnnRefusal.
class DnnGraph {
 public:
  // `api` outlives this, and whatever it makes.
  DnnGraph(const CudnnApi& api, DnnHandle handle, const DnnConvolution& asked);

  // By what the library expects to be fast: `mode` is kDnnModeA, or kDnnFallback.
  std::vector<DnnEngine> engines(int mode) const;
  DnnPlan plan(const DnnEngine& engine) const;

 private:
  DnnPointer keep(DnnDescriptor descriptor);
  DnnPointer tensor(DnnId id, const DnnTensor& tensor);
  void convolve(DnnPointer to);
  // Adds `operand` to what is `from`, or cuts it off where there is none.
  void follow(DnnPointer from, DnnPointer operand, DnnPointer to);

  const CudnnApi& api_;
  DnnHandle handle_;
  const DnnConvolution& asked_;
  std::vector<DnnDescriptor> kept_;
  std::vector<DnnPointer> operations_;
  int64_t between_ = 0;
  DnnPointer graph_ = nullptr;
};

// Whether the engine computes strictly: factors as they lie, or floats rounded to TF32 where that is asked
// for, products summed directly and in float, the same bits every time; and runs what is there, without
// compiling first.
bool keeps_to_contract(const DnnEngine& engine, const DnnConvolution& asked);

}  // namespace vernier::cuda
