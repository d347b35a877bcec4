// Quantized attention in one kernel against the reference, bit by bit: sizes that fill no vector, types and
// zero points, masks, and heads that lie in rows.
#include <gmock/gmock.h>

#include "cpu/quantized_model.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

struct Case {
  int64_t batch = 1, heads = 2, queries = 20, keys = 24, size = 16, value_size = 32;
  ElementType type = kU8, weight_type = kU8;
  double zero = 131, weight_zero = 0;  // of queries, keys, values and what is made of them; of the weights
  Dims mask = {};                      // empty: none
  bool packed = true, scaled = false,
       again = false;  // heads in rows; queries scaled; weights quantized twice
};

class Int8Attention : public testing::Test {
 protected:
  void SetUp() override {
    VERNIER_NEEDS(kBf16);
    VERNIER_NEEDS(kVbmi);
  }

  static Value* transpose(Maker& make, Value* value, const std::vector<int64_t>& perm) {
    return make.node("Transpose", {value}, {{"perm", Attribute(perm)}});
  }

  // Bytes of [batch, heads, rows, size].
  static Value* heads(Maker& make, const Case& with, int64_t rows, int64_t size, unsigned seed) {
    if (!with.packed) return make.input(with.type, {with.batch, with.heads, rows, size}, seed);
    Value* bytes = make.input(with.type, {with.batch, rows, with.heads, size}, seed);
    return transpose(make, bytes, {0, 2, 1, 3});
  }

  static Value* keys(Maker& make, const Case& with) {
    if (with.packed)
      return transpose(make, make.input(with.type, {with.batch, with.keys, with.heads, with.size}, 2),
                       {0, 2, 3, 1});
    return transpose(make, make.input(with.type, {with.batch, with.heads, with.keys, with.size}, 2),
                     {0, 1, 3, 2});
  }

  // Few of the numbers are so large that everything else counts for nothing.
  static Value* mask(Maker& make, const Dims& dims) {
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = i % 7 == 3 ? -HUGE_VAL : i % 11 == 5 ? HUGE_VAL : static_cast<double>(i % 13) / 4 - 1;
    return make.reals(dims, values);
  }

  static Value* attention(Maker& make, const Case& with) {
    const double scale = 1.0 / 16;
    Value* q = heads(make, with, with.queries, with.size, 1);
    if (with.scaled) {
      Value* product =
          make.node("Mul", {make.dequantize(q, scale, with.zero, with.type), make.reals({}, {0.5})});
      q = make.quantize(product, scale / 2, 100, kU8);
    }
    q = with.scaled ? make.dequantize(q, scale / 2, 100, kU8)
                    : make.dequantize(q, scale, with.zero, with.type);
    Value* k = make.dequantize(keys(make, with), scale, with.zero - 1, with.type);
    Value* scores = make.quantize(make.node("MatMul", {q, k}), 0.5, with.zero, with.type);
    scores = make.dequantize(scores, 0.5, with.zero, with.type);
    if (!with.mask.empty()) {
      scores = make.quantize(make.node("Add", {scores, mask(make, with.mask)}), 0.25, 120, kU8);
      scores = make.dequantize(scores, 0.25, 120, kU8);
    }
    Value* weights = make.node("Softmax", {scores});
    if (with.again) {
      weights = make.quantize(weights, 1.0 / 255, 3, kU8);
      weights = make.dequantize(weights, 1.0 / 255, 3, kU8);
      Value* none = make.reals({}, {0});
      weights = make.node("Where", {make.node("IsNaN", {weights}), none, weights});
    }
    weights = make.quantize(weights, 1.0 / 256, with.weight_zero, with.weight_type);
    weights = make.dequantize(weights, 1.0 / 256, with.weight_zero, with.weight_type);
    Value* v = make.dequantize(heads(make, with, with.keys, with.value_size, 3), scale, with.zero, with.type);
    Value* result = make.quantize(make.node("MatMul", {weights, v}), 0.125, with.zero, with.type);
    return with.packed ? transpose(make, result, {0, 2, 1, 3}) : result;
  }

