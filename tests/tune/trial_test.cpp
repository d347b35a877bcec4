// Tests what the trial finds: how far NaN and infinities spread in kernels that split factors into terms, or
// transform tiles, and what a kernel reads of its working memory.
#include "vernier/tune/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

using testing::HasSubstr;

class PlainOnly : public Backend {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest&, std::string&) const override { return nullptr; }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
};

using Floats = std::vector<float>;

// Runs a function of all operands.
class FunctionKernel : public Kernel {
 public:
  FunctionKernel(std::vector<size_t> sizes, std::function<Floats(const std::vector<Floats>&)> function)
      : sizes_(std::move(sizes)), function_(std::move(function)) {
    name = "function";
    contract.stored = ElementType::kFloat;
  }
  void run(const KernelArguments& given) const override {
    std::vector<Floats> operands;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      const auto* first = static_cast<const float*>(given.inputs[i]);
      operands.emplace_back(first, first + sizes_[i]);
    }
    const Floats y = function_(operands);
    std::copy(y.begin(), y.end(), static_cast<float*>(given.outputs[0]));
  }

 private:
  std::vector<size_t> sizes_;
  std::function<Floats(const std::vector<Floats>&)> function_;
};

// The one node of a graph, in plain floats.
struct OneRequest {
  Model model;
  PlainOnly kernels;

  explicit OneRequest(const std::string& text)
      : model(parse_model("model ir=10 opset \"\" 21 {\n" + text + "\n}\n")) {
    ops::infer_types(*model.graph);
  }
  KernelRequest request() const {
    const Node& node = *model.graph->nodes()[0];
    KernelRequest result{node, {}, {}};
    const auto operand = [](const Value& value) {
      const Tensor* constant = value.is_constant() ? &*value.constant : nullptr;
      return Operand{ElementType::kFloat, *to_dims(*value.type.tensor.shape), Layout::kPlain, constant};
    };
    for (const Value* input : node.inputs) result.inputs.push_back(operand(*input));
    for (const Value* output : node.outputs) result.outputs.push_back(operand(*output));
    return result;
  }
  // Gives what the trial says of a kernel that computes so.
  std::string fault(const NumericsContract& contract,
                    std::function<Floats(const std::vector<Floats>&)> function) const {
    const KernelRequest request = this->request();
    std::vector<size_t> sizes;
    for (const auto& input : request.inputs) sizes.push_back(static_cast<size_t>(input->size()));
    FunctionKernel kernel(sizes, std::move(function));
    kernel.contract = contract;
    return Trial(request, kernels).judge_special_values(kernel);
  }
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// [40, 8] * [8, 4] + a residual: the kernel's way with factors, `reach` rows farther than it should. The
// first factor lies transposed, so that its special values meet other rows than those of the residual.
struct Product {
  OneRequest one{R"(graph "g" (%x: f32[8, 40], %c: f32[40, 4]) -> (%y) {
    const %w = f32[8, 4] hex"0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f0000003f"
    %y: f32[*] = Gemm(%x, %w, %c) {transA = 1} version 13 @"g" from ["g"]
  })"};

  std::string fault(int terms, size_t reach, bool keeps_bias = true) const {
    const NumericsContract contract{.computed = ElementType::kFloat,
                                    .stored = ElementType::kFloat,
                                    .operands = ElementType::kBFloat16,
                                    .terms = terms};
    return one.fault(contract, [&](const std::vector<Floats>& in) {
      Floats y(160);
      for (size_t row = 0; row < 40; ++row) {
        for (size_t column = 0; column < 4; ++column) {
          float sum = 0;
          bool special = false;
          for (size_t k = 0; k < 8; ++k) {
            const float x = in[0][k * 40 + row], w = in[1][k * 4 + column];
            sum += x * w;
            special = special || !std::isfinite(x) || !std::isfinite(w);
          }
          if (special && terms > 1) sum = kNan;
          const float bias = in[2][row * 4 + column];
          y[row * 4 + column] = sum + (keeps_bias || std::isfinite(bias) ? bias : kNan);
          if (!special) continue;
          for (size_t other = row - std::min(row, reach); other < row; ++other) y[other * 4 + column] = kNan;
        }
      }
      return y;
    });
  }
};

TEST(TrialOfSpecialValues, SplitFactorsSpoilTheirOwnSumsOnly) {
  const Product product;
  EXPECT_EQ(product.fault(1, 0), "");  // as the operator says
  EXPECT_EQ(product.fault(2, 0), "");  // NaN in place of infinities
  EXPECT_THAT(product.fault(1, 1), HasSubstr("is NaN, expected"));
  EXPECT_THAT(product.fault(2, 1), HasSubstr("is NaN, expected"));
  EXPECT_THAT(product.fault(2, 7), HasSubstr("is NaN, expected"));
}

