#include "vernier/passes/opset/opset_changes.h"

#include "vernier/ops/attribute_defaults.h"

namespace vernier {

void RaisedNode::set_input(size_t index, std::string_view what, Tensor tensor) const {
  const Value* output = node_.output(0);
  const std::string base = output == nullptr ? node_.name : output->name;
  if (node_.inputs.size() <= index) node_.inputs.resize(index + 1, nullptr);
  node_.inputs[index] = graph_.add_constant(names_.take(fmt::format("{}/{}", base, what)), std::move(tensor));
}

void RaisedNode::to_input(std::string_view attribute, size_t index) const {
  if (node_.find_attribute(attribute) == nullptr) return;
  const auto values = node_.attribute<std::vector<int64_t>>(attribute, {});
  node_.attributes.erase(std::string(attribute));
  set_input(index, attribute,
            Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values));
}

void RaisedNode::number_to_input(std::string_view attribute, size_t index) const {
  if (node_.find_attribute(attribute) == nullptr) return;
  const double value = static_cast<double>(node_.attribute<float>(attribute, {}));
  node_.attributes.erase(std::string(attribute));
  const Value* first = node_.input(0);
  const ElementType type =
      first != nullptr && first->type.is_tensor() ? first->type.tensor.element : ElementType::kFloat;
  set_input(index, attribute, Tensor::from_doubles(type, {}, std::vector<double>{value}));
}

void RaisedNode::refuse(std::string_view why) const {
  throw unsupported("{} of opset {} is not converted to a newer one: {}", node_.op, node_.version, why)
      .at_node(node_.name)
      .advise("export the model for a newer opset, or keep the types that its opset has");
}

namespace {

void set_text(const RaisedNode& raised, const char* name, std::string value) {
  raised.node().attributes[name] = Attribute(std::move(value));
}

void cannot(const RaisedNode& raised) {
  raised.refuse("its meaning changed");
}

// Before opset 6 and 7 a node says whether it is for training.
void require_inference(const RaisedNode& raised) {
  Node& node = raised.node();
  if (node.attribute<int64_t>("is_test", {}) == 0) raised.refuse("it is one for training");
  node.attributes.erase("is_test");
}

// "broadcast" allows a second operand with fewer axes, which lie at `axis`, or at the end.
void broadcast_as_numpy(const RaisedNode& raised) {
  Node& node = raised.node();
  const bool has_axis = node.find_attribute("axis") != nullptr;
  const auto axis = node.attribute<int64_t>("axis", {});
  node.attributes.erase("broadcast");
  node.attributes.erase("axis");
  if (!has_axis || node.op == "Gemm") return;
  const auto rank = known_rank(*node.input(0));
  const Value* second = node.input(1);
  if (!rank || !second->is_constant()) raised.refuse("it broadcasts along an axis");
  const int64_t first = axis < 0 ? axis + static_cast<int64_t>(*rank) : axis;
  Dims dims = second->constant->dims();
  while (first + static_cast<int64_t>(dims.size()) < static_cast<int64_t>(*rank)) dims.push_back(1);
  raised.set_input(1, "broadcast", second->constant->reshaped(std::move(dims)));
}

void cast_by_number(const RaisedNode& raised) {
  Node& node = raised.node();
  const auto type = parse_element_type(node.attribute<std::string>("to", {}));
  if (!type) raised.refuse("its type is not known");
  node.attributes["to"] = Attribute(static_cast<int64_t>(*type));
}

void reshape_by_input(const RaisedNode& raised) {
  raised.to_input("shape", 1);
}
void state_concat_axis(const RaisedNode& raised) {
  raised.node().attributes["axis"] = Attribute(ops::integer_attribute(raised.node(), "axis"));
}
void name_pads(const RaisedNode& raised) {
  Node& node = raised.node();
  node.attributes["pads"] = Attribute(node.attribute<std::vector<int64_t>>("paddings", {}));
  node.attributes.erase("paddings");
}
void state_selu(const RaisedNode& raised) {
  for (const char* name : {"alpha", "gamma"})
    raised.node().attributes[name] = Attribute(ops::real_attribute(raised.node(), name));
}

void require_spatial(const RaisedNode& raised) {
  if (ops::integer_attribute(raised.node(), "spatial") == 0) raised.refuse("it is not spatial");
  raised.node().attributes.erase("spatial");
}
// Further outputs are those of training.
void require_one_output(const RaisedNode& raised) {
  auto& outputs = raised.node().outputs;
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (outputs[i] != nullptr) raised.refuse("it is one for training");
  }
  outputs.resize(1);
}
void require_no_mask(const RaisedNode& raised) {
  if (raised.node().output(1) != nullptr) raised.refuse("the type of its mask changed");
}
void drop_ratio(const RaisedNode& raised) {
  raised.node().attributes.erase("ratio");  // nothing is dropped outside of training
}

