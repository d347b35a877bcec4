// Attention of a quantized model as one kernel: blocks of queries against all keys, in int8 from end to end.
// Each QuantizeLinear of the model rounds; what lies between two of them is computed in floats.
#include <cmath>

#include "vernier/backends/cpu/attention/attention_kernel.h"
#include "vernier/backends/cpu/attention/int8_attention_plan.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/int8_gemm/vnni_groups.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kRows = 36;  // queries of a block: three times what a block of registers holds

int64_t in_whole(int64_t count, int64_t parts) {
  return (count + parts - 1) / parts * parts;
}

class Int8Attention : public Kernel {
 public:
  explicit Int8Attention(const Int8AttentionPlan& plan) : plan_(plan) {
    name = "cpu:int8_attention";
    contract = {ElementType::kFloat, ElementType::kInt32, plan_.out_element,
                NumericsContract::Order::kBlocked};
    blocks_ = (plan_.queries + kRows - 1) / kRows;
    key_groups_ = in_whole(plan_.keys, kVnniGroupBytes) / kVnniGroupBytes;
    threads_ = std::min<int64_t>(items(), threads_for(static_cast<double>(plan_.batch * plan_.heads) * 2 *
                                                      static_cast<double>(plan_.queries * plan_.keys) *
                                                      static_cast<double>(plan_.size + plan_.value_size)));
    constexpr int64_t kPage = 4096;  // one more, so that not all lie in the same sets
    partition_bytes_ = in_whole(bytes(), kPage) + kPage;
    scratch_bytes = static_cast<size_t>(partition_bytes_ * threads_);
  }

  bool reads(size_t input) const override {
    const auto at = static_cast<int>(input);
    return at == plan_.q.input || at == plan_.k.input || at == plan_.v.input || at == plan_.mask.input;
  }

