// Convolutions of one pixel with the depthwise ones that read them, as one kernel: the same bits as one after
// the other, which have tests of their own.
#include <gmock/gmock.h>

#include "passes/rewriting.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/planned_runner.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

constexpr auto kF32 = ElementType::kFloat, kBf16 = ElementType::kBFloat16;

struct Case {
  int64_t batch = 1, inputs = 16, channels = 48, lines = 14, columns = 13;
  std::vector<int64_t> kernel = {3, 3}, strides = {1, 1}, pads = {1, 1, 1, 1};
  std::string first_end = "Clip", second_end = "Clip";
};

// The text of a node that ends %from, if there is one.
std::string end_of(const std::string& op, const std::string& from, const std::string& to) {
  if (op == "Clip")
    return fmt::format("%{1}: T[*] = Clip(%{0}, %low, %high) version 13 @\"{1}\" from [\"{1}\"]\n", from, to);
  return fmt::format("%{1}: T[*] = {2}(%{0}) version 24 @\"{1}\" from [\"{1}\"]\n", from, to, op);
}

Model model_of(const Case& with, ElementType element) {
  const std::string type = element == kF32 ? "f32" : "bf16";
  const auto noise = [&](const std::string& name, const Dims& dims) {
    return fmt::format(
        "const %{} = {} hex\"{}\"\n", name, ValueType::of(element, to_shape(dims)).text(),
        std::string(static_cast<size_t>(element_count(dims)) * element_size(element) * 2, '0'));
  };
  std::string text =
      fmt::format("graph \"g\" (%x: T[{}, {}, {}, {}]) -> (%y) {{\n", with.batch, with.inputs, with.lines,
                  with.columns) +
      noise("w", {with.channels, with.inputs, 1, 1}) + noise("b", {with.channels}) +
      noise("v", {with.channels, 1, with.kernel[0], with.kernel[1]}) + noise("u", {with.channels}) +
      (element == kF32 ? "const %low = f32[] hex\"000000bf\"\nconst %high = f32[] hex\"0000c03f\"\n"
                       : "const %low = bf16[] hex\"00bf\"\nconst %high = bf16[] hex\"c03f\"\n") +
      "%a: T[*] = Conv(%x, %w, %b) version 11 @\"a\" from [\"a\"]\n" + end_of(with.first_end, "a", "c") +
      fmt::format(
          "%d: T[*] = Conv(%c, %v, %u) {{group = {}, strides = ints[{}], pads = ints[{}]}} version 11 "
          "@\"d\" from [\"d\"]\n",
          with.channels, fmt::join(with.strides, ", "), fmt::join(with.pads, ", ")) +
      end_of(with.second_end, "d", "y") + "}";
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos;) text.replace(at, 1, type);
  Model model = parse_graph(text);
  for (const auto& value : model.graph->values()) {
    if (!value->is_constant() || value->name.size() != 1) continue;
    std::mt19937_64 random(value->name[0]);
    std::normal_distribution<double> normal(0, 0.4);
    std::vector<double> numbers(static_cast<size_t>(value->constant->size()));
    for (double& each : numbers) each = normal(random);
    value->constant = Tensor::from_doubles(element, value->constant->dims(), numbers);
  }
  return model;
}

const PlanChoices kTogether{Layout::kChannelsLast, {{"y", "pointwise-depthwise"}}},
    kApart{Layout::kChannelsLast, {{"c", "vectors"}, {"y", "depthwise"}}, {{"y", 1}}};

struct Result {
  Tensor y;
  std::vector<std::string> kernels;
};

Result run(const Model& model, const PlanChoices& choices, const NamedData& data) {
  Compiler compiler(model);
  compiler.prepare({model.graph->inputs[0]->type}, choices);
  const auto engine = compiler.engine();
  Result result{Session(engine).run(data).at("y").as_tensor(), {}};
  for (const Step& step : engine->prepared()[0].plan->steps) {
    if (step.node != nullptr && step.kernel) result.kernels.push_back(step.kernel->name);
  }
  return result;
}

class PointwiseDepthwise : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::has_vector_blocks() || cpu::has_bf16_tiles()) GTEST_SKIP() << "needs avx512_bf16, and no tiles";
  }

  static void expect(const Case& with) {
    const int before = thread_count();
    for (const ElementType element : {kF32, kBf16}) {
      const Model model = model_of(with, element);
      const NamedData data = random_data(*model.graph, 7);
      const Tensor apart = run(model, kApart, data).y;
      for (const int threads : {1, 2, 3}) {
        SCOPED_TRACE(fmt::format("{} of [{}, {}, {}, {}], {} threads", with.channels, with.batch, with.inputs,
                                 with.lines, with.columns, threads));
        set_thread_count(threads);
        const Result together = run(model, kTogether, data);
        EXPECT_THAT(together.kernels, testing::ElementsAre("cpu:pointwise_depthwise"));
        EXPECT_TRUE(together.y.identical(apart));
      }
    }
    set_thread_count(before);
  }
};

