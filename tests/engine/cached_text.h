// Decoders, and texts that they read on in caches.
#pragma once

#include <gmock/gmock.h>

#include "engine/as_reference.h"
#include "engine/weighted_model.h"
#include "vernier/base/threads.h"
#include "vernier/engine/engine_device.h"
#include "vernier/exec/device/host_device.h"
#include "vernier/exec/device/resident_cache.h"

namespace vernier {

inline constexpr int64_t kHeads = 2, kSize = 16;

// A layer of a decoder: keys and values are put behind those of the past, and attended.
inline Model decoder() {
  return with_weights(
      R"(graph "g" (%x: f32[batch, sequence, 32], %past_k: f32[batch, 2, past, 16], %past_v: f32[batch, 2, past, 16], %wq: f32[32, 32], %wk: f32[32, 32], %wv: f32[32, 32]) -> (%y, %present_k, %present_v) {
    const %heads = i64[4] hex"0000000000000000ffffffffffffffff02000000000000001000000000000000"
    const %joined = i64[3] hex"0000000000000000ffffffffffffffff2000000000000000"
    const %scale = f32[] hex"0000803e"
    %q: f32[*] = MatMul(%x, %wq) version 13 @"q" from ["q"]
    %k: f32[*] = MatMul(%x, %wk) version 13 @"k" from ["k"]
    %v: f32[*] = MatMul(%x, %wv) version 13 @"v" from ["v"]
    %q4: f32[*] = Reshape(%q, %heads) version 14 @"q4" from ["q4"]
    %k4: f32[*] = Reshape(%k, %heads) version 14 @"k4" from ["k4"]
    %v4: f32[*] = Reshape(%v, %heads) version 14 @"v4" from ["v4"]
    %qt: f32[*] = Transpose(%q4) {perm = ints[0, 2, 1, 3]} version 13 @"qt" from ["qt"]
    %kt: f32[*] = Transpose(%k4) {perm = ints[0, 2, 1, 3]} version 13 @"kt" from ["kt"]
    %vt: f32[*] = Transpose(%v4) {perm = ints[0, 2, 1, 3]} version 13 @"vt" from ["vt"]
    %present_k: f32[*] = Concat(%past_k, %kt) {axis = 2} version 13 @"present_k" from ["present_k"]
    %present_v: f32[*] = Concat(%past_v, %vt) {axis = -2} version 13 @"present_v" from ["present_v"]
    %t: f32[*] = Transpose(%present_k) {perm = ints[0, 1, 3, 2]} version 13 @"t" from ["t"]
    %scores: f32[*] = MatMul(%qt, %t) version 13 @"scores" from ["scores"]
    %scaled: f32[*] = Mul(%scores, %scale) version 14 @"scaled" from ["scaled"]
    %probabilities: f32[*] = Softmax(%scaled) {axis = -1} version 13 @"probabilities" from ["probabilities"]
    %seen: f32[*] = MatMul(%probabilities, %present_v) version 13 @"seen" from ["seen"]
    %seent: f32[*] = Transpose(%seen) {perm = ints[0, 2, 1, 3]} version 13 @"seent" from ["seent"]
    %y: f32[*] = Reshape(%seent, %joined) version 14 @"y" from ["y"]
  })");
}

// The same by an operator that takes a past.
inline Model attention(const std::string& op) {
  return parse_graph(fmt::format(
      R"(graph "g" (%x: f32[batch, sequence, 32], %past_k: f32[batch, 2, past, 16], %past_v: f32[batch, 2, past, 16]) -> (%y, %present_k, %present_v) {{
    %y: f32[*], %present_k: f32[*], %present_v: f32[*] = {}
  }})",
      op));
}
inline Model onnx_attention() {
  return attention(
      R"(Attention(%x, %x, %x, _, %past_k, %past_v) {q_num_heads = 2, kv_num_heads = 2, is_causal = 1} version 23 @"a" from ["a"])");
}
inline Model microsoft_attention() {
  return attention(
      R"(com.microsoft::MultiHeadAttention(%x, %x, %x, _, _, _, %past_k, %past_v) {num_heads = 2} version 1 @"a" from ["a"])");
}

