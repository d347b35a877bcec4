// Tests that a large batch is judged by few entries that repeat, and that what goes wrong in any other is
// found.
#include "vernier/tune/repeated_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/tune/trial.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kEntries = 33, kRows = 256, kDepth = 4, kColumns = 128;

class PlainOnly : public Backend {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest&, std::string&) const override { return nullptr; }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
};

Model model_of(const std::string& inputs, const std::string& constants, const std::string& line) {
  Model model = parse_model("model ir=10 opset \"\" 21 {\ngraph \"g\" (" + inputs + ") -> (%y) {\n" +
                            constants + "\n%y: f32[*] = " + line + " version 13 @\"n\" from [\"n\"]\n}\n}\n");
  ops::infer_types(*model.graph);
  return model;
}

std::string constant(const std::string& name, const Dims& dims) {
  std::string text = "const %" + name + " = f32[" + fmt::format("{}", fmt::join(dims, ", ")) + "] hex\"";
  for (int64_t i = 0; i < element_count(dims); ++i) text += "0000003f";  // 0.5
  return text + "\"";
}

KernelRequest request_of(const Model& model) {
  const Node& node = *model.graph->nodes()[0];
  KernelRequest result{node, {}, {}};
  const auto operand = [](const Value& value) {
    const Tensor* content = value.is_constant() ? &*value.constant : nullptr;
    return Operand{ElementType::kFloat, *to_dims(*value.type.tensor.shape), Layout::kPlain, content};
  };
  for (const Value* input : node.inputs) result.inputs.push_back(operand(*input));
  for (const Value* output : node.outputs) result.outputs.push_back(operand(*output));
  return result;
}

// Multiplies rows by a matrix of one number; `spoil` changes what it made.
class RowProduct : public Kernel {
 public:
  explicit RowProduct(std::function<void(std::span<float>)> spoil) : spoil_(std::move(spoil)) {
    name = "rows";
    contract = {.computed = ElementType::kFloat,
                .accumulated = ElementType::kFloat,
                .stored = ElementType::kFloat,
                .order = NumericsContract::Order::kSequential};
  }
  void run(const KernelArguments& given) const override {
    const auto* x = static_cast<const float*>(given.inputs[0]);
    auto* y = static_cast<float*>(given.outputs[0]);
    for (int64_t row = 0; row < kEntries * kRows; ++row) {
      float sum = 0;
      for (int64_t k = 0; k < kDepth; ++k) sum += x[row * kDepth + k] * 0.5F;
      std::fill_n(y + row * kColumns, kColumns, sum);
    }
    spoil_({y, static_cast<size_t>(kEntries * kRows * kColumns)});
  }

 private:
  std::function<void(std::span<float>)> spoil_;
};

struct Product {
  Model model = model_of("%x: f32[33, 256, 4]", constant("w", {kDepth, kColumns}), "MatMul(%x, %w)");
  PlainOnly kernels;

  TacticVerdict verdict(std::function<void(std::span<float>)> spoil) const {
    const KernelRequest request = request_of(model);
    return Trial(request, kernels).judge(RowProduct(std::move(spoil)));
  }
  std::string special_fault(std::function<void(std::span<float>)> spoil) const {
    const KernelRequest request = request_of(model);
    return Trial(request, kernels).judge_special_values(RowProduct(std::move(spoil)));
  }
};

float& at(std::span<float> y, int64_t entry, int64_t row, int64_t column) {
  return y[static_cast<size_t>((entry * kRows + row) * kColumns + column)];
}

TEST(RepeatedEntries, OneWrongElementOfAnyEntryIsFound) {
  const Product product;
  EXPECT_EQ(product.verdict([](auto) {}).fault, "");
  for (const int64_t entry : {0, 6, 7, 20, 32})
    EXPECT_THAT(product.verdict([&](auto y) { at(y, entry, 255, 127) += 0.01F; }).fault,
                HasSubstr("is no rounding"))
        << entry;
  EXPECT_THAT(product.verdict([](auto y) { at(y, 20, 0, 0) += 1; }).fault, HasSubstr("from entry 14 on"));
}

