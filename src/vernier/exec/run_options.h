// A caller may ask these of a run.
#pragma once

#include <atomic>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct Observer;
class Stream;

// Kernels of devices read and write so many bytes at once.
inline constexpr size_t kDeviceAlignment = 16;

// Memory of the caller for one output, of exactly this type and these sizes, that overlaps no input.
struct OutputMemory {
  ElementType element = ElementType::kUndefined;  // undefined: none is given, the run makes it
  Dims dims;
  void* data = nullptr;

  bool given() const { return element != ElementType::kUndefined; }
};

// Memory of the caller that a plan is made for. Either an input or an output lies on a device; on the host
// they need no binding. Or an output lies in the memory of an input, a cache, as a decoder's present keys do
// in that of its past ones: both are […, rows, size] in memory of […, capacity, size] (Layout::kCache). Where
// the model puts new rows behind the past (Concat, attention with a past), only those are written.
struct MemoryBinding {
  static constexpr size_t kNone = SIZE_MAX;
  size_t input = kNone, output = kNone;  // in the order of the graph
  int64_t capacity = 0;                  // of a cache, in rows
  int device = 0;                        // whose memory it is, of Plan::devices; 0: the host's

  bool is_cache() const { return input != kNone && output != kNone; }
  bool operator==(const MemoryBinding&) const = default;
};

struct RunOptions {
  const Observer* observer = nullptr;
  std::span<const OutputMemory> memory = {};  // empty, or one for each output
  // Inputs of these are given as tensors in the memory that is bound (of caches: of their rows), which the
  // host reads only where it is its own. Outputs on a device have `memory` there, which kernels and copies of
  // the device reach, aligned as kDeviceAlignment says. Outputs in caches are tensors that hold nothing
  // (Tensor::is_defined).
  std::span<const MemoryBinding> bindings = {};
  // If not empty: where to tell how many rows the output of each binding has; nothing is told of those that
  // are no caches.
  std::span<int64_t> cached_rows = {};
  // A queue of the caller's on this device of Plan::devices: the run begins after what is enqueued there, and
  // what is enqueued there later begins after the run. Where all of the plan is on that device, memory of the
  // caller included, the run only enqueues: SessionMemory::settle waits for it. The queue stays until then.
  Stream* stream = nullptr;
  int stream_device = 0;
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
