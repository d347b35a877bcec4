#include "vernier/diagnose/under_test/unshown_regions.h"

#include <gmock/gmock.h>

#include "odd_engine.h"
#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/ops/group.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

using Names = std::vector<std::string>;

std::vector<Names> regions(const Model& model, const std::set<std::string>& shown) {
  std::vector<Names> result;
  const auto grouped = group_unshown(*model.graph, shown);
  for (const auto& node : grouped->nodes()) result.push_back(onnx_nodes_of(*node));
  return result;
}

TEST(UnshownRegions, AreTheNodesBetweenShownValues) {
  const Model model = OddEngine::chain();
  EXPECT_THAT(
      regions(model, {"n1", "n3", "n6"}),
      ElementsAre(Names{"k0", "k1"}, Names{"k2", "k3"}, Names{"k4", "k5", "k6"}, Names{"k7", "k8", "k9"}));
  EXPECT_EQ(regions(model, {}).size(), 1U);
  EXPECT_EQ(regions(model, {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"}).size(), 10U);
}

TEST(UnshownRegions, HoldWhatLiesOnAWayAroundShownValues) {
  // n1 is not shown, so k1, k2 and k6 are one; k3 to k5 feed k6 and read of k2.
  EXPECT_THAT(regions(OddEngine::chain(), {"n0", "n2", "n3", "n4", "n5", "n6", "n7", "n8"}),
              ElementsAre(Names{"k0"}, Names{"k1", "k2", "k3", "k4", "k5", "k6"}, Names{"k7"}, Names{"k8"},
                          Names{"k9"}));
}

TEST(UnshownRegions, MeanWhatTheirNodesMean) {
  OddEngine engine({});
  for (const std::set<std::string>& shown : {std::set<std::string>{}, {"n1", "n3"}, {"n0", "n4"}}) {
    const auto grouped = group_unshown(*engine.model.graph, shown);
    const auto outputs = run_reference(*grouped, engine.inputs).outputs;
    EXPECT_TRUE(outputs.at(0).tensor.identical(engine.right.at("y").tensor));
    for (const auto& node : grouped->nodes()) {
      for (const Value* input : node->inputs)
        EXPECT_FALSE(ops::is_group(*node) && input->is_constant()) << input->name;
    }
  }
}

TEST(UnshownRegions, LeaveOutNodesThatDraw) {
  Model model = parse_model(R"(model ir=8 opset "" 17 { graph "g" (%x: f32[4]) -> (%y) {
    %a: f32[*] = Relu(%x) version 14 @"a" from ["a"]
    %b: f32[*] = RandomNormalLike(%a) version 1 @"b" from ["b"]
    %c: f32[*] = Add(%a, %b) version 14 @"c" from ["c"]
    %y: f32[*] = Relu(%c) version 14 @"y" from ["y"]
  } })");
  ops::infer_types(*model.graph);
  // The node between a and c stays by itself, so these cannot be one.
  EXPECT_THAT(regions(model, {}), ElementsAre(Names{"a"}, Names{"b"}, Names{"c", "y"}));
}

}  // namespace
}  // namespace vernier
