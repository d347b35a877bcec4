// The IR: text, hash, verifier, rewriter.
#include <gtest/gtest.h>

#include "vernier/ir/hash.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ir/text.h"
#include "vernier/ir/verify.h"

namespace vernier {
namespace {

const std::string kModel = R"(model ir=8 opset "" 17 opset "com.microsoft" 1 {
  graph "main" (%x: f32[N, 2], %"odd name": i64[], %flag: bool[]) -> (%y, %z) {
    const %w = f32[2] hex"0000803f000000c0"
    %a: f32[N, 2] = Mul(%x, %w) version 17 @"mul" from ["mul"]
    %y: f32[N, 2] = com.microsoft::Gelu(%a, _) {alpha = float 0.1, mode = "a\"b\x0a", axes = ints[], scales = floats[1, 0x7fc00000], value = tensor u4[3] hex"2103", kind = type seq(f32[*])} version 1 @"gelu" from ["add", "gelu"]
    %z: f32[N, max(N, 2)] = If(%flag) version 17 @"if" from ["if"] regions {
      then_branch =
      graph "then" () -> (%t) {
        %t: f32[*] = Identity(%y) version 17 @"inner" from ["inner"]
      }
      else_branch =
      graph "else" () -> (%a) {
      }
    }
  }
}
)";

// Attributes print in the order of their names.
TEST(IrText, RoundTrips) {
  const Model model = parse_model(kModel);
  const std::string once = print(model);
  EXPECT_EQ(print(parse_model(once)), once);
  EXPECT_NE(once.find("mode = \"a\\\"b\\x0a\""), std::string::npos) << once;
  EXPECT_NE(once.find("0x7fc00000"), std::string::npos);
  EXPECT_NE(once.find("%\"odd name\": i64[]"), std::string::npos);
}

TEST(IrText, FaultsNameLineAndColumn) {
  for (const char* text : {"", "model", "model ir=8 {", "model ir=8 { graph \"g\" (%x: f99[]) -> () { } }",
                           "model ir=8 { graph \"g\" () -> (%x) { } }",
                           "model ir=8 { graph \"g\" (%x: f32[], %x: f32[]) -> () { } }"}) {
    try {
      parse_model(text);
      ADD_FAILURE() << "parsed: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_NE(error.message().find("line 1"), std::string::npos) << error.what();
    }
  }
}

TEST(IrText, EveryPrefixIsRefused) {
  const std::string whole = print(parse_model(kModel));
  for (size_t length = 0; length + 2 < whole.size(); ++length)
    EXPECT_THROW(parse_model(whole.substr(0, length)), Error) << length;
}

TEST(StructuralHash, IgnoresNamesButNotMeaning) {
  const uint64_t hash = structural_hash(*parse_model(kModel).graph);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = kModel;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    EXPECT_NE(text, kModel) << from;
    return structural_hash(*parse_model(text).graph);
  };
  EXPECT_EQ(changed("%a", "%renamed"), hash);
  EXPECT_EQ(changed("@\"mul\" from [\"mul\"]", "@\"other\" from [\"other\"]"), hash);
  EXPECT_NE(changed("Mul", "Add"), hash);
  EXPECT_NE(changed("000000c0", "000000c1"), hash);
  EXPECT_NE(changed("float 0.1", "float 0.2"), hash);
  EXPECT_NE(changed("Mul(%x, %w)", "Mul(%w, %x)"), hash);
  EXPECT_NE(changed("Identity(%y)", "Identity(%x)"), hash);
  EXPECT_NE(changed("version 17 @\"mul\"", "version 6 @\"mul\""), hash);
}

TEST(Verifier, FindsBrokenRules) {
  Model model = parse_model(kModel);
  EXPECT_NO_THROW(verify(*model.graph));
  model.graph->reorder({1, 0, 2});
  EXPECT_THROW(verify(*model.graph), Error);
  model.graph->reorder({1, 0, 2});
  EXPECT_NO_THROW(verify(*model.graph));
  model.graph->nodes()[1]->name = "mul";
  EXPECT_THROW(verify(*model.graph), Error);
}

TEST(Rewriter, MergesProvenanceAndKeepsNames) {
  Model model = parse_model(kModel);
  Graph& graph = *model.graph;
  Value* y = graph.nodes()[1]->outputs[0];
  auto fused = std::make_unique<Node>();
  fused->name = "fused";
  fused->op = "Fused";
  fused->version = 17;
  fused->provenance = {"fused"};
  fused->inputs = graph.nodes()[0]->inputs;
  fused->outputs = {y, graph.nodes()[0]->outputs[0]};
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(fused));
  Rewriter(graph).replace({graph.nodes()[0].get(), graph.nodes()[1].get()}, std::move(replacement));
  EXPECT_NO_THROW(verify(graph));
  ASSERT_EQ(graph.nodes().size(), 2u);
  EXPECT_EQ(graph.nodes()[0]->provenance, (Provenance{"add", "fused", "gelu", "mul"})) << print(graph);
  EXPECT_EQ(y->producer(), graph.nodes()[0].get());
}

TEST(Rewriter, RefusesToLoseAValueThatIsRead) {
  Model model = parse_model(kModel);
  Graph& graph = *model.graph;
  std::vector<std::unique_ptr<Node>> nothing;
  EXPECT_THROW(Rewriter(graph).replace({graph.nodes()[0].get()}, std::move(nothing)), Error);
}

}  // namespace
}  // namespace vernier
