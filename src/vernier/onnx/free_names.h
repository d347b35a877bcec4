// Which values a node reads, those that its bodies capture included. Internal to the room: this header needs
// protobuf.
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <set>
#include <string>

namespace vernier {

// Names of the inputs of the node, and of what the graphs in its attributes read from outside of themselves.
std::set<std::string> free_names(const onnx::NodeProto& node);

}  // namespace vernier
