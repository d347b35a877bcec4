// The functions of pointwise kernels in f32 against libm in double: every magnitude, denormals, infinities,
// NaN, both zeros.
#include <bit>

#include "cpu/one_kernel.h"
#include "vernier/numeric/ulp.h"

namespace vernier::cpu {
namespace {

// All floats from a dense grid of bit patterns, then the special ones and what lies around them.
std::vector<float> samples() {
  std::vector<float> result;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099)
    result.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const float special : {0.0F, 1.0F, 0.5F, 2.0F, 10.0F, 20.0F, 88.0F, 88.8F, 103.9F, 104.1F, 1e-38F,
                              1e-45F, 3.4e38F, std::numeric_limits<float>::infinity()}) {
    for (const float sign : {1.0F, -1.0F}) {
      result.push_back(sign * special);
      result.push_back(std::nextafter(sign * special, 0.0F));
      result.push_back(std::nextafter(sign * special, sign * std::numeric_limits<float>::infinity()));
    }
  }
  for (int i = -20000; i <= 20000; ++i) result.push_back(static_cast<float>(i) * 1e-3F);
  return result;
}

Tensor tensor_of(const std::vector<float>& values) {
  return Tensor::from<float>(ElementType::kFloat, {static_cast<int64_t>(values.size())}, values);
}

struct Case {
  std::string op;
  int64_t version;
  double ulps;      // the largest error allowed
  double absolute;  // or this, where the function itself loses digits
  AttributeMap attributes = {};
  std::string domain = "";
};

class PointwiseFunction : public testing::TestWithParam<Case> {};

TEST_P(PointwiseFunction, IsAccurateOverTheWholeRange) {
  const Case& param = GetParam();
  const auto x = samples();
  OneKernel kernel{{param.op, param.version, param.attributes, param.domain}, {tensor_of(x)}};
  std::string name;
  const auto outputs = kernel.run(&name);
  ASSERT_TRUE(outputs) << kernel.reason;
  EXPECT_EQ(name, "cpu:pointwise");
  // Ideal mode is not rounded.
  const auto exact = kernel.node.run(kernel.inputs, ops::ReferenceMode::kIdeal)[0].to_doubles();
  const auto y = (*outputs)[0].to_doubles();
  const FloatFormat format = *float_format(ElementType::kFloat);
  double worst = 0, at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double rounded = static_cast<float>(exact[i]);
    if (std::isnan(exact[i])) {
      ASSERT_TRUE(std::isnan(y[i])) << param.op << "(" << x[i] << ") is " << y[i] << ", not NaN";
    } else if (std::isinf(rounded) || std::isinf(y[i])) {
      // At the edge either is right.
      ASSERT_TRUE(y[i] == rounded || std::abs(exact[i]) > 3.4028e38)
          << param.op << "(" << x[i] << ") is " << y[i] << ", not " << rounded;
    } else if (std::abs(y[i] - exact[i]) > param.absolute) {
      const double ulps = std::abs(format.ulps(y[i] - exact[i], exact[i]));
      if (ulps > worst) worst = ulps, at = x[i];
    }
    if (exact[i] == 0 && x[i] == 0) {
      ASSERT_EQ(std::signbit(y[i]), std::signbit(exact[i])) << param.op << "(" << x[i] << ")";
    }
  }
  EXPECT_LE(worst, param.ulps) << param.op << "(" << at << ")";
  RecordProperty("worst_ulp", std::to_string(worst));
  if (std::getenv("VERBOSE") != nullptr)
    std::printf("%-12s worst %.2f ulp at %.9g\n", param.op.c_str(), worst, at);
}

AttributeMap alpha(float value) {
  return {{"alpha", Attribute(value)}};
}

