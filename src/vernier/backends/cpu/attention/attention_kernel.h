// The kernel of attention: blocks of queries against blocks of keys. How they are multiplied is Products':
//
//   kRows, kLeastWork      queries of a block; products of numbers that a thread is worth waking for
//   Scope                  lives while a thread works
//   Space                  what a thread works in, in bytes() bytes
//   pack(…)                takes the keys and values of a head
//   take_queries(…)        takes a block of queries
//   make_scores(…)         scores [rows, keys] = queries * keys^T, rows kScoreStride apart
//   weigh(…), store(…)     as ScoreWeights; the weights of a row replace its scores, or lie elsewhere
//   add_values(…)          sums [rows, value_columns()] = weights * values, or += that
#pragma once

#include "vernier/backends/cpu/attention/attention_places.h"
#include "vernier/backends/cpu/attention/attention_weights.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

// Keys that are worked on at a time: their scores stay in the caches. Rows of scores do not lie a power of
// two apart.
inline constexpr int64_t kKeyBlock = 256, kScoreStride = kKeyBlock + 16;

// Queries [first, first + rows) of a head, which reads the keys of head `shared`.
struct QueryBlock {
  int64_t entry, head, shared, first, rows;
};

// Memory of a thread, taken piece by piece.
class Taken {
 public:
  static constexpr int64_t kAlignment = 64;
  explicit Taken(std::byte* memory) : at_(memory) {}
  template <class T>
  T* take(int64_t count) {
    auto* taken = reinterpret_cast<T*>(at_);
    at_ += size_of<T>(count);
    return taken;
  }
  template <class T>
  static int64_t size_of(int64_t count) {
    return (count * static_cast<int64_t>(sizeof(T)) + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  std::byte* at_;
};

template <class Products>
class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const AttentionPlan& plan, Products products)
      : plan_(plan), rows_(plan), weights_(plan), products_(std::move(products)) {
    blocks_ = (plan.q.rows + Products::kRows - 1) / Products::kRows;
    const int64_t work =
        plan.q.batch * plan.q.heads * plan.q.rows * plan.keys() * (plan.q.size + plan.v.size);
    partitions_ =
        std::clamp<int64_t>(work / Products::kLeastWork, 1, std::min<int64_t>(tasks(), thread_count()));
    partition_bytes_ = (products_.bytes() + Taken::size_of<float>(Products::kRows * kScoreStride) +
                        Taken::size_of<float>(Products::kRows * products_.value_columns()) +
                        Taken::size_of<float>(kKeyBlock) + 4095) /
                       4096 * 4096;
    scratch_bytes = static_cast<size_t>(partition_bytes_ * partitions_);
  }

  void run(const KernelArguments& arguments) const override {
    parallel(partitions_, 1, [&](int64_t first, int64_t last) {
      [[maybe_unused]] const typename Products::Scope scope;
      for (int64_t partition = first; partition < last; ++partition) run_partition(arguments, partition);
    });
  }

 private:
  struct Workspace {
    typename Products::Space products;
    float *scores, *sums, *bias;
    RunningWeights running;
  };

  int64_t tasks() const { return plan_.q.batch * plan_.q.heads * blocks_; }

  // Each thread packs the heads that it attends, so that none waits for another.
  void run_partition(const KernelArguments& arguments, int64_t partition) const {
    Taken memory(arguments.scratch + partition * partition_bytes_);
    Workspace space{products_.space(memory),
                    memory.take<float>(Products::kRows * kScoreStride),
                    memory.take<float>(Products::kRows * products_.value_columns()),
                    memory.take<float>(kKeyBlock),
                    {}};
    const int64_t group = plan_.q.heads / plan_.k.heads;
    int64_t packed = -1;
    for (int64_t task = tasks() * partition / partitions_; task < tasks() * (partition + 1) / partitions_;
         ++task) {
      const int64_t head = task / blocks_ % plan_.q.heads, entry = task / blocks_ / plan_.q.heads,
                    first = task % blocks_ * Products::kRows;
      const QueryBlock block{entry, head, head / group, first,
                             std::min(Products::kRows, plan_.q.rows - first)};
      if (first == 0 && head % group == 0) rows_.keep(arguments, entry, block.shared);
      const int64_t own = entry * plan_.k.heads + block.shared;
      if (own != packed) products_.pack(arguments, entry, block.shared, space.products);
      packed = own;
      attend(arguments, block, space);
    }
  }

  void attend(const KernelArguments& arguments, const QueryBlock& block, Workspace& space) const {
    products_.take_queries(arguments, block, space.products);
    weights_.begin(arguments, block.head, space.running);
    const KeyRange reach = weights_.reach(arguments, block.entry, block.first, block.rows);
    const int64_t first = reach.first / kKeyBlock * kKeyBlock;
    if (first >= reach.last) std::fill_n(space.sums, block.rows * products_.value_columns(), 0.0F);
    for (int64_t key = first; key < reach.last; key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, reach.last - key);
      products_.make_scores(space.products, block.rows, key, keys, space.scores);
      weigh(arguments, block, key, keys, key == first, space);
      products_.add_values(space.products, block.rows, key, keys, space.scores, space.sums, key != first);
    }
    for (int64_t row = 0; row < block.rows; ++row)
      products_.store(arguments, block.entry, block.head, block.first + row,
                      space.sums + row * products_.value_columns(),
                      space.running.sum[static_cast<size_t>(row)]);
  }

  void weigh(const KernelArguments& arguments, const QueryBlock& block, int64_t key, int64_t keys,
             bool is_first, Workspace& space) const {
    std::array<float, kMaxQueryBlock> shrinks;
    products_.weigh(arguments, {{block.entry, block.head, block.first, key}, block.rows, keys, kScoreStride},
                    space.scores, space.bias, space.running, shrinks.data(), space.products);
    for (int64_t row = 0; row < block.rows && !is_first; ++row) {
      float* sums = space.sums + row * products_.value_columns();
      const float shrink = shrinks[static_cast<size_t>(row)];
      if (shrink != 1) affine_row(sums, products_.value_columns(), 0, shrink, 0, sums);
    }
  }

  AttentionPlan plan_;
  HeadRows rows_;
  ScoreWeights weights_;
  Products products_;
  int64_t blocks_ = 0, partitions_ = 1, partition_bytes_ = 0;
};

}  // namespace vernier::cpu