  void run(const KernelArguments& arguments) const override {
    parallel(threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition)
        run_partition(arguments, items() * partition / threads_, items() * (partition + 1) / threads_,
                      arguments.scratch + partition * partition_bytes_);
    });
  }

 private:
  // Each thread has one.
  struct Space {
    std::byte *keys, *values;  // as VNNI groups, for each 32 keys, and each 32 columns of the values
    int32_t *key_initial, *value_initial;  // the initial accumulators of each
    int32_t *moves, *sums;                 // of the rows of a block; and [kRows, 32]
    uint8_t *queries, *codes;  // [kRows, size]; [kRows, code_stride()], of the scores, then weights
    uint8_t* rows;             // keys or values before they are packed
  };

  int64_t items() const { return plan_.batch * plan_.heads * blocks_; }
  int64_t code_stride() const { return in_whole(plan_.keys, kByteVector); }

  // Calls visit(part, elements) for each part of the space.
  template <class Visit>
  void for_each_part(Space& space, const Visit& visit) const {
    const int64_t keys = in_whole(plan_.keys, kVectorColumns),
                  columns = in_whole(plan_.value_size, kVectorColumns), depth = key_groups_ * kVnniGroupBytes;
    visit(space.keys, keys * plan_.size);
    visit(space.values, columns * depth);
    visit(space.key_initial, keys);
    visit(space.value_initial, columns);
    visit(space.moves, kRows);
    visit(space.sums, kRows * kVectorColumns);
    visit(space.queries, kRows * plan_.size);
    visit(space.codes, kRows * code_stride());
    visit(space.rows, std::max(kVectorColumns * plan_.size, depth * plan_.value_size));
  }

  int64_t bytes() const {
    int64_t sum = 0;
    Space none;
    for_each_part(none, [&]<class T>(T*&, int64_t count) { sum += Taken::size_of<T>(count); });
    return sum;
  }

  Space space_in(std::byte* memory) const {
    Taken taken(memory);
    Space space;
    for_each_part(space, [&]<class T>(T*& part, int64_t count) { part = taken.take<T>(count); });
    return space;
  }

  void run_partition(const KernelArguments& arguments, int64_t first, int64_t last, std::byte* memory) const {
    const Space space = space_in(memory);
    int64_t packed = -1;
    for (int64_t item = first; item < last; ++item) {
      const int64_t matrix = item / blocks_, entry = matrix / plan_.heads, head = matrix % plan_.heads,
                    row = item % blocks_ * kRows;
      if (packed != matrix) {
        pack_keys(bytes_of(arguments, plan_.k, entry, head), space);
        pack_values(bytes_of(arguments, plan_.v, entry, head), space);
      }
      packed = matrix;
      attend(arguments, {entry, head, head, row, std::min(kRows, plan_.queries - row)}, space);
    }
  }

  static const uint8_t* bytes_of(const KernelArguments& arguments, const Int8Heads& heads, int64_t entry,
                                 int64_t head) {
    return static_cast<const uint8_t*>(arguments.inputs[heads.input]) + heads.at(entry, head);
  }

  // As int8. Those behind the last key are of no meaning.
  void pack_keys(const uint8_t* from, const Space& space) const {
    const int64_t size = plan_.size, groups = size / kVnniGroupBytes;
    for (int64_t key = 0; key < plan_.keys; key += kVectorColumns) {
      const int64_t count = std::min(kVectorColumns, plan_.keys - key);
      look_up_rows(plan_.k.table,
                   {from + key * plan_.k.row_stride, plan_.k.row_stride, count, size, space.rows, size});
      transpose_tiles(kVnniGroupBytes, reinterpret_cast<const std::byte*>(space.rows), size,
                      space.keys + key * size, kVectorColumns * kVnniGroupBytes, count, groups);
      sum_rows_of_int8(space.rows, count, size, true, space.key_initial + key);
    }
    for (int64_t key = 0; key < plan_.keys; ++key)
      space.key_initial[key] = wrapped(plan_.q.zero * (size * plan_.k.zero - space.key_initial[key]));
  }

  // VNNI groups that are not whole are filled with zeros.
  void pack_values(const uint8_t* from, const Space& space) const {
    const int64_t size = plan_.value_size, depth = key_groups_ * kVnniGroupBytes;
    look_up_rows(plan_.v.table, {from, plan_.v.row_stride, plan_.keys, size, space.rows, size});
    std::fill(space.rows + plan_.keys * size, space.rows + depth * size, uint8_t{0});
    pack_vnni_groups(space.rows, depth, size, true, space.values, space.value_initial);
    for (int64_t column = 0; column < size; ++column)
      space.value_initial[column] =
          wrapped(plan_.weight_zero * (plan_.keys * plan_.v.zero - space.value_initial[column]));
  }

  void attend(const KernelArguments& arguments, const QueryBlock& block, const Space& space) const {
    const int64_t size = plan_.size, stride = plan_.q.row_stride;
    look_up_rows(plan_.q.table, {bytes_of(arguments, plan_.q, block.entry, block.head) + block.first * stride,
                                 stride, block.rows, size, space.queries, size});
    sum_rows_of_int8(space.queries, block.rows, size, false, space.moves);
    for (int64_t row = 0; row < block.rows; ++row)
      space.moves[row] = wrapped(-plan_.k.zero * space.moves[row]);
    for (int64_t key = 0; key < plan_.keys; key += kVectorColumns) {
      multiply_vectors(ElementType::kUint8, {reinterpret_cast<const std::byte*>(space.queries), size,
                                             block.rows, size / kVnniGroupBytes, space.keys + key * size,
                                             space.sums, space.key_initial + key, false});
      round_sums({space.sums, space.moves, block.rows, std::min(kVectorColumns, plan_.keys - key),
                  space.codes + key, code_stride()},
                 plan_.score, added(arguments, block, key), plan_.sum, 0);
    }
    for (int64_t row = 0; row < block.rows; ++row)
      space.moves[row] =
          wrapped(-plan_.v.zero * plan_.softmax.weigh(space.codes + row * code_stride(), plan_.keys));
    add_values(arguments, block, space);
  }

  AddedRows added(const KernelArguments& arguments, const QueryBlock& block, int64_t key) const {
    const auto& [input, strides] = plan_.mask;
    if (input < 0) return {nullptr, 0, 0, 1};
    const int64_t at =
        block.entry * strides[0] + block.head * strides[1] + block.first * strides[2] + key * strides[3];
    return {static_cast<const float*>(arguments.inputs[input]) + at, strides[2], strides[3],
            plan_.score_unit};
  }

  void add_values(const KernelArguments& arguments, const QueryBlock& block, const Space& space) const {
    auto* to = static_cast<uint8_t*>(arguments.outputs[0]) + plan_.out.at(block.entry, block.head) +
               block.first * plan_.out.row_stride;
    const int64_t depth = key_groups_ * kVnniGroupBytes;
    for (int64_t column = 0; column < plan_.value_size; column += kVectorColumns) {
      multiply_vectors(ElementType::kUint8, {reinterpret_cast<const std::byte*>(space.codes), code_stride(),
                                             block.rows, key_groups_, space.values + column * depth,
                                             space.sums, space.value_initial + column, false});
      round_sums({space.sums, space.moves, block.rows, std::min(kVectorColumns, plan_.value_size - column),
                  to + column, plan_.out.row_stride},
                 plan_.result, {nullptr, 0, 0, 1}, plan_.result, plan_.out_flip);
    }
  }

  static int32_t wrapped(int64_t sum) { return static_cast<int32_t>(static_cast<uint32_t>(sum)); }

  Int8AttentionPlan plan_;
  int64_t blocks_ = 0, key_groups_ = 0, threads_ = 1, partition_bytes_ = 0;
};

std::unique_ptr<Kernel> make_int8_attention(const KernelRequest& request, std::string& reason) {
  auto plan = plan_int8_attention(request, reason);
  return plan ? std::make_unique<Int8Attention>(*plan) : nullptr;
}

}  // namespace

void register_int8_attention(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qattention", LayoutRule::kPlain, Priority::kOwn, make_int8_attention});
}

}  // namespace vernier::cpu
