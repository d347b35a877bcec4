// Plans of several sizes share packed weights, and a tactic that packs them by the sizes of images must not
// take what another size left.
#include "engine/as_reference.h"
#include "isa/needs.h"
#include "passes/rewriting.h"

namespace vernier {
namespace {

TEST(TwoSizes, OfWinogradsConvolutions) {
  VERNIER_NEEDS(kAvx512);
  for (const char* tactic : {"winograd", "winograd-2x2", "winograd-4x4", "vectors", ""}) {
    SCOPED_TRACE(tactic);
    Model model = parse_graph(R"(graph "g" (%x: f32[N, 32, H, H], %w: f32[48, 32, 3, 3]) -> (%y) {
      %p: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11 @"p" from ["p"]
      %y: f32[*] = Relu(%p) version 14 @"y" from ["y"] })");
    const auto noise_of = [](const Dims& dims, uint64_t seed) {
      std::mt19937_64 random(seed);
      std::normal_distribution<double> normal;
      std::vector<double> values(static_cast<size_t>(element_count(dims)));
      for (double& value : values) value = normal(random);
      return Tensor::from_doubles(ElementType::kFloat, dims, values);
    };
    model.graph->inputs[1]->constant = noise_of({48, 32, 3, 3}, 1);
    Compiler compiler(model);
    const PlanChoices choices{Layout::kBlocked16, {{"y", tactic}}};
    const std::vector<Dims> sizes{{1, 32, 8, 8}, {3, 32, 8, 8}, {1, 32, 32, 32}, {8, 32, 64, 64}};
    for (const Dims& dims : sizes)
      compiler.prepare({ValueType::of(ElementType::kFloat, to_shape(dims))}, choices);
    Session session(compiler.engine());
    for (const Dims& dims : sizes) {
      const NamedData data{{"x", noise_of(dims, 2)}};
      const auto actual = session.run(data).at("y").as_tensor().to_doubles();
      const auto expected = run_reference(model, data).outputs[0].as_tensor().to_doubles();
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 2e-3) << dims_text(dims) << " " << i;
    }
  }
}

}  // namespace
}  // namespace vernier
