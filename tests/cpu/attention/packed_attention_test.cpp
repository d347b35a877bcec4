// Attention that reads its operands as columns of one tensor.
#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

// 4 heads of queries, 2 of keys and values; the parts in any order.
void expect_packed(const std::string& parts, const std::string& sizes, const std::string& more) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[2, 37, 64], %mask: f32[2, 1, 37, 37]) -> (%y) {
    const %sizes = i64[3] )" + sizes +
                                  R"(
    )" + parts + R"( = Split(%x, %sizes) {axis = -1} version 18 @"s" from ["s"]
    %y: f32[*] = Attention(%q, %k, %v)" +
                                  more + R"( version 23 @"a" from ["a"]
  })");
  const auto data = random_data(*model.graph, 1);
  const auto expected = run_reference(model, data).outputs[0].tensor.to_doubles();
  BuildOptions options;
  options.tune.approximate = false;  // else it depends on times which kernel it is
  Compiler compiler(model, options);
  compiler.prepare({model.graph->inputs[0]->type, model.graph->inputs[1]->type});
  const auto engine = compiler.engine();
  std::vector<std::string> kernels;
  for (const Step& step : engine->prepared()[0].plan->steps)
    kernels.push_back(step.kernel ? step.kernel->name : "");
  EXPECT_EQ(kernels, std::vector<std::string>{"cpu:attention"});
  Session session(engine);
  const auto actual = session.run(data).at("y").tensor.to_doubles();
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-5) << parts << " at " << i;
}

TEST(PackedAttention, PartsOfOneTensor) {
  const std::string q_first = R"(hex"200000000000000010000000000000001000000000000000")",
                    q_last = R"(hex"100000000000000010000000000000002000000000000000")";
  const std::string heads = " {q_num_heads = 4, kv_num_heads = 2";
  expect_packed("%q: f32[*], %k: f32[*], %v: f32[*]", q_first, ")" + heads + "}");
  expect_packed("%v: f32[*], %k: f32[*], %q: f32[*]", q_last, ")" + heads + ", is_causal = 1}");
  expect_packed("%q: f32[*], %k: f32[*], %v: f32[*]", q_first, ", %mask)" + heads + "}");
}

}  // namespace
}  // namespace vernier