// The number of keys follows from sizes, as exporters write it; queries, keys and values are packed.
inline Model grouped_attention() {
  return parse_graph(
      R"(graph "g" (%x: f32[batch, sequence, 96], %past_k: f32[batch, 2, past, 16], %past_v: f32[batch, 2, past, 16]) -> (%y, %present_k, %present_v) {
    const %one = i32[1] hex"01000000"
    %old: i64[*] = Shape(%past_k) {start = 2, end = 3} version 15 @"old" from ["old"]
    %new: i64[*] = Shape(%x) {start = 1, end = 2} version 15 @"new" from ["new"]
    %batches: i64[*] = Shape(%x) {start = 0, end = 1} version 15 @"batches" from ["batches"]
    %long: i64[*] = Add(%old, %new) version 14 @"long" from ["long"]
    %total: i32[*] = Cast(%long) {to = 6} version 13 @"total" from ["total"]
    %last: i32[*] = Sub(%total, %one) version 14 @"last" from ["last"]
    %lasts: i32[*] = Expand(%last, %batches) version 13 @"lasts" from ["lasts"]
    %y: f32[*], %present_k: f32[*], %present_v: f32[*] = com.microsoft::GroupQueryAttention(%x, _, _, %past_k, %past_v, %lasts, %total) {num_heads = 2, kv_num_heads = 2} version 1 @"a" from ["a"]
  })");
}

// New rows in front, and a window that forgets the oldest: what no step can put behind the past.
inline Model other_way() {
  return parse_graph(
      R"(graph "g" (%x: f32[batch, 2, sequence, 16], %past_k: f32[batch, 2, past, 16], %past_v: f32[batch, 2, past, 16]) -> (%y, %present_k, %present_v) {
    const %one = i64[1] hex"0100000000000000"
    const %all = i64[1] hex"ffffffffffffff7f"
    const %axis = i64[1] hex"0200000000000000"
    %present_k: f32[*] = Concat(%x, %past_k) {axis = 2} version 13 @"front" from ["front"]
    %longer: f32[*] = Concat(%past_v, %x) {axis = 2} version 13 @"longer" from ["longer"]
    %present_v: f32[*] = Slice(%longer, %one, %all, %axis) version 13 @"window" from ["window"]
    %y: f32[*] = Relu(%past_k) version 14 @"y" from ["y"]
  })");
}

// Earlier rows are attended without new ones, while these are put behind them.
inline Model looking_back() {
  return parse_graph(
      R"(graph "g" (%x: f32[batch, 2, sequence, 16], %past_k: f32[batch, 2, past, 16], %past_v: f32[batch, 2, past, 16]) -> (%y, %present_k, %present_v) {
    %seen: f32[*] = Attention(%x, %past_k, %past_v) version 23 @"seen" from ["seen"]
    %y: f32[*] = Relu(%seen) version 14 @"y" from ["y"]
    %present_k: f32[*] = Concat(%past_k, %x) {axis = 2} version 13 @"present_k" from ["present_k"]
    %present_v: f32[*] = Concat(%past_v, %x) {axis = 2} version 13 @"present_v" from ["present_v"]
  })");
}

enum class CachesLie : uint8_t { kOnTheHost, kOnTheDevice };

// A text that is read on in caches.
class Text {
 public:
  Text(std::shared_ptr<const Engine> engine, int64_t batch, int64_t capacity,
       CachesLie where = CachesLie::kOnTheHost)
      : engine_(std::move(engine)), session_(engine_), batch_(batch) {
    const EngineDevice device = preferred_device(*engine_);
    const bool resides = where == CachesLie::kOnTheDevice;
    for (const size_t index : {1, 2}) {
      const Dims dims{batch, kHeads, capacity, kSize};
      caches_.push_back({index, index, capacity, resides ? device.number : kHost});
      if (resides)
        resident_.push_back(std::make_unique<ResidentCache>(*device.device, ElementType::kFloat, dims));
      else
        memory_.push_back(noise(dims, 10 + index, 1));
      rows_.push_back(0);
    }
  }

