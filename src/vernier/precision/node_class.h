// Says what the type of a node may be, by its operator.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

enum class Lowering : uint8_t {
  kAlways,  // contractions: a narrow type makes them faster, and sums stay wide
  kFollow,  // computes floats whatever it reads; narrow between narrow values, which saves memory traffic
  kNever,
};

struct NodeClass {
  Lowering lowering = Lowering::kNever;
  const char* why = "";  // for plans: "softmax computes in f32", …
};

NodeClass class_of(const Node& node);

// The first opset of ai.onnx in which the operator computes in the type, FLOAT16 or BFLOAT16, with everything
// else of it as it is in float; nothing if ONNX has no such operator.
std::optional<int64_t> opset_of_type(const Node& node, ElementType type);

// Whether an attribute or an operand that is not computed on says what type the node makes: it is rounded to
// another, and not given it.
bool states_type(const Node& node);

// Whether its results are elements of its inputs.
bool only_moves(const Node& node);
// Whether its results are elements of its inputs, or the largest or least of some: they are never rounded,
// whatever type they have.
bool selects_elements(const Node& node);
// Whether the operator ties the type of this input to that of its result.
bool shares_type(const Node& node, size_t input);
// Whether the node looks at the sizes of its input only.
bool reads_sizes_only(const Node& node);

// Whether floats and what they were before a Cast from a narrower type are the same to the node.
bool takes_any_float(const Node& node);

// Whether kernels multiply integers for the operator, where its factors are quantized.
bool multiplies_codes(const Node& node);

// Whether it computes on values that the model has quantized itself: integers may do the same, exactly.
bool reads_dequantized(const Node& node);

// The output that the precision of the node is about: the first of floats; else the first.
const Value* main_output(const Node& node);

// The element type of a value, if it is a tensor.
ElementType element_of(const Value* value);

}  // namespace vernier