TEST(RepeatedEntries, ARoundingInOneEntryIsNone) {
  EXPECT_EQ(
      Product().verdict([](auto y) { at(y, 20, 3, 5) = std::nextafter(at(y, 20, 3, 5), HUGE_VALF); }).fault,
      "");
}

TEST(RepeatedEntries, EntriesThatChangePlacesAreFound) {
  const auto exchange = [](std::span<float> y, int64_t a, int64_t b) {
    std::swap_ranges(&at(y, a, 0, 0), &at(y, a, 0, 0) + kRows * kColumns, &at(y, b, 0, 0));
  };
  for (const int64_t apart : {1, 2, 4, 8, 16})
    EXPECT_THAT(Product().verdict([&](auto y) { exchange(y, 12, 12 + apart); }).fault,
                HasSubstr("is no rounding"))
        << apart;
}

TEST(RepeatedEntries, NanThatIsLostInALaterEntryIsFound) {
  const Product product;
  EXPECT_EQ(product.special_fault([](auto) {}), "");
  EXPECT_THAT(product.special_fault([](auto y) {
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      float& each = y[static_cast<size_t>(10 * kRows * kColumns + i)];
      if (!std::isfinite(each)) each = 0;
    }
  }),
              HasSubstr("among NaN and Inf"));
}

std::optional<int64_t> drawn(const std::string& inputs, const std::string& constants,
                             const std::string& line) {
  const Model model = model_of(inputs, constants, line);
  return drawn_entries(request_of(model));
}

TEST(RepeatedEntries, BatchesAreWholeWhereEntriesMayMeet) {
  const std::string weights = constant("w", {4, 128});
  EXPECT_EQ(drawn("%x: f32[33, 256, 4]", weights, "MatMul(%x, %w)"), 7);
  EXPECT_EQ(drawn("%x: f32[8192, 4]", weights, "Gemm(%x, %w)"), 7);
  EXPECT_EQ(drawn("%x: f32[16, 2, 260, 260], %r: f32[16, 1, 260, 260]", constant("w", {1, 2, 1, 1}),
                  "Conv(%x, %w)"),
            7);
  EXPECT_FALSE(drawn("%x: f32[15, 800, 4]", weights, "MatMul(%x, %w)"));          // few
  EXPECT_FALSE(drawn("%x: f32[33, 200, 4]", weights, "MatMul(%x, %w)"));          // small
  EXPECT_FALSE(drawn("%x: f32[4, 8192]", weights, "Gemm(%x, %w) {transA = 1}"));  // along columns
  EXPECT_FALSE(drawn("%x: f32[1024, 1024], %v: f32[1024, 1024]", "", "MatMul(%x, %v)"));
  EXPECT_EQ(drawn("%x: f32[64, 128, 4], %v: f32[64, 4, 128]", "", "MatMul(%x, %v)"), 7);
  EXPECT_FALSE(drawn("%x: f32[64, 128, 128]", constant("w", {64, 1, 1}), "Add(%x, %w)"));
  EXPECT_FALSE(drawn("%x: f32[64, 128, 128]", "", "Softmax(%x) {axis = 0}"));
}

TEST(RepeatedEntries, TheFirstOneFollowsTheLast) {
  const Tensor few = Tensor::from_doubles(ElementType::kFloat, {2, 2}, std::vector<double>{1, 2, 3, 4});
  const Tensor all = repeated(few, 5);
  EXPECT_THAT(all.to_doubles(), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4, 1, 2));
  EXPECT_THAT(different_chunks({all}, 2), ElementsAre(0));
  const Tensor other =
      Tensor::from_doubles(ElementType::kFloat, {5, 2}, std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4, 1, 5});
  EXPECT_THAT(different_chunks({all, other}, 2), ElementsAre(0, 2));
  EXPECT_THAT(chunk_of(other, 2, 2).to_doubles(), ElementsAre(1, 5, 3, 4));
}

}  // namespace
}  // namespace vernier
