// Plans in which an approximate kernel can be exchanged for an exact one between runs: so it is measured what
// each does to the outputs.
#pragma once

#include "vernier/tune/tuner.h"

namespace vernier {

// A node that has two kernels.
struct Exchange {
  std::string value;        // its first output, by which PlanChoices name the node
  std::string exact;        // the tactic that would stand in
  double saved = 0;         // seconds of a run, as timed
  bool approximate = true;  // which of the two runs
};

class ExchangeableKernels : public KernelSource {
 public:
  // All outlive this. `exact` chooses among the tactics that are not approximate.
  ExchangeableKernels(const KernelSource& kernels, Tuner& exact, std::set<std::string> approximate)
      : kernels_(kernels), exact_(exact), approximate_(std::move(approximate)) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  std::vector<std::string> tactics(const KernelRequest& request) const override {
    return kernels_.tactics(request);
  }
  std::optional<Tensor> unpack(const std::string& form, std::span<const std::byte> packed,
                               ElementType element, const Dims& dims) const override {
    return kernels_.unpack(form, packed, element, dims);
  }
  void choose_layouts(KernelRequest& request) const override { kernels_.choose_layouts(request); }
  void fill_caches() const override { kernels_.fill_caches(); }
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override {
    return kernels_.reorder(from, to);
  }

  // Of all kernels made so far, in their order.
  const std::vector<std::shared_ptr<Exchange>>& exchanges() const { return exchanges_; }

 private:
  const KernelSource& kernels_;
  Tuner& exact_;
  std::set<std::string> approximate_;
  mutable std::vector<std::shared_ptr<Exchange>> exchanges_;
};

}  // namespace vernier
