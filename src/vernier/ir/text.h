// The text form of models: for reading, for tests of passes, and complete enough to be parsed back.
//
//   model ir=8 opset "" 17 {
//     graph "digits" (%image: f32[N, 1, 8, 8]) -> (%y) {
//       const %w = f32[2] hex"0000803f00000040"
//       %y: f32[N, 1, 8, 8] = Mul(%image, %w) {axis = 1, mode = "x"} version 17 @"mul_1" from ["mul_1",
//       "mul_2"]
//     }
//   }
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "vernier/ir/graph.h"

namespace vernier {

struct TextOptions {
  // Constants with more elements are printed as their hash: shorter, but such text cannot be parsed.
  int64_t elide_constants_above = INT64_MAX;
  // The name under which a tensor is kept outside of the text; "": it is printed. Null: all are.
  std::function<std::string(const Tensor&)> keep_outside = nullptr;
};

// Gives a tensor that is kept outside, by its name; throws bad_input if there is none.
using OutsideTensors = std::function<Tensor(ElementType type, const Dims& dims, const std::string& name)>;

std::string print(const Model& model, const TextOptions& options = {});
std::string print(const Graph& graph, const TextOptions& options = {});
std::string attribute_text(const Attribute& attribute, const TextOptions& options = {});

// Throws bad_input with line and column.
Model parse_model(std::string_view text);
Model parse_model(std::string_view text, const OutsideTensors& outside);
ValueType parse_value_type(std::string_view text);

}  // namespace vernier
