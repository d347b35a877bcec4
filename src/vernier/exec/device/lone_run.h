// A kernel by itself on a device that has memory of its own.
#pragma once

#include <map>

#include "vernier/exec/device/device.h"
#include "vernier/exec/kernel.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

class LoneRun {
 public:
  // Copies the inputs to the device, which outlives this. Results are to be as large as `outputs`. Undefined
  // tensors are operands that are left out.
  LoneRun(Device& device, std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  ~LoneRun();

  // Fills results and scratch with ones, which are NaN, runs the kernel, and fetches the results. Throws what
  // goes wrong on the device.
  void run(const Kernel& kernel, std::span<Tensor> outputs);
  // Seconds of a run, on average of many that are captured where the device captures. The kernel outlives
  // this. With `flushes`, caches of the device are emptied between runs, and what is not constant is written
  // again: weights come from as far away as in a large model, what the node before has made does not.
  double time(const Kernel& kernel, bool flushes, const std::vector<bool>& is_constant);

 private:
  struct Timing;  // what is enqueued for a time

  void enqueue(const Kernel& kernel);
  void flush(const std::vector<bool>& is_constant);
  double seconds(Timing& timing);
  void wait();

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Buffer>> inputs_, outputs_, copies_;  // null where there is no operand
  std::unique_ptr<Buffer> scratch_, flushed_from_, flushed_to_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  std::map<const Kernel*, std::unique_ptr<Timing>> timings_;  // of null: of flushing alone
};

}  // namespace vernier
