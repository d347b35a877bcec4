// Attention with products of floats, on panels of packed keys and values.
#include "vernier/backends/cpu/kernels/attention_kernel.h"
#include "vernier/backends/cpu/kernels/attention_loops.h"

namespace vernier::cpu {

namespace {

int64_t padded(int64_t columns) {
  const int64_t vector = vector_width();
  return (columns + vector - 1) / vector * vector;
}

// Where column `column` of row 0 lies in a packed matrix of `rows` rows, and how wide its panel is.
struct PanelPlace {
  int64_t offset, width;
};
PanelPlace place_of(int64_t column, int64_t rows, int64_t columns) {
  const int64_t width = panel_width(), first = column / width * width;
  const int64_t own = std::min(width, padded(columns) - first);
  return {first * rows + column - first, own};
}

class PanelProducts {
 public:
  static constexpr int64_t kRows = 36, kLeastWork = 1 << 18;
  struct Scope {};
  // Keys lie as K^T [size, keys], values as [keys, size], both in panels.
  struct Space {
    float *keys, *values, *queries;
  };

  explicit PanelProducts(const AttentionPlan& plan)
      : plan_(plan), rows_(plan), weights_(plan), keys_(plan.keys()), key_columns_(padded(keys_)) {}

  int64_t value_columns() const { return padded(plan_.v.size); }
  int64_t bytes() const {
    return Taken::size_of<float>(key_floats()) + Taken::size_of<float>(value_floats()) +
           Taken::size_of<float>(kRows * plan_.q.size);
  }
  Space space(Taken& memory) const {
    return {memory.take<float>(key_floats()), memory.take<float>(value_floats()),
            memory.take<float>(kRows * plan_.q.size)};
  }

  void pack(const KernelArguments& arguments, int64_t entry, int64_t head, Space& space) const {
    alignas(64) std::array<float, kMaxHeadSize> buffer;
    const auto last = place_of(std::max<int64_t>(0, keys_ - 1), plan_.q.size, keys_);
    std::fill_n(space.keys + (key_columns_ - last.width) * plan_.q.size, last.width * plan_.q.size, 0.0F);
    int64_t key = 0;
    for (const HeadsPlace* part : {&plan_.past_k, &plan_.k}) {
      for (int64_t row = 0; row < part->rows; ++row, ++key) {
        const float* x = rows_.load(arguments, *part, entry, head, row, buffer.data());
        const auto place = place_of(key, part->size, keys_);
        for (int64_t i = 0; i < part->size; ++i) space.keys[place.offset + i * place.width] = x[i];
      }
    }
    key = 0;
    for (const HeadsPlace* part : {&plan_.past_v, &plan_.v}) {
      for (int64_t row = 0; row < part->rows; ++row, ++key)
        pack_value(rows_.load(arguments, *part, entry, head, row, buffer.data()), key, space.values);
    }
  }

  void take_queries(const KernelArguments& arguments, const QueryBlock& block, Space& space) const {
    for (int64_t row = 0; row < block.rows; ++row) {
      float* to = space.queries + row * plan_.q.size;
      const float* x = rows_.load(arguments, plan_.q, block.entry, block.head, block.first + row, to);
      if (x != to) std::copy_n(x, plan_.q.size, to);
    }
  }

  void make_scores(Space& space, int64_t rows, int64_t key, int64_t keys, float* scores) const {
    for (int64_t column = key; column < key + keys;) {
      const auto place = place_of(column, plan_.q.size, keys_);
      multiply_panel(space.queries, plan_.q.size, rows, plan_.q.size, space.keys + place.offset, place.width,
                     scores + column - key, kScoreStride, false);
      column += place.width;
    }
  }

  void weigh(const KernelArguments& arguments, const ScoreRows& rows, float* scores, float* buffer,
             RunningWeights& running, float* shrinks, const Space&) const {
    weights_.weigh(arguments, rows, scores, buffer, running, shrinks);
  }
  void store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query, float* sums,
             float weight) const {
    weights_.store(arguments, entry, head, query, sums, weight);
  }

  void add_values(Space& space, int64_t rows, int64_t key, int64_t keys, const float* scores, float* sums,
                  bool adds) const {
    for (int64_t column = 0; column < plan_.v.size;) {
      const auto place = place_of(column, keys_, plan_.v.size);
      multiply_panel(scores, kScoreStride, rows, keys, space.values + place.offset + key * place.width,
                     place.width, sums + column, value_columns(), adds);
      column += place.width;
    }
  }

 private:
  int64_t key_floats() const { return plan_.q.size * key_columns_; }
  int64_t value_floats() const { return keys_ * value_columns(); }

  void pack_value(const float* x, int64_t key, float* to) const {
    for (int64_t column = 0; column < plan_.v.size;) {
      const auto place = place_of(column, keys_, plan_.v.size);
      float* row = to + place.offset + key * place.width;
      const int64_t count = std::min(place.width, plan_.v.size - column);
      std::copy_n(x + column, count, row);
      std::fill(row + count, row + place.width, 0.0F);
      column += place.width;
    }
  }

  AttentionPlan plan_;
  HeadRows rows_;
  ScoreWeights weights_;
  int64_t keys_, key_columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_panel_attention(const AttentionPlan& plan) {
  auto kernel = std::make_unique<AttentionKernel<PanelProducts>>(plan, PanelProducts(plan));
  kernel->name = "cpu:attention";
  kernel->contract = float_contract(plan.element);
  kernel->contract.approximate = true;
  return kernel;
}

}  // namespace vernier::cpu