void clip_by_inputs(const RaisedNode& raised) {
  raised.number_to_input("min", 1);
  raised.number_to_input("max", 2);
}
void pad_by_inputs(const RaisedNode& raised) {
  raised.to_input("pads", 1);
  raised.number_to_input("value", 2);
}
void slice_by_inputs(const RaisedNode& raised) {
  raised.to_input("starts", 1);
  raised.to_input("ends", 2);
  raised.to_input("axes", 3);
}
void top_k_by_input(const RaisedNode& raised) {
  const auto k = raised.node().attribute<int64_t>("k", {});
  raised.node().attributes.erase("k");
  raised.set_input(1, "k", Tensor::from_ints(ElementType::kInt64, {1}, std::vector<int64_t>{k}));
}
void axes_by_input(const RaisedNode& raised) {
  raised.to_input("axes", 1);
}
void split_by_input(const RaisedNode& raised) {
  raised.to_input("split", 1);
}
void state_split_count(const RaisedNode& raised) {
  Node& node = raised.node();
  if (node.input(1) == nullptr)
    node.attributes["num_outputs"] = Attribute(static_cast<int64_t>(node.outputs.size()));
}

// Until opset 10 pixels are placed by x / scale, and the nearest is the one before.
void resize_as_before(const RaisedNode& raised) {
  Node& node = raised.node();
  const std::string mode = ops::text_attribute(node, "mode");
  if (mode != "nearest" && mode != "linear") raised.refuse("its mode is " + mode);
  if (node.find_attribute("scales") != nullptr) {
    const auto scales = node.attribute<std::vector<float>>("scales", {});
    node.attributes.erase("scales");
    raised.set_input(1, "scales",
                     Tensor::from<float>(ElementType::kFloat, {static_cast<int64_t>(scales.size())}, scales));
  }
  if (node.inputs.size() != 2) raised.refuse("it has no scales");
  node.inputs = {node.inputs[0], nullptr, node.inputs[1]};
  set_text(raised, "coordinate_transformation_mode", "asymmetric");
  if (mode == "nearest") set_text(raised, "nearest_mode", "floor");
  node.op = "Resize";
  node.version = 11;
}

void rename_scatter(const RaisedNode& raised) {
  raised.node().op = "ScatterElements";
}

// Softmaxes along several axes became others before (flatten_softmaxes).
void state_softmax_axis(const RaisedNode& raised) {
  Node& node = raised.node();
  if (joins_axes(node)) raised.refuse("it sums over several axes");
  const auto rank = static_cast<int64_t>(known_rank(*node.input(0)).value_or(0));
  const int64_t axis = ops::softmax_axis(node);
  node.attributes["axis"] = Attribute(axis < 0 ? axis + rank : axis);
}

