// group-expansions: what it takes, and what it must leave.
#include "passes/rewriting.h"

namespace vernier {
namespace {

std::string zeros(int64_t count) {
  return "hex\"" + std::string(static_cast<size_t>(count) * 8, '0') + "\"";
}

// %y of %c, which is of %a, the first convolution.
Model model_of(const std::string& nodes, const std::string& outputs = "%y", const std::string& first = "") {
  return parse_graph("graph \"g\" (%x: f32[1, 3, 5, 5]) -> (" + outputs + ") {\n" +
                     "const %w = f32[4, 3, 1, 1] " + zeros(12) + "\nconst %v = f32[4, 1, 3, 3] " + zeros(36) +
                     "\nconst %full = f32[4, 4, 3, 3] " + zeros(144) + "\nconst %one = f32[1, 1, 1, 1] " +
                     zeros(1) + "\nconst %image = f32[1, 1, 5, 5] " + zeros(25) + "\n" +
                     (first.empty() ? R"(%a: f32[*] = Conv(%x, %w) version 11 @"a" from ["a"])" : first) +
                     "\n" + nodes + "\n}");
}

std::string relu(const std::string& from, const std::string& to) {
  return fmt::format("%{1}: f32[*] = Relu(%{0}) version 14 @\"{1}\" from [\"{1}\"]\n", from, to);
}
std::string depthwise(const std::string& from, const std::string& to) {
  return fmt::format("%{1}: f32[*] = Conv(%{0}, %v) {{group = 4}} version 11 @\"{1}\" from [\"{1}\"]\n", from,
                     to);
}
std::string plain(const std::string& inputs) {
  return fmt::format("%y: f32[*] = Conv({}) version 11 @\"y\" from [\"y\"]\n", inputs);
}

std::string grouped(Model model) {
  Model before;
  before.ir_version = model.ir_version;
  before.graph = clone(*model.graph);
  const auto can_follow = [](const Node&, const Node& next, const Value&) { return next.op == "Relu"; };
  rewrite(model, {fuse_epilogues(can_follow), group_expansions()});
  EXPECT_EQ(distance(before, model), 0);
  return operators(*model.graph);
}

TEST(Expansions, WithWhatFollowsEither) {
  EXPECT_EQ(grouped(model_of(depthwise("a", "y"))), "expansion(Conv Conv)");
  EXPECT_EQ(grouped(model_of(relu("a", "c") + depthwise("c", "y"))), "expansion(conv(Conv Relu) Conv)");
  EXPECT_EQ(grouped(model_of(relu("a", "c") + depthwise("c", "d") + relu("d", "y"))),
            "expansion(conv(Conv Relu) conv(Conv Relu))");
}

TEST(Expansions, OthersAreLeft) {
  const std::string both = relu("a", "c") + depthwise("c", "y"), left = "conv(Conv Relu) Conv";
  EXPECT_EQ(grouped(model_of(both, "%y, %c")), left);  // read by somebody else, too
  EXPECT_EQ(grouped(model_of(both + relu("c", "z"), "%y, %z")), left + " Relu");
  EXPECT_EQ(grouped(model_of(relu("a", "c") + plain("%c, %full"))), left);  // sums of all channels
  const std::string weights = R"(%a: f32[*] = Conv(%v, %one) version 11 @"a" from ["a"])";
  EXPECT_EQ(grouped(model_of(relu("a", "c") + plain("%image, %c"), "%y", weights)),
            left);  // weights are made
}

}  // namespace
}  // namespace vernier
