// Tests of precision share this: a model, its plan, and the typed graph.
#pragma once

#include <gmock/gmock.h>

#include "passes/rewriting.h"
#include "vernier/precision/apply.h"
#include "vernier/precision/rules.h"

namespace vernier {

// Applies the plan that the options make, and removes what nobody reads.
inline PrecisionPlan apply(Model& model, const PrecisionOptions& options) {
  auto plan = make_precision_plan(*model.graph, *model.graph, options);
  rewrite(model, {apply_precision(plan), remove_dead_code()});
  return plan;
}

// The types that nodes make, in order: "Conv:bf16 Cast:f32".
inline std::string types(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes())
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", node->op,
                        element_type_short_name(node->output(0)->type.tensor.element));
  return text;
}

// conv -> relu -> exp -> conv -> add of both convolutions -> softmax.
inline const char* const kSmallNet = R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
  const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
  %a: f32[*] = Conv(%x, %w) version 11 @"conv_a" from ["conv_a"]
  %r: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
  %b: f32[*] = Conv(%r, %w) version 11 @"conv_b" from ["conv_b"]
  %s: f32[*] = Add(%b, %r) version 14 @"add" from ["add"]
  %c: f32[*] = Conv(%s, %w) version 11 @"conv_c" from ["conv_c"]
  %e: f32[*] = Exp(%c) version 13 @"exp" from ["exp"]
  %y: f32[*] = Softmax(%e) version 13 @"softmax" from ["softmax"]
})";

}  // namespace vernier
