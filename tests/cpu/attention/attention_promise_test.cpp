// The planned reference follows what kernels of attention promise.
#include "isa/needs.h"
#include "passes/rewriting.h"
#include "vernier/backends/cpu/attention/block_attention.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/planned_runner.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

Model attention_model() {
  return parse_graph(
      R"(graph "g" (%q: bf16[1, 4, 32, 64], %k: bf16[1, 4, 200, 64], %v: bf16[1, 4, 200, 64]) -> (%y) {
    %y: bf16[*] = Attention(%q, %k, %v) version 23 @"a" from ["a"]
  })");
}

std::vector<double> reals(const Datum& datum) {
  return datum.as_tensor().to_doubles();
}

// The kernel rounds probabilities to bfloat16, and nothing else that the model does not.
TEST(AttentionPromise, ThePlannedReferenceRoundsProbabilities) {
  const Model model = attention_model();
  const NamedData data = random_data(*model.graph, 7);
  for (const std::string tactic : {"", cpu::kBFloat16Probabilities}) {
    if (!tactic.empty()) VERNIER_NEEDS(kBf16);
    Compiler compiler(model);
    const PlanChoices choices{.tactics = {{"y", tactic}}};
    compiler.prepare(
        {model.graph->inputs[0]->type, model.graph->inputs[1]->type, model.graph->inputs[2]->type}, choices);
    const auto engine = compiler.engine();
    Session session(engine);
    const NumericsContract& contract = session.plan(data)->steps.back().kernel->contract;
    EXPECT_EQ(contract.probabilities == ElementType::kBFloat16, !tactic.empty());
    const auto is = reals(session.run(data).at("y"));
    const auto planned = reals(PlannedRunner(engine).run(data, {}).find("y")->datum);
    const auto declared = reals(run_reference(model, data).outputs[0]);
    const auto differing = [&](const std::vector<double>& other) {
      size_t count = 0;
      for (size_t i = 0; i < is.size(); ++i) count += is[i] != other[i] ? 1 : 0;
      return count;
    };
    if (tactic.empty()) {
      EXPECT_EQ(planned, declared);
    } else {
      // The kernel's exponential has few more digits than bfloat16, so some probabilities round the other
      // way.
      EXPECT_LT(differing(planned) * 5, is.size());
      EXPECT_GT(differing(declared), 2 * differing(planned));
    }
  }
}

}  // namespace
}  // namespace vernier
