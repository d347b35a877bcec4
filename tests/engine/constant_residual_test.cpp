// A constant of the sizes of a convolution's output lies as the model has it, and the output as the kernel
// likes: oneDNN would read the one as if it lay as the other.
#include "engine/as_reference.h"
#include "passes/rewriting.h"

namespace vernier {
namespace {

Tensor noise_of(ElementType type, const Dims& dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = normal(random);
  return Tensor::from_doubles(type, dims, values);
}

TEST(ConstantResidual, OfAConvolutionLiesAsItsOutput) {
  for (const char* op : {"Add", "Mul", "Max"}) {
    for (const Layout images : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
      SCOPED_TRACE(fmt::format("{} {}", op, layout_name(images)));
      Model model = parse_graph(fmt::format(
          R"(graph "g" (%x: f32[1, 16, 7, 9], %w: f32[32, 16, 3, 3], %c: f32[1, 32, 7, 9]) -> (%y) {{
        %p: f32[*] = Conv(%x, %w) {{pads = ints[1, 1, 1, 1]}} version 11 @"p" from ["p"]
        %y: f32[*] = {}(%p, %c) version 14 @"y" from ["y"] }})",
          op));
      model.graph->inputs[1]->constant = noise_of(ElementType::kFloat, {32, 16, 3, 3}, 1);
      model.graph->inputs[2]->constant = noise_of(ElementType::kFloat, {1, 32, 7, 9}, 2);
      Compiler compiler(model);
      const PlanChoices choices{images, {}};
      compiler.prepare({model.graph->inputs[0]->type}, choices);
      const auto engine = compiler.engine();
      const NamedData data{{"x", noise_of(ElementType::kFloat, {1, 16, 7, 9}, 3)}};
      Session session(engine);
      const auto actual = session.run(data).at("y").as_tensor().to_doubles();
      const auto expected = run_reference(model, data).outputs[0].as_tensor().to_doubles();
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4) << i;
    }
  }
}

}  // namespace
}  // namespace vernier