TEST(TrialOfSpecialValues, WhatIsAddedIsNotSplit) {
  EXPECT_THAT(Product().fault(2, 0, false), HasSubstr("is NaN, expected"));
}

// A finite factor that rounds to an infinite term.
TEST(TrialOfSpecialValues, FactorsThatAreTooLargeForTheirTerms) {
  const OneRequest one(R"(graph "g" (%x: f32[4, 1]) -> (%y) {
    const %w = f32[1, 2] hex"0000803fffff7f7f"
    %y: f32[*] = MatMul(%x, %w) version 13 @"m" from ["m"]
  })");
  const auto fault = [&](int terms) {
    return one.fault({.operands = ElementType::kBFloat16, .terms = terms},
                     [&](const std::vector<Floats>& in) {
                       Floats y;
                       for (const float x : in[0]) y.insert(y.end(), {x, kNan});
                       return y;
                     });
  };
  EXPECT_EQ(fault(2), "");
  EXPECT_THAT(fault(1), HasSubstr("is NaN, expected"));
}

// A convolution of 3 x 3 taps whose tiles of m x m outputs are spoilt as a whole, and others `reach` tiles to
// the left.
struct Tiles {
  OneRequest one{R"(graph "g" (%x: f32[1, 1, 19, 23]) -> (%y) {
    const %w = f32[1, 1, 3, 3] hex"0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f"
    %y: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11 @"c" from ["c"]
  })"};
  static constexpr int64_t kLines = 19, kColumns = 23;

  std::string fault(int said, int64_t m, int64_t reach) const {
    return one.fault({.winograd = said}, [&](const std::vector<Floats>& in) {
      Floats y(kLines * kColumns);
      std::set<std::pair<int64_t, int64_t>> spoilt;
      for_each_output([&](int64_t line, int64_t column) {
        float sum = 0;
        for (int64_t tap = 0; tap < 9; ++tap) {
          const int64_t i = line + tap / 3 - 1, k = column + tap % 3 - 1;
          if (i < 0 || k < 0 || i >= kLines || k >= kColumns) continue;
          const float x = in[0][static_cast<size_t>(i * kColumns + k)];
          sum += x * in[1][static_cast<size_t>(tap)];
          if (!std::isfinite(x)) spoilt.emplace(line / m, column / m);
        }
        y[static_cast<size_t>(line * kColumns + column)] = sum;
      });
      for_each_output([&](int64_t line, int64_t column) {
        for (int64_t tile = 0; tile <= reach; ++tile) {
          if (spoilt.contains({line / m, column / m + tile}))
            y[static_cast<size_t>(line * kColumns + column)] = kNan;
        }
      });
      return y;
    });
  }
  static void for_each_output(const std::function<void(int64_t, int64_t)>& body) {
    for (int64_t i = 0; i < kLines * kColumns; ++i) body(i / kColumns, i % kColumns);
  }
};

TEST(TrialOfSpecialValues, TilesOfWinogradAreSpoiltAsAWholeButNoOthers) {
  const Tiles tiles;
  for (const int m : {2, 4}) {
    EXPECT_EQ(tiles.fault(m, m, 0), "") << m;
    EXPECT_THAT(tiles.fault(m, m, 1), HasSubstr("is NaN, expected")) << m;
    EXPECT_THAT(tiles.fault(0, m, 0), HasSubstr("is NaN, expected")) << m;
  }
  EXPECT_THAT(tiles.fault(2, 4, 0), HasSubstr("is NaN, expected"));  // larger tiles than it says
}

// Adds, times 0, what it finds in its working memory.
class ReadsScratch : public Kernel {
 public:
  explicit ReadsScratch(bool clears) : clears_(clears) {
    name = "reads-scratch";
    scratch_bytes = sizeof(float);
    contract.stored = ElementType::kFloat;
  }
  void run(const KernelArguments& given) const override {
    const auto* x = static_cast<const float*>(given.inputs[0]);
    auto* y = static_cast<float*>(given.outputs[0]);
    auto* found = reinterpret_cast<float*>(given.scratch);
    if (clears_) *found = 0;
    for (size_t i = 0; i < kElements; ++i) y[i] = std::max(x[i], 0.0F) + 0 * *found;
  }
  static constexpr size_t kElements = 64;

 private:
  bool clears_;
};

TEST(Trial, FindsKernelsThatReadWhatTheyDidNotWrite) {
  const OneRequest one(R"(graph "g" (%x: f32[64]) -> (%y) {
    %y: f32[*] = Relu(%x) version 14 @"r" from ["r"]
  })");
  const KernelRequest request = one.request();
  Trial trial(request, one.kernels);
  EXPECT_EQ(trial.judge(ReadsScratch(true)).fault, "");
  EXPECT_THAT(trial.judge(ReadsScratch(false)).fault, HasSubstr("is -nan"));
}

}  // namespace
}  // namespace vernier
