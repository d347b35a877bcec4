// Tests of typed models share this.
#pragma once

#include "precision/typing.h"
#include "vernier/precision/typed_model.h"

namespace vernier {

// With types inferred.
inline Model parse(const std::string& graph, int64_t opset = 13, int64_t ir = 7) {
  Model model = parse_model(fmt::format("model ir={} opset \"\" {} {{ {} }}", ir, opset, graph));
  ops::infer_types(*model.graph);
  return model;
}

inline Model small_net() {
  return parse(R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
    const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    %a: f32[*] = Conv(%x, %w) version 13 @"conv_a" from ["conv_a"]
    %r: f32[*] = Relu(%a) version 13 @"relu" from ["relu"]
    %b: f32[*] = Conv(%r, %w) version 13 @"conv_b" from ["conv_b"]
    %e: f32[*] = Exp(%b) version 13 @"exp" from ["exp"]
    %y: f32[*] = Softmax(%e) version 13 @"softmax" from ["softmax"]
  })");
}

// The file declares what the plan says: for contractions what they multiply, for all what they store. In a
// file each node stands for itself.
inline void expect_declared(const TypedModel& typed) {
  const auto file = clone(*typed.model.graph);
  for (const auto& node : file->nodes()) node->provenance = {node->name};
  const PrecisionPlan declared = declared_plan(*file);
  for (const auto& [node, layer] : typed.plan.layers) {
    const LayerPrecision* found = declared.find(node);
    ASSERT_NE(found, nullptr) << node;
    EXPECT_EQ(found->store, layer.store) << node;
    if (layer.compute != ElementType::kFloat) {
      EXPECT_EQ(found->compute, layer.compute) << node;
    }
  }
}

}  // namespace vernier
