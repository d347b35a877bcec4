#include "vernier/backends/cpu/kernels/attention.h"

#include "vernier/backends/cpu/kernels/attention_bias.h"
#include "vernier/backends/cpu/kernels/attention_loops.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/support/strides.h"

namespace vernier::cpu {

HeadsPlace HeadsPlace::separate(int input, const Dims& dims) {
  return {input,  0, dims[0], dims[1], dims[2], dims[3], dims[1] * dims[2] * dims[3], dims[2] * dims[3],
          dims[3]};
}

HeadsPlace HeadsPlace::packed(int input, const Dims& dims, int64_t heads) {
  const int64_t size = dims[2] / heads;
  return {input, 0, dims[0], heads, dims[1], size, dims[1] * dims[2], size, dims[2]};
}

namespace {

// Queries and keys that are worked on at a time: their scores stay in the caches.
constexpr int64_t kQueryBlock = 36, kKeyBlock = 256;

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

// What a task works in.
struct Workspace {
  alignas(64) std::array<float, kQueryBlock * kMaxHeadSize> queries;
  alignas(64) std::array<float, kQueryBlock * kMaxHeadSize> sums;  // of weighted values
  alignas(64) std::array<float, kQueryBlock * kKeyBlock> scores;
  alignas(64) std::array<float, kKeyBlock> bias;
  std::array<float, kQueryBlock> top, weight;  // running maximum, and sum of weights
};

class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const AttentionPlan& plan)
      : plan_(plan),
        bias_(plan),
        keys_(plan.keys()),
        key_columns_(padded(keys_)),
        value_columns_(padded(plan.v.size)) {
    name = "cpu:attention";
    contract = float_contract(plan.element);
    contract.approximate = true;
    const int64_t heads = plan.k.batch * plan.k.heads;
    scratch_bytes = sizeof(float) * static_cast<size_t>(heads * (key_floats() + value_floats()));
  }

