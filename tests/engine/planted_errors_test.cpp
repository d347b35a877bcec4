// Tests what verification of kernels catches, and what it leaves alone: each tactic of each family of kernels
// is healthy on several data, and an element that is ten expected errors off is found wherever it stands.
#include <gtest/gtest.h>

#include <iostream>

#include "passes/rewriting.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/base/hash.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/engine.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/exec/backend_decorator.h"
#include "vernier/exec/kernel_decorator.h"
#include "vernier/exec/laid_out.h"
#include "vernier/tune/trial.h"

namespace vernier {
namespace {

struct Family {
  const char* name;
  const char* graph;
};

const cpu::CpuBackend& cpu_backend() {
  static const cpu::CpuBackend kernels;
  return kernels;
}

constexpr Family kFamilies[] = {
    {"convolution_3x3", R"(graph "g" (%x: f32[1, 32, 14, 15]) -> (%y) {
       const %w = f32[48, 32, 3, 3] noise
       const %b = f32[48] noise
       %p: f32[*] = Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11 @"p" from ["p"]
       %y: f32[*] = Relu(%p) version 14 @"y" from ["y"] })"},
    {"convolution_1x1", R"(graph "g" (%x: f32[1, 64, 12, 12], %r: f32[1, 96, 12, 12]) -> (%y) {
       const %w = f32[96, 64, 1, 1] noise
       %p: f32[*] = Conv(%x, %w) version 11 @"p" from ["p"]
       %s: f32[*] = Add(%p, %r) version 14 @"s" from ["s"]
       %y: f32[*] = Relu(%s) version 14 @"y" from ["y"] })"},
    {"convolution_strided", R"(graph "g" (%x: f32[2, 16, 21, 17]) -> (%y) {
       const %w = f32[24, 16, 5, 3] noise
       %y: f32[*] = Conv(%x, %w) {pads = ints[2, 1, 2, 1], strides = ints[2, 2]} version 11 @"y" from ["y"] })"},
    {"depthwise", R"(graph "g" (%x: f32[1, 48, 13, 13]) -> (%y) {
       const %w = f32[48, 1, 3, 3] noise
       %p: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1], group = 48} version 11 @"p" from ["p"]
       %s: f32[*] = Sigmoid(%p) version 13 @"s" from ["s"]
       %y: f32[*] = Mul(%p, %s) version 14 @"y" from ["y"] })"},
    {"transposed", R"(graph "g" (%x: f32[1, 24, 9, 9]) -> (%y) {
       const %w = f32[24, 16, 4, 4] noise
       %y: f32[*] = ConvTranspose(%x, %w) {pads = ints[1, 1, 1, 1], strides = ints[2, 2]} version 11 @"y" from ["y"] })"},
    {"gemm", R"(graph "g" (%x: f32[33, 200]) -> (%y) {
       const %w = f32[200, 72] noise
       const %b = f32[72] noise
       %p: f32[*] = Gemm(%x, %w, %b) version 13 @"p" from ["p"]
       %y: f32[*] = Gelu(%p) version 20 @"y" from ["y"] })"},
    {"gemm_row", R"(graph "g" (%x: f32[1, 512]) -> (%y) {
       const %w = f32[512, 96] noise
       const %b = f32[96] noise
       %y: f32[*] = Gemm(%x, %w, %b) version 13 @"y" from ["y"] })"},
    {"matmul_batched", R"(graph "g" (%x: f32[6, 40, 64], %z: f32[6, 64, 48]) -> (%y) {
       %y: f32[*] = MatMul(%x, %z) version 13 @"y" from ["y"] })"},
    {"attention", R"(graph "g" (%q: f32[2, 96, 64], %k: f32[2, 96, 64], %v: f32[2, 96, 64]) -> (%y) {
       const %scale = f32[] hex"0000003e"
       %t: f32[*] = Transpose(%k) {perm = ints[0, 2, 1]} version 13 @"t" from ["t"]
       %s: f32[*] = MatMul(%q, %t) version 13 @"s" from ["s"]
       %d: f32[*] = Mul(%s, %scale) version 14 @"d" from ["d"]
       %p: f32[*] = Softmax(%d) {axis = -1} version 13 @"p" from ["p"]
       %y: f32[*] = MatMul(%p, %v) version 13 @"y" from ["y"] })"},
    {"softmax", R"(graph "g" (%x: f32[20, 100]) -> (%y) {
       %y: f32[*] = Softmax(%x) {axis = -1} version 13 @"y" from ["y"] })"},
    {"layer_normalization", R"(graph "g" (%x: f32[20, 96]) -> (%y) {
       const %s = f32[96] noise
       const %b = f32[96] noise
       %y: f32[*] = LayerNormalization(%x, %s, %b) {axis = -1} version 17 @"y" from ["y"] })"},
    {"instance_normalization", R"(graph "g" (%x: f32[2, 24, 9, 11]) -> (%y) {
       const %s = f32[24] noise
       const %b = f32[24] noise
       %y: f32[*] = InstanceNormalization(%x, %s, %b) version 6 @"y" from ["y"] })"},
    {"average_pool", R"(graph "g" (%x: f32[1, 32, 15, 15]) -> (%y) {
       %y: f32[*] = AveragePool(%x) {kernel_shape = ints[3, 3], strides = ints[2, 2]} version 11 @"y" from ["y"] })"},
    {"max_pool", R"(graph "g" (%x: f32[1, 32, 15, 15]) -> (%y) {
       %y: f32[*] = MaxPool(%x) {kernel_shape = ints[3, 3], strides = ints[2, 2]} version 11 @"y" from ["y"] })"},
    {"reduce", R"(graph "g" (%x: f32[30, 400]) -> (%y) {
       const %axes = i64[1] hex"0100000000000000"
       %y: f32[*] = ReduceMean(%x, %axes) {keepdims = 0} version 18 @"y" from ["y"] })"},
    {"resize", R"(graph "g" (%x: f32[1, 16, 9, 9]) -> (%y) {
       const %scales = f32[4] hex"0000803f0000803f0000004000000040"
       %y: f32[*] = Resize(%x, _, %scales) {mode = "linear"} version 13 @"y" from ["y"] })"},
    {"pointwise", R"(graph "g" (%x: f32[50, 60], %z: f32[50, 60]) -> (%y) {
       %a: f32[*] = Tanh(%x) version 13 @"a" from ["a"]
       %b: f32[*] = Mul(%a, %z) version 14 @"b" from ["b"]
       %c: f32[*] = Exp(%b) version 13 @"c" from ["c"]
       %y: f32[*] = Sub(%c, %x) version 14 @"y" from ["y"] })"},
    {"lstm", R"(graph "g" (%x: f32[12, 2, 20]) -> (%y) {
       const %w = f32[1, 96, 20] noise
       const %r = f32[1, 96, 24] noise
       %y: f32[*] = LSTM(%x, %w, %r) {hidden_size = 24} version 14 @"y" from ["y"] })"},
    {"gru", R"(graph "g" (%x: f32[12, 2, 20]) -> (%y) {
       const %w = f32[1, 72, 20] noise
       const %r = f32[1, 72, 24] noise
       %y: f32[*] = GRU(%x, %w, %r) {hidden_size = 24} version 14 @"y" from ["y"] })"},
    {"group_normalization", R"(graph "g" (%x: f32[2, 24, 9, 11]) -> (%y) {
       const %s = f32[24] noise
       const %b = f32[24] noise
       %y: f32[*] = GroupNormalization(%x, %s, %b) {num_groups = 4} version 21 @"y" from ["y"] })"},
    {"rms_normalization", R"(graph "g" (%x: f32[20, 96]) -> (%y) {
       const %s = f32[96] noise
       %y: f32[*] = RMSNormalization(%x, %s) {axis = -1} version 23 @"y" from ["y"] })"},
    {"lrn", R"(graph "g" (%x: f32[1, 32, 7, 9]) -> (%y) {
       %y: f32[*] = LRN(%x) {size = 5} version 13 @"y" from ["y"] })"},
    {"codes_of_4_bits", R"(graph "g" (%x: f32[7, 64]) -> (%y) {
       const %w = u8[48, 2, 16] noise
       const %s = f32[96] noise
       %y: f32[*] = com.microsoft::MatMulNBits(%x, %w, %s) {N = 48, K = 64, bits = 4, block_size = 32} version 1 @"y" from ["y"] })"},
    {"codes_of_8_bits", R"(graph "g" (%x: f32[33, 200]) -> (%y) {
       const %w = i8[200, 72] noise
       const %s = f32[] hex"0000003c"
       const %xz = u8[] hex"80"
       const %wz = i8[] hex"00"
       %q: u8[*] = QuantizeLinear(%x, %s, %xz) version 13 @"q" from ["q"]
       %xd: f32[*] = DequantizeLinear(%q, %s, %xz) version 13 @"xd" from ["xd"]
       %wd: f32[*] = DequantizeLinear(%w, %s, %wz) version 13 @"wd" from ["wd"]
       %y: f32[*] = MatMul(%xd, %wd) version 13 @"y" from ["y"] })"},
};

