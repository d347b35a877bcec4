// Groups a pointwise (1x1) convolution with the depthwise convolution that is its only reader, so that one
// kernel can compute both. What follows either is already grouped with it.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

// The Conv that a node, or a group of a Conv and what follows, begins with.
const Node* convolution_of(const Node& node) {
  if (node.op == "Conv" && node.domain.empty()) return &node;
  if (!ops::is_group(node) || ops::group_kind(node) != "conv") return nullptr;
  const Node* first = ops::body(node).nodes().front().get();
  return first->op == "Conv" ? first : nullptr;
}

std::optional<Dims> sizes_of_weights(const Node& convolution) {
  const Value* weights = convolution.inputs.size() > 1 ? convolution.input(1) : nullptr;
  if (weights == nullptr || !weights->type.is_tensor() || !weights->type.tensor.shape) return std::nullopt;
  return to_dims(*weights->type.tensor.shape);
}

int64_t groups_of(const Node& convolution) {
  return ops::integer_attribute(convolution, "group");
}

bool is_of_one_pixel(const Node& convolution) {
  const auto sizes = sizes_of_weights(convolution);
  return sizes && sizes->size() == 4 && (*sizes)[2] == 1 && (*sizes)[3] == 1 && groups_of(convolution) == 1;
}

bool is_depthwise(const Node& convolution) {
  const auto sizes = sizes_of_weights(convolution);
  return sizes && sizes->size() == 4 && (*sizes)[1] == 1 && (*sizes)[0] > 1 &&
         groups_of(convolution) == (*sizes)[0];
}

int group_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::vector<Node*>> groups;
  for (const auto& node : graph.nodes()) {
    const Node* convolution = convolution_of(*node);
    if (convolution == nullptr || !is_of_one_pixel(*convolution) || node->outputs.size() != 1) continue;
    Node* reader = uses.only_reader(node->output(0));
    const bool reads_image = reader != nullptr && &reader->graph() == &graph && reader->outputs.size() == 1 &&
                             reader->input(0) == node->output(0);
    const Node* depthwise = reads_image ? convolution_of(*reader) : nullptr;
    if (depthwise != nullptr && is_depthwise(*depthwise)) groups.push_back({node.get(), reader});
  }
  for (const auto& members : groups) ops::make_group(graph, members, "pointwise_depthwise");
  return static_cast<int>(groups.size());
}

}  // namespace

Pass fuse_pointwise_depthwise() {
  return {"fuse-pointwise-depthwise", NumericalClass::kExact, group_in};
}

}  // namespace vernier