  void run(const KernelArguments& arguments) const override {
    auto* packed = reinterpret_cast<float*>(arguments.scratch);
    const int64_t shared = plan_.k.batch * plan_.k.heads, stride = key_floats() + value_floats();
    const int64_t pack_grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, stride));
    parallel(shared, pack_grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pack_head(arguments, i / plan_.k.heads, i % plan_.k.heads, packed + i * stride);
    });
    const int64_t blocks = (plan_.q.rows + kQueryBlock - 1) / kQueryBlock;
    const int64_t work = kQueryBlock * keys_ * (plan_.q.size + plan_.v.size);
    parallel(plan_.q.batch * plan_.q.heads * blocks,
             std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
               Workspace space;
               for (int64_t task = begin; task < end; ++task) {
                 const int64_t head = task / blocks % plan_.q.heads, entry = task / blocks / plan_.q.heads;
                 const int64_t own = entry * plan_.k.heads + head / (plan_.q.heads / plan_.k.heads);
                 attend(arguments, entry, head, task % blocks * kQueryBlock, packed + own * stride, space);
               }
             });
  }

 private:
  // Keys lie as K^T [size, keys], values as [keys, size], both in panels.
  int64_t key_floats() const { return plan_.q.size * key_columns_; }
  int64_t value_floats() const { return keys_ * value_columns_; }

  void pack_head(const KernelArguments& arguments, int64_t entry, int64_t head, float* to) const {
    alignas(64) std::array<float, kMaxHeadSize> buffer;
    const auto last = place_of(std::max<int64_t>(0, keys_ - 1), plan_.q.size, keys_);
    std::fill_n(to + (key_columns_ - last.width) * plan_.q.size, last.width * plan_.q.size, 0.0F);
    int64_t key = 0;
    for (const HeadsPlace* part : {&plan_.past_k, &plan_.k}) {
      for (int64_t row = 0; row < part->rows; ++row, ++key) {
        const float* x = load_row(arguments, *part, entry, head, row, buffer.data());
        const auto place = place_of(key, part->size, keys_);
        for (int64_t i = 0; i < part->size; ++i) to[place.offset + i * place.width] = x[i];
        keep(arguments, plan_.present_k, entry, head, key, part->size, x);
      }
    }
    to += key_floats();
    key = 0;
    for (const HeadsPlace* part : {&plan_.past_v, &plan_.v}) {
      for (int64_t row = 0; row < part->rows; ++row, ++key) {
        const float* x = load_row(arguments, *part, entry, head, row, buffer.data());
        pack_value(x, key, to);
        keep(arguments, plan_.present_v, entry, head, key, part->size, x);
      }
    }
  }

  // Where it lies, or in `buffer`.
  const float* load_row(const KernelArguments& arguments, const HeadsPlace& place, int64_t entry,
                        int64_t head, int64_t row, float* buffer) const {
    const int64_t at = place.at(entry, head) + row * place.row_stride;
    const float* x = load_floats(plan_.element, arguments.inputs[place.input], at, place.size, buffer);
    if (place.bias < 0) return x;
    alignas(64) std::array<float, kMaxHeadSize> wide;
    const float* bias = load_floats(plan_.element, arguments.inputs[place.bias],
                                    place.bias_offset + head * place.size, place.size, wide.data());
    add_rows(x, bias, place.size, buffer);
    return buffer;
  }

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

  // A row of the present keys or values, [batch, heads, keys, size].
  void keep(const KernelArguments& arguments, int output, int64_t entry, int64_t head, int64_t key,
            int64_t size, const float* x) const {
    if (output < 0) return;
    const int64_t at = ((entry * plan_.k.heads + head) * keys_ + key) * size;
    if (plan_.element == ElementType::kFloat)
      std::copy_n(x, size, static_cast<float*>(arguments.outputs[output]) + at);
    else
      store_floats(plan_.element, x, size, arguments.outputs[output], at);
  }

  void attend(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t first_row,
              const float* packed, Workspace& space) const {
    const int64_t rows = std::min(kQueryBlock, plan_.q.rows - first_row), size = plan_.q.size;
    for (int64_t row = 0; row < rows; ++row) {
      float* to = space.queries.data() + row * size;
      affine_row(load_row(arguments, plan_.q, entry, head, first_row + row, to), size, 0, plan_.scale, 0, to);
    }
    std::fill_n(space.sums.begin(), rows * value_columns_, 0.0F);
    const float* sinks = plan_.sinks < 0 ? nullptr : static_cast<const float*>(arguments.inputs[plan_.sinks]);
    space.top.fill(sinks == nullptr ? -std::numeric_limits<float>::infinity() : sinks[head]);
    space.weight.fill(sinks == nullptr ? 0 : 1);
    int64_t last = 0, first = keys_;
    for (int64_t row = 0; row < rows; ++row) {
      const KeyRange reach = bias_.reach(arguments, entry, first_row + row);
      last = std::max(last, reach.last);
      first = std::min(first, reach.first);
    }
    for (int64_t key = first / kKeyBlock * kKeyBlock; key < last; key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, last - key);
      make_scores(packed, rows, key, keys, space);
      for (int64_t row = 0; row < rows; ++row)
        weigh(arguments, entry, head, first_row + row, key, keys, space, row);
      add_values(packed + key_floats(), rows, key, keys, space);
    }
    store(arguments, entry, head, first_row, rows, space);
  }

  void make_scores(const float* packed, int64_t rows, int64_t key, int64_t keys, Workspace& space) const {
    for (int64_t column = key; column < key + keys;) {
      const auto place = place_of(column, plan_.q.size, keys_);
      multiply_panel(space.queries.data(), plan_.q.size, rows, plan_.q.size, packed + place.offset,
                     place.width, space.scores.data() + column - key, kKeyBlock, false);
      column += place.width;
    }
  }

  // Turns one row of scores into weights, and what was summed so far into what it is below the new maximum.
  void weigh(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query, int64_t key,
             int64_t keys, Workspace& space, int64_t row) const {
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    float* scores = space.scores.data() + row * kKeyBlock;
    const auto index = static_cast<size_t>(row);
    if (plan_.softcap != 0) {
      for (int64_t i = 0; i < keys; ++i) scores[i] = plan_.softcap * std::tanh(scores[i] / plan_.softcap);
    }
    const KeyRange reach = bias_.reach(arguments, entry, query);
    const int64_t begin = std::clamp<int64_t>(reach.first - key, 0, keys),
                  end = std::clamp<int64_t>(reach.last - key, begin, keys);
    bias_.add(arguments, {entry, head, query, key + begin}, end - begin, scores + begin, space.bias.data());
    const double before = static_cast<double>(space.top[index]);
    const auto top = static_cast<float>(joined(
        Fold::kMax, before, static_cast<double>(fold_row(Fold::kMax, scores + begin, end - begin, 0))));
    std::fill(scores, scores + begin, 0.0F);
    std::fill(scores + end, scores + keys, 0.0F);
    if (!std::isfinite(top)) {  // nothing to attend here; or what is no number makes the whole row none
      if (top != kNothing) space.weight[index] = std::numeric_limits<float>::quiet_NaN();
      return std::fill(scores + begin, scores + end, 0.0F);
    }
    const float sum = exp_row(scores + begin, end - begin, top, scores + begin);
    if (top != space.top[index]) {
      const auto shrink = std::exp(space.top[index] - top);
      space.weight[index] *= shrink;
      float* sums = space.sums.data() + row * value_columns_;
      affine_row(sums, value_columns_, 0, shrink, 0, sums);
    }
    space.top[index] = top;
    space.weight[index] += sum;
  }

  void add_values(const float* packed, int64_t rows, int64_t key, int64_t keys, Workspace& space) const {
    for (int64_t column = 0; column < plan_.v.size;) {
      const auto place = place_of(column, keys_, plan_.v.size);
      multiply_panel(space.scores.data(), kKeyBlock, rows, keys, packed + place.offset + key * place.width,
                     place.width, space.sums.data() + column, value_columns_, true);
      column += place.width;
    }
  }

  void store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t first_row, int64_t rows,
             Workspace& space) const {
    for (int64_t row = 0; row < rows; ++row) {
      const float weight = space.weight[static_cast<size_t>(row)];
      float* sums = space.sums.data() + row * value_columns_;
      const int64_t at = plan_.out.at(entry, head) + (first_row + row) * plan_.out.row_stride;
      float* to = float_target(plan_.element, arguments.outputs[0], at, sums);
      const bool zeros = (weight == 0 && plan_.without != WithoutWeights::kNan) ||
                         (std::isnan(weight) && plan_.without == WithoutWeights::kZeros);
      if (zeros)
        std::fill_n(to, plan_.v.size, 0.0F);
      else
        affine_row(sums, plan_.v.size, 0, 1 / weight, 0, to);
      store_floats(plan_.element, to, plan_.v.size, arguments.outputs[0], at);
    }
  }

  AttentionPlan plan_;
  ScoreBias bias_;
  int64_t keys_, key_columns_, value_columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const AttentionPlan& plan) {
  return std::make_unique<AttentionKernel>(plan);
}

}  // namespace vernier::cpu