void rename_grid_modes(const RaisedNode& raised) {
  const auto mode = raised.node().attribute<std::string>("mode", {});
  if (mode == "bilinear") set_text(raised, "mode", "linear");
  if (mode == "bicubic") set_text(raised, "mode", "cubic");
}
void state_roi_align_pixels(const RaisedNode& raised) {
  if (raised.node().find_attribute("coordinate_transformation_mode") == nullptr)
    set_text(raised, "coordinate_transformation_mode", "output_half_pixel");
}
void require_no_old_pixels(const RaisedNode& raised) {
  if (raised.node().attribute<std::string>("coordinate_transformation_mode", {}) == "tf_half_pixel_for_nn")
    raised.refuse("tf_half_pixel_for_nn is gone");
}

constexpr OpsetChange kChanges[] = {
    {"LpPool", 2, cannot},
    {"GlobalLpPool", 2, cannot},
    {"Pad", 2, name_pads},
    {"Concat", 4, state_concat_axis},
    {"Reshape", 5, reshape_by_input},
    {"Cast", 6, cast_by_number},
    {"Selu", 6, state_selu},
    {"Tile", 6, cannot},
    {"Add", 7, broadcast_as_numpy},
    {"And", 7, broadcast_as_numpy},
    {"BatchNormalization", 7, require_inference},
    {"Div", 7, broadcast_as_numpy},
    {"Dropout", 7, require_inference},
    {"Equal", 7, broadcast_as_numpy},
    {"GRU", 7, cannot},
    {"Gemm", 7, broadcast_as_numpy},
    {"Greater", 7, broadcast_as_numpy},
    {"LSTM", 7, cannot},
    {"Less", 7, broadcast_as_numpy},
    {"Mul", 7, broadcast_as_numpy},
    {"Or", 7, broadcast_as_numpy},
    {"PRelu", 7, cannot},
    {"Pow", 7, broadcast_as_numpy},
    {"RNN", 7, cannot},
    {"Sub", 7, broadcast_as_numpy},
    {"Upsample", 7, cannot},
    {"Xor", 7, broadcast_as_numpy},
    {"BatchNormalization", 9, require_spatial},
    {"MeanVarianceNormalization", 9, cannot},
    {"Scan", 9, cannot},
    {"Dropout", 10, require_no_mask},
    {"Slice", 10, slice_by_inputs},
    {"TopK", 10, top_k_by_input},
    {"Upsample", 10, resize_as_before},
    {"Clip", 11, clip_by_inputs},
    {"Pad", 11, pad_by_inputs},
    {"Resize", 11, resize_as_before},
    {"Scatter", 11, rename_scatter},
    {"Dropout", 12, drop_ratio},
    {"Hardmax", 13, state_softmax_axis},
    {"LogSoftmax", 13, state_softmax_axis},
    {"ReduceSum", 13, axes_by_input},
    {"Resize", 13, require_no_old_pixels},
    {"Softmax", 13, state_softmax_axis},
    {"Split", 13, split_by_input},
    {"Squeeze", 13, axes_by_input},
    {"Unsqueeze", 13, axes_by_input},
    {"BatchNormalization", 14, require_one_output},
    {"RoiAlign", 16, state_roi_align_pixels},
    {"ReduceL1", 18, axes_by_input},
    {"ReduceL2", 18, axes_by_input},
    {"ReduceLogSum", 18, axes_by_input},
    {"ReduceLogSumExp", 18, axes_by_input},
    {"ReduceMax", 18, axes_by_input},
    {"ReduceMean", 18, axes_by_input},
    {"ReduceMin", 18, axes_by_input},
    {"ReduceProd", 18, axes_by_input},
    {"ReduceSumSquare", 18, axes_by_input},
    {"Split", 18, state_split_count},
    {"DFT", 20, cannot},
    {"GridSample", 20, rename_grid_modes},
    {"GroupNormalization", 21, cannot},
};

}  // namespace

std::span<const OpsetChange> opset_changes() {
  return kChanges;
}

}  // namespace vernier
