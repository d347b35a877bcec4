// Attributes of operators that several rooms read (reference, kernels, passes, lint), with the defaults of
// ONNX: one place says what a node means that leaves an attribute out. A default may depend on the opset. No
// room but ops gives a default (tests/house/defaults_test.py).
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

// The attribute of a node, or the default of its operator. Throws bad_input as Node::attribute does, and
// internal_error if no default is known here.
float real_attribute(const Node& node, std::string_view name);
int64_t integer_attribute(const Node& node, std::string_view name);
std::string text_attribute(const Node& node, std::string_view name);
// A bound of Clip before opset 11, "min" or "max". Without the attribute it is the end of FLOAT; nothing
// before opset 6.
std::optional<float> clip_bound_attribute(const Node& node, std::string_view name);

// Gives the value that ConstantOfShape fills with: one element, a FLOAT of 0 where the node says nothing.
Tensor constant_of_shape_value(const Node& node);

// The default of an operator in its newest opset. Throws internal_error if none is known here.
float default_real(std::string_view op, std::string_view name);

// The axis of Softmax, LogSoftmax, Hardmax and QLinearSoftmax as the node gives it, negative ones counted
// from the back.
int64_t softmax_axis(const Node& node);
// Whether all axes from that axis on are one, as was so before opset 13.
bool softmax_flattens(const Node& node);

}  // namespace vernier::ops
