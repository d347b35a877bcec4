// With default options a model runs in the types that it declares, whatever they are: kernels that would
// compute in others are passed over.
#include <gmock/gmock.h>

#include "engine/as_reference.h"
#include "vernier/builder/builder.h"

namespace vernier {
namespace {

constexpr std::pair<const char*, int> kTypes[] = {{"f16", 10}, {"bf16", 16}, {"f32", 1}, {"f64", 11}};

// Whether an engine of default options, tuned or not, yields what the reference does.
void expect_obeyed(const Model& model, const std::string& what) {
  const auto data = random_data(*model.graph, 1);
  const auto expected = run_reference(model, data).outputs[0].tensor;
  for (const int level : {0, 2}) {
    BuildOptions options;
    options.tune.level = level;
    try {
      const auto engine = Builder(model, options).build({}, Judge::kNever).engine;
      const auto actual = Session(engine).run(data).at("y").tensor;
      ASSERT_EQ(actual.type(), expected.type()) << what;
      // Two steps of the narrowest type on the way, which two roundings may differ by.
      const auto a = expected.to_doubles(), b = actual.to_doubles();
      for (size_t i = 0; i < a.size(); ++i) {
        const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        ASSERT_TRUE(same || std::abs(a[i] - b[i]) <= 0.03 * (1 + std::abs(a[i])))
            << what << " at " << i << ": " << b[i] << " instead of " << a[i];
      }
    } catch (const Error& error) {
      FAIL() << what << ": " << error.what();
    }
  }
}

TEST(Obey, AnIslandOfDoubles) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[2, 8]) -> (%y) {
    %d: f64[*] = Cast(%x) {to = 11} version 13 @"up" from ["up"]
    %e: f64[*] = Exp(%d) version 13 @"exp" from ["exp"]
    %y: f32[*] = Cast(%e) {to = 1} version 13 @"down" from ["down"]
  })");
  const auto data = random_data(*model.graph, 1);
  const auto expected = run_reference(model, data).outputs[0].tensor;
  const auto engine = Builder(model, {}).build().engine;
  EXPECT_TRUE(Session(engine).run(data).at("y").tensor.identical(expected));
  // One kernel computes it in doubles, and says so.
  ASSERT_EQ(engine->prepared().at(0).plan->steps.size(), 1U);
  const auto& kernel = engine->prepared()[0].plan->steps[0].kernel;
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->contract.computed, ElementType::kDouble);
}

// No operator of these lies between the casts that a kernel may leave out.
TEST(Obey, CastsAlone) {
  for (const auto& [through, number] : kTypes) {
    for (const auto& [type, unused] : kTypes) {
      const std::string text = fmt::format(R"(graph "g" (%x: {}[2, 8]) -> (%y) {{
        %d: {}[*] = Cast(%x) {{to = {}}} version 13 @"one" from ["one"]
        %y: f32[*] = Cast(%d) {{to = 1}} version 13 @"two" from ["two"]
      }})",
                                           type, through, number);
      expect_obeyed(parse_graph(text), text);
    }
  }
}

// Nodes that keep sizes, of the types that ONNX gives them, between casts.
std::string random_chain(std::mt19937& random, int steps) {
  constexpr const char* kNodes[] = {"Softmax(%{}) {{axis = -1}} version 13",
                                    "Exp(%{}) version 13",
                                    "Tanh(%{}) version 13",
                                    "Sigmoid(%{}) version 13",
                                    "Relu(%{}) version 14",
                                    "Neg(%{}) version 13",
                                    "Add(%{0}, %{0}) version 14",
                                    "Mul(%{0}, %{0}) version 14",
                                    "MatMul(%{0}, %{0}) version 13",
                                    "Transpose(%{}) {{perm = ints[1, 0]}} version 13",
                                    "LogSoftmax(%{}) {{axis = 0}} version 13",
                                    "Sqrt(%{}) version 13",
                                    "ReduceMax(%{}) {{axes = ints[1], keepdims = 1}} version 13",
                                    "ReduceMean(%{}) {{axes = ints[0], keepdims = 1}} version 13"};
  const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  const char* const first = kTypes[pick(std::size(kTypes))].first;
  std::string body, at = "x", type = first;
  bool square = true;
  for (int i = 0; i < steps; ++i) {
    const bool cast = random() % 2 == 0;
    const std::string name = i + 1 == steps ? "y" : fmt::format("v{}", i);
    size_t which = pick(std::size(kNodes));
    if (!cast && which == 8 && !square) which = 4;
    if (!cast && which >= 12) square = false;
    std::string node = cast ? "" : fmt::format(fmt::runtime(kNodes[which]), at);
    if (cast) {
      const auto& [to, number] = kTypes[pick(std::size(kTypes))];
      node = fmt::format("Cast(%{}) {{to = {}}} version 13", at, number);
      type = to;
    }
    body += fmt::format("  %{}: {}[*] = {} @\"n{}\" from [\"n{}\"]\n", name, type, node, i, i);
    at = name;
  }
  return fmt::format("graph \"g\" (%x: {}[6, 6]) -> (%y) {{\n{}}}", first, body);
}

TEST(Obey, RandomChains) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::string text = random_chain(random, 2 + static_cast<int>(seed % 6));
    expect_obeyed(parse_graph(text), fmt::format("seed {}: {}", seed, text));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace vernier