enum class Precision { kF32, kBf16, kFp16 };

class PlantedErrors : public testing::TestWithParam<std::tuple<Family, Precision>> {};

const char* precision_name(Precision precision) {
  return precision == Precision::kF32 ? "f32" : precision == Precision::kBf16 ? "bf16" : "fp16";
}

Tensor noise_of(const Tensor& like, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(like.type() == ElementType::kUint8 ? 128 : 0,
                                          is_float(like.type()) ? 0.2 : 30);
  std::vector<double> values(static_cast<size_t>(like.size()));
  for (double& value : values) value = is_float(like.type()) ? normal(random) : std::round(normal(random));
  return Tensor::from_doubles(like.type(), like.dims(), values);
}

// Constants written as "noise" are drawn.
Model drawn_model(std::string text, uint64_t seed) {
  const std::string marker = " noise";
  std::set<std::string> drawn;
  for (size_t at = text.find(marker); at != std::string::npos; at = text.find(marker)) {
    const size_t line = text.rfind("const %", at) + 7, equals = text.find(" = ", line);
    drawn.insert(text.substr(line, equals - line));
    const ValueType type = parse_value_type(text.substr(equals + 3, at - equals - 3));
    const auto bytes =
        static_cast<size_t>(element_count(*to_dims(*type.tensor.shape))) * element_size(type.tensor.element);
    text.replace(at, marker.size(), " hex\"" + std::string(bytes * 2, '0') + "\"");
  }
  Model model = parse_graph(text);
  for (const auto& value : model.graph->values()) {
    if (drawn.contains(value->name))
      value->constant = noise_of(*value->constant, seed + hash_text(value->name));
  }
  return model;
}

