// A caller may ask these of a run.
#pragma once

#include <atomic>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct Observer;

// Memory of the caller for one output, of exactly this type and these sizes, that overlaps no input.
struct OutputMemory {
  ElementType element = ElementType::kUndefined;  // undefined: none is given, the run makes it
  Dims dims;
  void* data = nullptr;

  bool given() const { return element != ElementType::kUndefined; }
};

// An output that lies in the memory of an input, as a decoder's present keys do in that of its past ones:
// both are […, rows, size] in memory of […, capacity, size] (Layout::kCache). Where the model puts new rows
// behind the past (Concat, attention with a past), only those are written.
struct CacheBinding {
  size_t input, output;  // in the order of the graph
  int64_t capacity;      // in rows
  int device = 0;        // whose memory it is, of Plan::devices; 0: the host's

  bool operator==(const CacheBinding&) const = default;
};

struct RunOptions {
  const Observer* observer = nullptr;
  std::span<const OutputMemory> memory = {};  // empty, or one for each output
  // Their inputs are given in the memory of the cache, as tensors of their rows, which the host reads only
  // where it is its own; their outputs are tensors that hold nothing (Tensor::is_defined).
  std::span<const CacheBinding> caches = {};
  std::span<int64_t> cached_rows = {};  // if not empty: where to tell how many rows the output of each has
  const std::atomic<bool>* stop =
      nullptr;                 // set from any thread: the run ends before its next step, or replay
  bool shares_inputs = false;  // outputs may be inputs, in the same memory
};

// Thrown by a run that was told to stop.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the run was stopped"; }
};

inline void stop_if_told(const std::atomic<bool>* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Stopped();
}

}  // namespace vernier
