// fuse-pointwise-depthwise: what it takes, and what it must leave.
#include "passes/expect_pass.h"

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

const PassCase kGroup{
    fuse_pointwise_depthwise(),
    {fuse_epilogues([](const Node&, const Node& next, const Value&) { return next.op == "Relu"; })}};

TEST(FusePointwiseDepthwise, WithWhatFollowsEither) {
  expect_pass(kGroup, model_of(depthwise("a", "y")), R"(graph "g" (%x: f32[1, 3, 5, 5]) -> (%y) {
      const %w = f32[4, 3, 1, 1] hash c6a6784114e10b50
      const %v = f32[4, 1, 3, 3] hash 10171f802d17b7e1
      %y: f32[1, 4, 3, 3] = vernier::Group(%x, %w, %v) {kind = "pointwise_depthwise"} version 1 @"y" from ["a", "y"] regions {
        body =
        graph "pointwise_depthwise" (%x: f32[1, 3, 5, 5], %w: f32[4, 3, 1, 1], %v: f32[4, 1, 3, 3]) -> (%y) {
          %a: f32[1, 4, 5, 5] = Conv(%x, %w) version 11 @"a" from ["a"]
          %y: f32[1, 4, 3, 3] = Conv(%a, %v) {group = 4} version 11 @"y" from ["y"]
        }
      }
  })");
  expect_pass(kGroup, model_of(relu("a", "c") + depthwise("c", "y")),
              R"(graph "g" (%x: f32[1, 3, 5, 5]) -> (%y) {
      const %w = f32[4, 3, 1, 1] hash c6a6784114e10b50
      const %v = f32[4, 1, 3, 3] hash 10171f802d17b7e1
      %y: f32[1, 4, 3, 3] = vernier::Group(%x, %w, %v) {kind = "pointwise_depthwise"} version 1 @"y" from ["a", "c", "y"] regions {
        body =
        graph "pointwise_depthwise" (%x: f32[1, 3, 5, 5], %w: f32[4, 3, 1, 1], %v: f32[4, 1, 3, 3]) -> (%y) {
          %c: f32[1, 4, 5, 5] = vernier::Group(%x, %w) {kind = "conv"} version 1 @"c" from ["a", "c"] regions {
            body =
            graph "conv" (%x: f32[1, 3, 5, 5], %w: f32[4, 3, 1, 1]) -> (%c) {
              %a: f32[1, 4, 5, 5] = Conv(%x, %w) version 11 @"a" from ["a"]
              %c: f32[1, 4, 5, 5] = Relu(%a) version 14 @"c" from ["c"]
            }
          }
          %y: f32[1, 4, 3, 3] = Conv(%c, %v) {group = 4} version 11 @"y" from ["y"]
        }
      }
  })");
  expect_pass(kGroup, model_of(relu("a", "c") + depthwise("c", "d") + relu("d", "y")),
              R"(graph "g" (%x: f32[1, 3, 5, 5]) -> (%y) {
      const %w = f32[4, 3, 1, 1] hash c6a6784114e10b50
      const %v = f32[4, 1, 3, 3] hash 10171f802d17b7e1
      %y: f32[1, 4, 3, 3] = vernier::Group(%x, %w, %v) {kind = "pointwise_depthwise"} version 1 @"y" from ["a", "c", "d", "y"] regions {
        body =
        graph "pointwise_depthwise" (%x: f32[1, 3, 5, 5], %w: f32[4, 3, 1, 1], %v: f32[4, 1, 3, 3]) -> (%y) {
          %c: f32[1, 4, 5, 5] = vernier::Group(%x, %w) {kind = "conv"} version 1 @"c" from ["a", "c"] regions {
            body =
            graph "conv" (%x: f32[1, 3, 5, 5], %w: f32[4, 3, 1, 1]) -> (%c) {
              %a: f32[1, 4, 5, 5] = Conv(%x, %w) version 11 @"a" from ["a"]
              %c: f32[1, 4, 5, 5] = Relu(%a) version 14 @"c" from ["c"]
            }
          }
          %y: f32[1, 4, 3, 3] = vernier::Group(%c, %v) {kind = "conv"} version 1 @"y" from ["d", "y"] regions {
            body =
            graph "conv" (%c: f32[1, 4, 5, 5], %v: f32[4, 1, 3, 3]) -> (%y) {
              %d: f32[1, 4, 3, 3] = Conv(%c, %v) {group = 4} version 11 @"d" from ["d"]
              %y: f32[1, 4, 3, 3] = Relu(%d) version 14 @"y" from ["y"]
            }
          }
        }
      }
  })");
}

TEST(FusePointwiseDepthwise, OthersAreLeft) {
  const std::string both = relu("a", "c") + depthwise("c", "y");
  expect_unchanged(kGroup, model_of(both, "%y, %c"));  // read by somebody else, too
  expect_unchanged(kGroup, model_of(both + relu("c", "z"), "%y, %z"));
  expect_unchanged(kGroup, model_of(relu("a", "c") + plain("%c, %full")));  // sums of all channels
  const std::string weights = R"(%a: f32[*] = Conv(%v, %one) version 11 @"a" from ["a"])";
  expect_unchanged(kGroup,
                   model_of(relu("a", "c") + plain("%image, %c"), "%y", weights));  // weights are made
}

}  // namespace
}  // namespace vernier
