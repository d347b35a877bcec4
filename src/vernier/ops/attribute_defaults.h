// Attributes of operators that several rooms read (reference, kernels, passes, lint), with the defaults of
// ONNX: one place says what a node means that leaves an attribute out. A default may depend on the opset.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

// The attribute of a node, or the default of its operator. Throws bad_input as Node::attribute does, and
// internal_error if no default is known here.
float real_attribute(const Node& node, std::string_view name);

// The default of an operator in its newest opset. Throws internal_error if none is known here.
float default_real(std::string_view op, std::string_view name);

// The axis of Softmax, LogSoftmax, Hardmax and QLinearSoftmax as the node gives it, negative ones counted
// from the back.
int64_t softmax_axis(const Node& node);
// Whether all axes from that axis on are one, as was so before opset 13.
bool softmax_flattens(const Node& node);

}  // namespace vernier::ops
