// Attention of few queries, as a decoder has one for each token: products of floats with keys and values
// where they lie. What it takes is reading them once.
#include "vernier/backends/cpu/attention/attention_loops.h"
#include "vernier/backends/cpu/attention/float_products.h"

namespace vernier::cpu {

namespace {

class DirectProducts : public FloatProducts {
 public:
  static constexpr int64_t kRows = kFewQueries, kLeastWork = 1 << 16;
  struct Scope {};
  struct Space {
    float *queries, *loaded;
    const KernelArguments* arguments = nullptr;  // whose keys and values these are
    int64_t entry = 0, head = 0;
  };

  explicit DirectProducts(const AttentionPlan& plan) : FloatProducts(plan) {}

  int64_t value_columns() const { return (plan_.v.size + kVector - 1) / kVector * kVector; }
  int64_t bytes() const {
    return Taken::size_of<float>(kRows * plan_.q.size) + Taken::size_of<float>(loaded_floats());
  }
  Space space(Taken& memory) const {
    return {memory.take<float>(kRows * plan_.q.size), memory.take<float>(loaded_floats())};
  }

  void pack(const KernelArguments& arguments, int64_t entry, int64_t head, Space& space) const {
    space.arguments = &arguments;
    space.entry = entry;
    space.head = head;
  }

  void make_scores(Space& space, int64_t rows, int64_t key, int64_t keys, float* scores) const {
    for_each_run(space, {&plan_.past_k, &plan_.k}, key, keys, [&](int64_t at, const Run& run) {
      for (int64_t row = 0; row < rows; ++row)
        multiply_rows_in_place(space.queries + row * plan_.q.size, plan_.q.size, run.first, run.stride,
                               run.count, scores + row * kScoreStride + at);
    });
  }

  void add_values(Space& space, int64_t rows, int64_t key, int64_t keys, const float* scores, float* sums,
                  bool adds) const {
    for_each_run(space, {&plan_.past_v, &plan_.v}, key, keys, [&](int64_t at, const Run& run) {
      for (int64_t row = 0; row < rows; ++row)
        weigh_rows_in_place(scores + row * kScoreStride + at, run.count, run.first, run.stride, plan_.v.size,
                            sums + row * value_columns(), adds || at > 0);
    });
  }

 private:
  static constexpr int64_t kVector = 16;  // floats, the most of any processor
  static constexpr int64_t kLoaded = 16;  // rows that are made floats at a time
  // Rows one behind the other, `stride` floats apart.
  struct Run {
    const float* first;
    int64_t stride, count;
  };

  int64_t loaded_floats() const { return kLoaded * std::max(plan_.k.size, plan_.v.size); }

  // Rows [first, first + count) of two parts, one behind the other: visit(rows before them, run).
  template <class Visit>
  void for_each_run(const Space& space, const std::array<const HeadsPlace*, 2>& parts, int64_t first,
                    int64_t count, const Visit& visit) const {
    for (int64_t done = 0; done < count;) {
      const int64_t row = first + done;
      const HeadsPlace& part = row < parts[0]->rows ? *parts[0] : *parts[1];
      const int64_t own = &part == parts[0] ? row : row - parts[0]->rows;
      const Run run = run_of(space, part, own, std::min(count - done, part.rows - own));
      visit(done, run);
      done += run.count;
    }
  }

  // From `row` on: `count` of them where they lie, or some of them as floats.
  Run run_of(const Space& space, const HeadsPlace& part, int64_t row, int64_t count) const {
    const float* first = rows_.load(*space.arguments, part, space.entry, space.head, row, space.loaded);
    if (first != space.loaded) return {first, part.row_stride, count};
    const int64_t few = std::min(count, kLoaded);
    for (int64_t i = 1; i < few; ++i)
      rows_.load(*space.arguments, part, space.entry, space.head, row + i, space.loaded + i * part.size);
    return {first, part.size, few};
  }
};

}  // namespace

std::unique_ptr<Kernel> make_direct_attention(const AttentionPlan& plan) {
  return make_float_attention<DirectProducts>(plan);
}

}  // namespace vernier::cpu
