// Epilogues of contractions against the reference.
#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

// oneDNN 2.6 keeps one set of parameters for all post-ops of a kind.
TEST(Epilogue, OneFunctionWithDifferentParameters) {
  for (const std::string second : {"Add(%m, %one) version 14", "Clip(%m, %one, %two) version 13"}) {
    const Model model = parse_graph(R"(graph "g" (%x: f32[1, 2, 3, 5], %z: f32[3, 2]) -> (%y, %u) {
      const %w = f32[2, 2, 1, 1] hex"0000803f000000400000404000008040"
      const %v = f32[2, 2] hex"0000803f000000400000404000008040"
      const %one = f32[] hex"0000803f"
      const %two = f32[] hex"00000040"
      const %three = f32[] hex"00004040"
      %c: f32[*] = Conv(%x, %w) version 11 @"c" from ["c"]
      %l: f32[*] = Clip(%c, %one, %three) version 13 @"l" from ["l"]
      %m: f32[*] = Mul(%l, %two) version 14 @"m" from ["m"]
      %y: f32[*] = )" + second + R"( @"y" from ["y"]
      %p: f32[*] = MatMul(%z, %v) version 13 @"p" from ["p"]
      %q: f32[*] = Mul(%p, %three) version 14 @"q" from ["q"]
      %u: f32[*] = Sub(%q, %two) version 14 @"u" from ["u"]
    })");
    const auto data = random_data(*model.graph, 1);
    const auto expected = run_reference(model, data).outputs;
    Session session(compile(model));
    const auto actual = session.run(data);
    for (size_t i = 0; i < 2; ++i) {
      const auto a = expected[i].tensor.to_doubles();
      const auto b = actual.at(model.graph->outputs[i]->name).tensor.to_doubles();
      for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5 * (1 + std::abs(a[k]))) << second;
    }
  }
}

// Before opset 11 a bound of Clip that is left out is the end of float, from opset 6 on.
TEST(Epilogue, BoundsOfClipThatAreLeftOut) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kMost = std::numeric_limits<float>::max();
  const auto clipped = [](const char* attributes, int version, float x) {
    const Model model = parse_graph(fmt::format(R"(graph "g" (%x: f32[1, 1]) -> (%y) {{
      const %w = f32[1, 1] hex"0000803f"
      %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
      %y: f32[*] = Clip(%p) {{{}}} version {} @"y" from ["y"]
    }})",
                                                attributes, version));
    const NamedData data{{"x", Tensor::from<float>(ElementType::kFloat, {1, 1}, {x})}};
    const float y = Session(compile(model)).run(data).at("y").tensor.values<float>()[0];
    EXPECT_EQ(y, run_reference(model, data).outputs[0].tensor.values<float>()[0]);
    return y;
  };
  EXPECT_EQ(clipped("max = float 1", 6, -kInfinity), -kMost);
  EXPECT_EQ(clipped("min = float 1", 6, kInfinity), kMost);
  EXPECT_EQ(clipped("max = float 1", 6, kInfinity), 1);
  EXPECT_EQ(clipped("max = float 1", 1, -kInfinity), -kInfinity);
}

}  // namespace
}  // namespace vernier
