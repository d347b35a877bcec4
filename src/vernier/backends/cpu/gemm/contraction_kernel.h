// The base of kernels that contract an input with packed weights: input, weights and epilogue.
#pragma once

#include "vernier/backends/cpu/epilogue/block_epilogue.h"
#include "vernier/exec/packed_constants.h"

namespace vernier::cpu {

class ContractionKernel : public Kernel {
 public:
  // `input` of the request is multiplied.
  ContractionKernel(int input, std::shared_ptr<const PackedForm> weights,
                    std::unique_ptr<const BlockEpilogue> epilogue)
      : input_(input), weights_(std::move(weights)), epilogue_(std::move(epilogue)) {
    if (epilogue_->in_place() != input_) in_place = epilogue_->in_place();  // other rows are read again
  }

  void prepare() const override { weights_->content(); }
  bool is_prepared() const override { return weights_->is_made(); }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == input_ || epilogue_->reads(index);
  }

 protected:
  // Asks for scratch for so many threads at once, each with pages of its own.
  void partition_scratch(size_t bytes, int64_t partitions) {
    constexpr size_t kPage = 4096;
    partition_bytes_ = (bytes + kPage - 1) / kPage * kPage;
    scratch_bytes = partition_bytes_ * static_cast<size_t>(partitions);
  }
  std::byte* scratch_of(const KernelArguments& arguments, int64_t partition) const {
    return arguments.scratch + partition_bytes_ * static_cast<size_t>(partition);
  }

  int input_;
  std::shared_ptr<const PackedForm> weights_;
  std::unique_ptr<const BlockEpilogue> epilogue_;

 private:
  size_t partition_bytes_ = 0;
};

}  // namespace vernier::cpu