TEST_F(PointwiseDepthwise, ImagesAndChannels) {
  for (const int64_t channels : {16, 32, 48, 75, 160}) {
    expect({.channels = channels});
    expect({.batch = 3, .inputs = 24, .channels = channels, .lines = 7, .columns = 7});
    expect({.inputs = 32, .channels = channels, .lines = 40, .columns = 60});  // lines go round in a ring
    expect({.channels = channels, .lines = 1, .columns = 1});
    expect({.batch = 2, .channels = channels, .lines = 33, .columns = 150, .strides = {2, 2}});
  }
}

TEST_F(PointwiseDepthwise, Windows) {
  for (const Dims& image : {Dims{40, 60}, Dims{14, 14}, Dims{3, 3}}) {
    const Case with{.lines = image[0], .columns = image[1]};
    const auto window = [&](std::vector<int64_t> kernel, std::vector<int64_t> strides,
                            std::vector<int64_t> pads) {
      Case one = with;
      one.kernel = std::move(kernel), one.strides = std::move(strides), one.pads = std::move(pads);
      expect(one);
    };
    window({5, 5}, {1, 1}, {2, 2, 2, 2});
    window({5, 5}, {2, 2}, {2, 2, 2, 2});
    window({5, 5}, {1, 1}, {4, 4, 4, 4});  // lines of outputs far outside of small images
    window({3, 3}, {1, 1}, {0, 0, 0, 0});
    window({3, 3}, {2, 2}, {0, 0, 1, 1});
    window({1, 3}, {3, 1}, {0, 1, 0, 1});  // lines between are left out
    window({7, 3}, {2, 1}, {3, 1, 3, 1});
    window({3, 5}, {4, 2}, {2, 3, 2, 1});
  }
}

TEST_F(PointwiseDepthwise, Ends) {
  for (const char* first : {"Clip", "Relu", "Swish"}) {
    for (const char* second : {"Clip", "Relu", "Swish"}) {
      expect({.lines = 40, .columns = 60, .first_end = first, .second_end = second});
      expect({.first_end = first, .second_end = second});
    }
  }
}

// A NaN or an infinity stays where it is.
TEST_F(PointwiseDepthwise, NumbersThatAreNone) {
  for (const ElementType element : {kF32, kBf16}) {
    const Model model = model_of({}, element);
    NamedData data = random_data(*model.graph, 7);
    std::vector<double> values = data.at("x").as_tensor().to_doubles();
    values[70] = std::nan(""), values[900] = HUGE_VAL;
    data["x"] = Tensor::from_doubles(element, data.at("x").as_tensor().dims(), values);
    const Tensor y = run(model, kTogether, data).y;
    EXPECT_TRUE(y.identical(run(model, kApart, data).y));
    const auto is = y.to_doubles(), wanted = run_reference(model, data).outputs[0].as_tensor().to_doubles();
    int64_t none = 0;
    for (size_t i = 0; i < is.size(); ++i) {
      ASSERT_EQ(std::isnan(is[i]), std::isnan(wanted[i])) << i;
      none += std::isnan(is[i]) ? 1 : 0;
    }
    EXPECT_GT(none, 0);
    EXPECT_LT(none, y.size() / 2);
  }
}

// The value between is rounded to the type that the model declares, and the promise says so.
TEST_F(PointwiseDepthwise, ThePlannedReferenceRoundsBetween) {
  const Model model = model_of({.inputs = 64, .first_end = "Swish", .second_end = "Swish"}, kBf16);
  const NamedData data = random_data(*model.graph, 7);
  Compiler compiler(model);
  compiler.prepare({model.graph->inputs[0]->type}, kTogether);
  const auto engine = compiler.engine();
  const auto is = Session(engine).run(data).at("y").as_tensor().to_doubles();
  const auto planned = PlannedRunner(engine).run(data, {}).find("y")->datum.as_tensor().to_doubles();
  const auto declared = run_reference(model, data).outputs[0].as_tensor().to_doubles();
  const auto differing = [&](const std::vector<double>& other) {
    int64_t count = 0;
    for (size_t i = 0; i < is.size(); ++i) count += is[i] != other[i] ? 1 : 0;
    return count;
  };
  // Functions are short, and float accumulators tie otherwise than doubles now and then. The model as
  // declared rounds before its Swish, too.
  EXPECT_LT(differing(planned) * 50, static_cast<int64_t>(is.size()));
  EXPECT_GT(differing(declared), 3 * differing(planned));
}

TEST_F(PointwiseDepthwise, OthersAreComputedApart) {
  const auto kernels = [](const Case& with) {
    const Model model = model_of(with, kF32);
    return run(model, kTogether, random_data(*model.graph, 7)).kernels.size();
  };
  EXPECT_EQ(kernels({}), 1);
  EXPECT_EQ(kernels({.channels = 12}), 2);             // fill no vector
  EXPECT_EQ(kernels({.kernel = {3, 4}}), 2);           // a window without loops
  EXPECT_EQ(kernels({.second_end = "HardSwish"}), 2);  // not in one pass
  EXPECT_EQ(kernels({.first_end = "HardSwish"}), 2);
}

}  // namespace
}  // namespace vernier
