// A request with data: what its kernels are judged on, and timed with.
#pragma once

#include <functional>

#include "vernier/exec/kernel_source.h"
#include "vernier/exec/scratch.h"

namespace vernier {

// What a model of one node, or of the nodes of a group, yields by the reference.
using ReferenceOf = std::function<std::vector<Tensor>(const Model& model, const std::vector<Tensor>& inputs)>;

class Trial {
 public:
  // Draws what is not constant: floats, bytes and bools, of which three in four are true, at random; of other
  // types zeros, which are valid indices. Throws what the reference throws; without it there is no error().
  Trial(const KernelRequest& request, const KernelSource& kernels, const ReferenceOf& reference = nullptr);

  // Whether the reference can judge: operands are floats, bytes, flags that are read, and constants of any
  // type.
  static bool can_draw(const KernelRequest& request);

  // Runs the kernel and gives the distance of its outputs from the reference: the largest relative L2,
  // infinity for a NaN or Inf of the kernel alone.
  double error(const Kernel& kernel);
  // What the kernel writes, as it lies in memory; undefined for outputs that are left out.
  std::vector<Tensor> outputs(const Kernel& kernel);
  // Seconds of one run, between which `others` is read if weights are large, as the rest of a model is: they
  // come from as far away as there. What is not constant is in the caches, as the node before would leave it.
  double time(const Kernel& kernel, std::span<const std::byte> others = {});

 private:
  void run(const Kernel& kernel);
  void run_afresh(const Kernel& kernel);

  const KernelRequest& request_;
  const KernelSource& kernels_;
  std::vector<Tensor> inputs_, laid_out_, outputs_, expected_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  Scratch scratch_;
  size_t constant_bytes_ = 0;
};

// Bytes that drive all else from the caches of the cores.
size_t second_caches();
// Bytes of weights that may stay in the last cache from one run of a model to the next.
size_t third_cache();

// How far a kernel's results may lie from the reference, as relative L2: from its contract.
double error_bound(const NumericsContract& contract);

}  // namespace vernier