  static void expect(const Case& with) {
    SCOPED_TRACE(fmt::format("{} by {} of {}, {}", with.queries, with.keys, with.size, with.value_size));
    const int before = thread_count();
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      Maker make;
      EXPECT_THAT(make.run(attention(make, with), "qattention"), ElementsAre("cpu:int8_attention"));
    }
    set_thread_count(before);
  }
};

TEST_F(Int8Attention, SizesThatFillNoVector) {
  for (const int64_t keys : {2, 3, 31, 32, 33, 64, 65, 130}) {
    for (const int64_t queries : {1, 12, 37}) {
      expect({.queries = queries, .keys = keys, .size = 4, .value_size = 1});
      expect({.queries = queries, .keys = keys, .size = 68, .value_size = 33});
    }
  }
  expect({.batch = 2, .heads = 3, .queries = 128, .keys = 128, .size = 64, .value_size = 64});
  expect({.heads = 1, .queries = 300, .keys = 700, .size = 32, .value_size = 40});  // threads share a head
}

TEST_F(Int8Attention, TypesAndZeroPoints) {
  for (const bool packed : {false, true}) {
    for (const ElementType type : {kU8, kS8}) {
      for (const ElementType weight_type : {kU8, kS8}) {
        for (const double zero : {0.0, 77.0, 127.0}) {
          const double weight_zero = weight_type == kU8 ? 0 : -128;
          expect({.type = type,
                  .weight_type = weight_type,
                  .zero = zero + 1,
                  .weight_zero = weight_zero,
                  .packed = packed});
          expect({.keys = 30,
                  .type = type,
                  .weight_type = weight_type,
                  .zero = zero,
                  .weight_zero = weight_zero + 9,
                  .packed = packed,
                  .scaled = true});
        }
      }
    }
  }
}

TEST_F(Int8Attention, Masks) {
  for (const Dims& mask : {Dims{2, 3, 20, 24}, Dims{2, 1, 20, 24}, Dims{1, 3, 20, 24}, Dims{20, 24},
                           Dims{2, 3, 20, 1}, Dims{2, 1, 1, 24}, Dims{20, 1}})
    expect({.batch = 2, .heads = 3, .mask = mask});
  expect({.queries = 9, .keys = 77, .mask = {9, 77}, .scaled = true, .again = true});
}

TEST_F(Int8Attention, WeightsThatAreQuantizedTwice) {
  for (const ElementType type : {kU8, kS8})
    expect({.keys = 50, .weight_type = type, .weight_zero = type == kU8 ? 5.0 : -100.0, .again = true});
}

TEST_F(Int8Attention, TheLargestInt8) {
  for (const bool low : {false, true}) {
    Maker make;
    const Case with{.queries = 5, .keys = 2048, .size = 256, .zero = low ? 255.0 : 0.0, .weight_zero = 255};
    Value* y = attention(make, with);
    for (auto& [name, datum] : make.data) {
      Tensor& bytes = datum.tensor;
      std::memset(bytes.mutable_raw(), low ? 0 : 0xFF, bytes.byte_size());
    }
    EXPECT_THAT(make.run(y, "qattention"), ElementsAre("cpu:int8_attention"));
  }
}

TEST_F(Int8Attention, WithoutThePassItIsThePartsOfIt) {
  Maker make;
  Value* y = attention(make, {});
  BuildOptions options;
  options.passes.disabled = {"group-quantized-attention"};
  const Tensor apart = make.outputs(y, "", options);
  EXPECT_TRUE(make.outputs(y, "").identical(apart));
}

TEST_F(Int8Attention, FaultsGoIntoItsParts) {
  for (const auto fault : {Fault::kZeroPoint, Fault::kSwappedAxis}) {
    Maker make;
    Value* y = attention(make, {.keys = 200, .mask = {20, 200}});
    BuildOptions options;
    options.fault = FaultSpec{fault, ""};
    EXPECT_FALSE(make.outputs(y, "", options).identical(make.outputs(y, "")));
  }
}

}  // namespace
}  // namespace vernier
