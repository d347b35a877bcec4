// Attention with products of floats, on panels of packed keys and values.
#include "vernier/backends/cpu/attention/attention_loops.h"
#include "vernier/backends/cpu/attention/float_products.h"
#include "vernier/backends/cpu/movement/strided_copy.h"

namespace vernier::cpu {

namespace {

// How a packed matrix is cut into panels, as this processor wants them.
struct PanelSizes {
  int64_t width = panel_width(), vector = vector_width();

  int64_t padded(int64_t columns) const { return (columns + vector - 1) / vector * vector; }

  // Where column `column` of row 0 lies in a packed matrix of `rows` rows, and how wide its panel is.
  struct Place {
    int64_t offset, width;
  };
  Place place_of(int64_t column, int64_t rows, int64_t columns) const {
    const int64_t first = column / width * width;
    const int64_t own = std::min(width, padded(columns) - first);
    return {first * rows + column - first, own};
  }
};

class PanelProducts : public FloatProducts {
 public:
  static constexpr int64_t kRows = 36, kLeastWork = 1 << 18;
  struct Scope {};
  // Keys lie as K^T [size, keys], values as [keys, size], both in panels.
  struct Space {
    float *keys, *values, *queries;
  };

  explicit PanelProducts(const AttentionPlan& plan)
      : FloatProducts(plan), keys_(plan.keys()), key_columns_(sizes_.padded(keys_)) {}

  int64_t value_columns() const { return sizes_.padded(plan_.v.size); }
  int64_t bytes() const {
    return Taken::size_of<float>(key_floats()) + Taken::size_of<float>(value_floats()) +
           Taken::size_of<float>(kRows * plan_.q.size);
  }
  Space space(Taken& memory) const {
    return {memory.take<float>(key_floats()), memory.take<float>(value_floats()),
            memory.take<float>(kRows * plan_.q.size)};
  }

  void pack(const KernelArguments& arguments, int64_t entry, int64_t head, Space& space) const {
    const auto last = sizes_.place_of(std::max<int64_t>(0, keys_ - 1), plan_.q.size, keys_);
    std::fill_n(space.keys + (key_columns_ - last.width) * plan_.q.size, last.width * plan_.q.size, 0.0F);
    int64_t key = 0;
    for (const HeadsPlace* part : {&plan_.past_k, &plan_.k}) {
      for (int64_t row = 0; row < part->rows;) {
        const int64_t count = pack_keys(arguments, *part, entry, head, row, key, space.keys);
        row += count;
        key += count;
      }
    }
    alignas(64) std::array<float, kMaxHeadSize> buffer;
    key = 0;
    for (const HeadsPlace* part : {&plan_.past_v, &plan_.v}) {
      for (int64_t row = 0; row < part->rows; ++row, ++key)
        pack_value(rows_.load(arguments, *part, entry, head, row, buffer.data()), key, space.values);
    }
  }

  void make_scores(Space& space, int64_t rows, int64_t key, int64_t keys, float* scores) const {
    for (int64_t column = key; column < key + keys;) {
      const auto place = sizes_.place_of(column, plan_.q.size, keys_);
      multiply_panel(space.queries, plan_.q.size, rows, plan_.q.size, space.keys + place.offset, place.width,
                     scores + column - key, kScoreStride, false);
      column += place.width;
    }
  }

  void add_values(Space& space, int64_t rows, int64_t key, int64_t keys, const float* scores, float* sums,
                  bool adds) const {
    for (int64_t column = 0; column < plan_.v.size;) {
      const auto place = sizes_.place_of(column, keys_, plan_.v.size);
      multiply_panel(scores, kScoreStride, rows, keys, space.values + place.offset + key * place.width,
                     place.width, sums + column, value_columns(), adds);
      column += place.width;
    }
  }

 private:
  int64_t key_floats() const { return plan_.q.size * key_columns_; }
  int64_t value_floats() const { return keys_ * value_columns(); }

  // Some rows from `row` on, the keys from `key` on; gives how many.
  int64_t pack_keys(const KernelArguments& arguments, const HeadsPlace& part, int64_t entry, int64_t head,
                    int64_t row, int64_t key, float* to) const {
    // So few that what is read stays in the first cache, however far apart the rows lie.
    constexpr int64_t kMost = 16;
    alignas(64) std::array<float, kMost * kMaxHeadSize> buffer;
    const auto place = sizes_.place_of(key, part.size, keys_);
    const int64_t count = std::min({kMost, part.rows - row, place.width - key % sizes_.width});
    const float* rows = rows_.load(arguments, part, entry, head, row, buffer.data());
    const bool lie_here = rows != buffer.data();
    for (int64_t i = 1; i < count && !lie_here; ++i)
      rows_.load(arguments, part, entry, head, row + i, buffer.data() + i * part.size);
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    transpose_tiles(sizeof(float), reinterpret_cast<const std::byte*>(rows),
                    (lie_here ? part.row_stride : part.size) * kFloat,
                    reinterpret_cast<std::byte*>(to + place.offset), place.width * kFloat, count, part.size);
    return count;
  }

  void pack_value(const float* x, int64_t key, float* to) const {
    for (int64_t column = 0; column < plan_.v.size;) {
      const auto place = sizes_.place_of(column, keys_, plan_.v.size);
      float* row = to + place.offset + key * place.width;
      const int64_t count = std::min(place.width, plan_.v.size - column);
      std::copy_n(x + column, count, row);
      std::fill(row + count, row + place.width, 0.0F);
      column += place.width;
    }
  }

  PanelSizes sizes_;
  int64_t keys_, key_columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_panel_attention(const AttentionPlan& plan) {
  return make_float_attention<PanelProducts>(plan);
}

}  // namespace vernier::cpu
