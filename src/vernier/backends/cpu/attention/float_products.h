// This file has what all attention with products of floats does, wherever its keys and values lie (see
// attention_kernel.h).
#pragma once

#include "vernier/backends/cpu/attention/attention_kernel.h"

namespace vernier::cpu {

// A Space has `queries`, room for a block of them.
class FloatProducts {
 public:
  template <class Space>
  void take_queries(const KernelArguments& arguments, const QueryBlock& block, Space& space) const {
    for (int64_t row = 0; row < block.rows; ++row) {
      float* to = space.queries + row * plan_.q.size;
      const float* x = rows_.load(arguments, plan_.q, block.entry, block.head, block.first + row, to);
      if (x != to) std::copy_n(x, plan_.q.size, to);
    }
  }

  template <class Space>
  void weigh(const KernelArguments& arguments, const ScoreRows& rows, float* scores, float* buffer,
             RunningWeights& running, float* shrinks, const Space& /*space*/) const {
    weights_.weigh(arguments, rows, scores, buffer, running, shrinks);
  }
  void store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query, float* sums,
             float weight) const {
    weights_.store(arguments, entry, head, query, sums, weight);
  }

 protected:
  explicit FloatProducts(const AttentionPlan& plan) : plan_(plan), rows_(plan), weights_(plan) {}

  AttentionPlan plan_;
  HeadRows rows_;
  ScoreWeights weights_;
};

template <class Products>
std::unique_ptr<Kernel> make_float_attention(const AttentionPlan& plan) {
  auto kernel = std::make_unique<AttentionKernel<Products>>(plan, Products(plan));
  kernel->name = "cpu:attention";
  kernel->contract = float_contract(plan.element);
  kernel->contract.approximate = true;
  return kernel;
}

}  // namespace vernier::cpu