  // Gives y.
  Tensor run(const Tensor& x) {
    std::vector<Datum> inputs{x}, outputs;
    for (size_t i = 0; i < caches_.size(); ++i)
      inputs.emplace_back(resident_.empty()
                              ? Tensor::borrow(ElementType::kFloat, {batch_, kHeads, rows_[i], kSize},
                                               memory_[i].raw(), nullptr)
                              : resident_[i]->rows(rows_[i]));
    std::vector<int64_t> rows(rows_);
    session_.run(inputs, outputs, {.bindings = caches_, .cached_rows = rows});
    for (const size_t output : {1, 2}) EXPECT_FALSE(outputs[output].tensor.is_defined());
    plan_ = engine_->plans().program(thread_count()).plan(inputs, caches_);
    rows_ = rows;
    return outputs[0].tensor;
  }

  // The rows that a cache holds, dense.
  Tensor rows(size_t cache) const {
    if (!resident_.empty()) return resident_[cache]->read(rows_[cache]);
    return dense_rows(host_device(), ElementType::kFloat, {batch_, kHeads, rows_[cache], kSize},
                      caches_[cache].capacity, memory_[cache].raw());
  }
  const float* values(size_t cache) const { return static_cast<const float*>(memory_[cache].raw()); }
  int64_t row_count(size_t cache) const { return rows_[cache]; }

  // Steps that copy all of a cache, or out of it.
  int copies() const {
    int count = 0;
    for (const Step& step : plan_->steps) {
      if (step.node != nullptr) continue;
      for (const SlotId id : {step.inputs[0], step.outputs[0]})
        count += plan_->slots[static_cast<size_t>(id)].operand.layout == Layout::kCache ? 1 : 0;
    }
    return count;
  }

 private:
  std::shared_ptr<const Engine> engine_;
  Session session_;
  int64_t batch_;
  std::vector<MemoryBinding> caches_;
  std::vector<Tensor> memory_;                            // on the host
  std::vector<std::unique_ptr<ResidentCache>> resident_;  // or on the device
  std::vector<int64_t> rows_;
  std::shared_ptr<const Plan> plan_;
};

// The inputs of a run without caches, given what came before.
inline NamedData with_past(Tensor x, const Tensor& keys, const Tensor& values) {
  return {{"x", std::move(x)}, {"past_k", keys}, {"past_v", values}};
}

inline Tensor no_rows(int64_t batch) {
  return Tensor(ElementType::kFloat, {batch, kHeads, 0, kSize});
}

// Reads a text in pieces, and compares each result and cache with a run of the reference on the past as it
// was.
inline void expect_as_without(const Model& model, const std::shared_ptr<const Engine>& engine, int64_t batch,
                              int copies, CachesLie where = CachesLie::kOnTheHost, int64_t capacity = 64) {
  const Shape& x_shape = *model.graph->inputs[0]->type.tensor.shape;
  Text text(engine, batch, capacity, where);
  Tensor keys = no_rows(batch), values = no_rows(batch);
  uint64_t seed = 20;
  for (const int64_t added : {5, 1, 1, 3, 1, 30, 1}) {
    SCOPED_TRACE(fmt::format("batch {}, {} rows behind {}", batch, added, keys.dims()[2]));
    const Tensor x = noise(
        x_shape.size() == 3 ? Dims{batch, added, *x_shape[2].constant()} : Dims{batch, kHeads, added, kSize},
        ++seed, 1);
    const auto expected = run_reference(model, with_past(x, keys, values)).outputs;
    expect_close(expected[0], text.run(x));
    expect_close(expected[1], text.rows(0));
    expect_close(expected[2], text.rows(1));
    EXPECT_EQ(text.copies(), copies);
    keys = text.rows(0);
    values = text.rows(1);
  }
}

}  // namespace vernier