// Meets every request of a plan that can be tried, with every tactic that the backend has for it.
class EachTactic : public BackendDecorator {
 public:
  using Body = std::function<void(const KernelRequest&, const Kernel&)>;
  EachTactic(const Backend& kernels, Body body) : BackendDecorator(kernels), body_(std::move(body)) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    if (request.tactic.empty() && can_draw(request)) {
      auto tactics = backend_.tactics(request);
      tactics.insert(tactics.begin(), "");
      for (const std::string& tactic : tactics) {
        KernelRequest asked = request;
        asked.tactic = tactic;
        std::string why_not;
        if (const auto kernel = backend_.make(asked, why_not)) body_(request, *kernel);
      }
    }
    return backend_.make(request, reason);
  }

 private:
  Body body_;
};

void for_each_kernel(const Family& family, Precision precision, uint64_t seed, const EachTactic::Body& body) {
  BuildOptions options;
  options.precision.bf16 = precision == Precision::kBf16;
  options.precision.fp16 = precision == Precision::kFp16;
  options.tune.level = 0;
  const Model model = drawn_model(family.graph, seed);
  Compiler compiler(model, options);
  std::vector<ValueType> types;
  for (const Value* input : compiler.graph().inputs) types.push_back(input->type);
  compiler.prepare(types);
  const auto engine = compiler.engine();
  const EachTactic each(engine->kernels(), body);
  PackedConstants packed;
  engine->planner().plan_again(*engine->prepared()[0].plan, each, packed);
}

TEST_P(PlantedErrors, HealthyKernelsRaiseNoAlarm) {
  const auto& [family, precision] = GetParam();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    for_each_kernel(family, precision, seed, [&](const KernelRequest& request, const Kernel& kernel) {
      Trial trial(request, cpu_backend());
      const TacticVerdict verdict = trial.judge(kernel);
      EXPECT_EQ(verdict.fault, "") << kernel.name << " of " << request.node.op << ": "
                                   << kernel.contract.text();
    });
  }
}