INSTANTIATE_TEST_SUITE_P(
    All, PointwiseFunction,
    testing::Values(Case{"Exp", 13, 2, 0}, Case{"Log", 13, 2, 0}, Case{"Sqrt", 13, 0.5, 0},
                    Case{"Tanh", 13, 3, 0}, Case{"Sigmoid", 13, 3, 0}, Case{"Erf", 13, 2, 0},
                    Case{"Softplus", 22, 3, 0}, Case{"Mish", 22, 4, 0}, Case{"Gelu", 20, 6, 0},
                    Case{"Gelu", 20, 4, 2e-7, {{"approximate", Attribute(std::string("tanh"))}}},
                    Case{"Swish", 24, 4, 0}, Case{"Swish", 24, 4, 0, alpha(1.702F)},
                    Case{"Swish", 24, 4, 0, alpha(-0.3F)}, Case{"QuickGelu", 1, 4, 0, {}, "com.microsoft"},
                    Case{"Elu", 22, 3, 0}, Case{"Selu", 22, 4, 0}, Case{"Celu", 12, 3, 0, alpha(0.7F)},
                    Case{"Sin", 22, 1, 0}, Case{"Cos", 22, 1, 0}, Case{"Tan", 22, 1, 0},
                    Case{"Sinh", 22, 1, 0}, Case{"Cosh", 22, 1, 0}, Case{"Asin", 22, 1, 0},
                    Case{"Acos", 22, 1, 0}, Case{"Atan", 22, 1, 0}, Case{"Asinh", 22, 1, 0},
                    Case{"Acosh", 22, 1, 0}, Case{"Atanh", 22, 1, 0}, Case{"HardSigmoid", 22, 2, 1e-7},
                    Case{"HardSwish", 22, 3, 0}, Case{"Softsign", 22, 2, 0}, Case{"Reciprocal", 13, 0.5, 0}));

TEST(PointwisePow, MatchesLibm) {
  const auto all = samples();
  std::vector<float> bases, exponents;
  std::mt19937 random(1);
  const std::vector<float> special{0.0F,
                                   -0.0F,
                                   1,
                                   -1,
                                   2,
                                   -2,
                                   3,
                                   -3,
                                   0.5F,
                                   -0.5F,
                                   0.25F,
                                   1e-40F,
                                   3e38F,
                                   16777216.0F,
                                   std::numeric_limits<float>::infinity(),
                                   -std::numeric_limits<float>::infinity(),
                                   std::numeric_limits<float>::quiet_NaN()};
  for (const float base : special) {
    for (const float exponent : special) bases.push_back(base), exponents.push_back(exponent);
  }
  std::uniform_real_distribution<float> logarithm(-30, 30), power(-4, 4);
  for (int i = 0; i < 300000; ++i) {
    const float base = std::exp(logarithm(random));
    const bool whole = i % 3 == 0;
    bases.push_back(whole && i % 2 == 0 ? -base : base);
    exponents.push_back(whole ? std::round(power(random)) : power(random));
  }
  OneKernel kernel{{"Pow", 15}, {tensor_of(bases), tensor_of(exponents)}};
  const auto outputs = kernel.run();
  ASSERT_TRUE(outputs) << kernel.reason;
  const auto y = (*outputs)[0].to_doubles();
  const FloatFormat format = *float_format(ElementType::kFloat);
  for (size_t i = 0; i < bases.size(); ++i) {
    const double exact = std::pow(static_cast<double>(bases[i]), static_cast<double>(exponents[i]));
    const double rounded = static_cast<float>(exact);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      ASSERT_TRUE(std::isnan(rounded) ? std::isnan(y[i]) : y[i] == rounded)
          << bases[i] << "^" << exponents[i] << " is " << y[i] << ", not " << rounded;
    } else {
      ASSERT_LE(std::abs(format.ulps(y[i] - exact, exact)), 1)
          << bases[i] << "^" << exponents[i] << " is " << y[i];
      ASSERT_EQ(std::signbit(y[i]), std::signbit(rounded)) << bases[i] << "^" << exponents[i];
    }
  }
}

}  // namespace
}  // namespace vernier::cpu