TEST_P(PlantedErrors, OneElementOfTenExpectedErrorsIsFound) {
  const auto& [family, precision] = GetParam();
  constexpr int kPlaces = 1000;
  int planted = 0, found = 0, kernels = 0;
  for_each_kernel(family, precision, 1, [&](const KernelRequest& request, const Kernel& kernel) {
    const TrialOperands drawn = drawn_operands(request, cpu_backend());
    const auto expected = ErrorModel(request.node, drawn.plain).outputs(kernel.contract);
    const Tensor made = Trial(request, cpu_backend()).outputs(kernel).at(0);
    const Tensor healthy =
        laid_out(cpu_backend(), made, request.out(), Layout::kPlain).reshaped(request.out().dims);
    if (healthy.size() == 0 || !is_float(healthy.type())) return;
    ++kernels;
    std::mt19937_64 random(7);
    const auto values = healthy.to_doubles();
    for (int place = 0; place < kPlaces; ++place) {
      const size_t element = random() % values.size();
      const double error = 10 * expected.at(0).at(element);
      auto one = ElementErrors{Tensor::from_doubles(ElementType::kDouble, {1},
                                                    std::vector{expected.at(0).value.to_doubles()[element]}),
                               {expected.at(0).at(element)}};
      const double wrong = values[element] + (random() % 2 == 0 ? error : -error);
      ++planted;
      // An exact element that is an ulp off.
      const double off = error > 0 ? wrong : std::nextafter(static_cast<float>(values[element]), 1e30F);
      found += !deviation(one, Tensor::from_doubles(healthy.type(), {1}, std::vector{off})).is_rounding();
    }
  });
  ASSERT_GT(kernels, 0);
  RecordProperty("planted", planted);
  RecordProperty("found", found);
  std::cout << fmt::format("{} {}: {} of {} planted errors found in {} kernels\n", family.name,
                           precision_name(precision), found, planted, kernels);
  EXPECT_GE(found, 0.99 * planted);
}

// The whole way: the tuner does not take a tactic that is off in one element.
class OffInOneElement : public KernelDecorator {
 public:
  OffInOneElement(std::unique_ptr<Kernel> inner, size_t element, float off)
      : KernelDecorator(std::move(inner)), element_(element), off_(off) {
    scratch_bytes = inner_->scratch_bytes;
  }
  void run(const KernelArguments& arguments) const override {
    inner_->run(arguments);
    static_cast<float*>(arguments.outputs[0])[element_] += off_;
  }
  bool reads(size_t input) const override { return inner_->reads(input); }

 private:
  size_t element_;
  float off_;
};

class Planted : public BackendDecorator {
 public:
  Planted(const Backend& kernels, float off) : BackendDecorator(kernels), off_(off) {}
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    KernelRequest own = request;
    own.tactic = "";
    auto kernel = backend_.make(own, reason);
    if (!kernel || request.tactic != "planted") return kernel;
    return std::make_unique<OffInOneElement>(std::move(kernel), 1234, off_);
  }
  std::vector<std::string> tactics(const KernelRequest&) const override { return {"planted"}; }

 private:
  float off_;
};

TEST(PlantedError, TheTunerDoesNotTakeIt) {
  // Beside a sum of 200 products, an error of 2e-6 relative to their size is small, and 1e-5 does not come
  // from rounding.
  for (const float off : {0.0F, 2e-5F}) {
    std::string fault;
    for_each_kernel(kFamilies[5], Precision::kF32, 1, [&](const KernelRequest& request, const Kernel&) {
      const Planted kernels(cpu_backend(), off);
      TimingCache cache("here");
      Tuner tuner(kernels, cache, {});
      tuner.choose(request);
      if (!tuner.results().empty() && tuner.results().back().records.contains("planted"))
        fault += tuner.results().back().records.at("planted").quarantine;
    });
    EXPECT_EQ(fault.empty(), off == 0) << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PlantedErrors,
                         testing::Combine(testing::ValuesIn(kFamilies),
                                          testing::Values(Precision::kF32, Precision::kBf16,
                                                          Precision::kFp16)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param).name,
                                              precision_name(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace vernier
