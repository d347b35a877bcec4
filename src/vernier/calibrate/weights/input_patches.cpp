#include "vernier/calibrate/weights/input_patches.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/hash.h"
#include "vernier/compile/compiler.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/support/nn/im2col.h"

namespace vernier {

namespace {

ops::Convolution convolution_of(const Node& node, const Tensor& input) {
  return ops::Convolution::of(node, input.dims(), node.input(1)->constant->dims());
}

}  // namespace

InputPatches::InputPatches(const LayerWeights& layer)
    : node_(*layer.node), depth_(layer.depth), groups_(layer.groups) {
  most_ = std::clamp<size_t>(kMostBytes / (depth_ * groups_ * sizeof(float)), 1, kMost);
}

int64_t InputPatches::positions(const Tensor& input) const {
  if (input.size() == 0) return 0;
  if (node_.op != "Conv") return input.size() / static_cast<int64_t>(depth_);
  const auto convolution = convolution_of(node_, input);
  return convolution.batch * ops::output_count(convolution.axes);
}

std::vector<float> InputPatches::patch_at(const Tensor& input, int64_t position) const {
  const auto values = input.values<float>();
  std::vector<float> patch(depth_ * groups_);
  if (node_.op != "Conv") {
    std::copy_n(values.begin() + position * static_cast<int64_t>(depth_), depth_, patch.begin());
    return patch;
  }
  const auto convolution = convolution_of(node_, input);
  const int64_t windows = ops::output_count(convolution.axes);
  const int64_t channels = convolution.groups * convolution.in_channels;
  const float* image = values.data() + position / windows * channels * ops::input_count(convolution.axes);
  std::vector<double> column(patch.size());
  ops::im2col(image, channels, convolution.axes, position % windows, 1, column.data());
  std::copy(column.begin(), column.end(), patch.begin());
  return patch;
}

void InputPatches::add(const Tensor& input, uint64_t sample_hash) {
  const auto all = static_cast<uint64_t>(positions(input));
  if (all == 0) return;
  for (uint64_t i = 0; i < std::min<uint64_t>(kOfSample, all); ++i) {
    const uint64_t key = hash_combine(sample_hash, i);
    if (kept_.size() == most_ && key >= std::prev(kept_.end())->first) continue;
    const uint64_t position = all <= kOfSample ? i : hash_combine(key, all) % all;
    kept_.try_emplace(key, patch_at(input, static_cast<int64_t>(position)));
    if (kept_.size() > most_) kept_.erase(std::prev(kept_.end()));
  }
}

std::vector<float> InputPatches::group(size_t number) const {
  std::vector<float> result;
  result.reserve(kept_.size() * depth_);
  for (const auto& [key, patch] : kept_) {
    const auto first = patch.begin() + static_cast<std::ptrdiff_t>(number * depth_);
    result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(depth_));
  }
  return result;
}

LayerInputs::LayerInputs(const Model& model, const std::vector<LayerWeights>& layers) : layers_(layers) {
  Model shown = clone(model);
  Graph& graph = *shown.graph;
  std::set<std::string> wanted;
  for (const LayerWeights& layer : layers) wanted.insert(layer.node->input(0)->name);
  for (const auto* known : {&graph.inputs, &graph.outputs}) {
    for (const Value* value : *known) wanted.erase(value->name);
  }
  for (const auto& value : graph.values()) {
    if (wanted.erase(value->name) > 0) graph.outputs.push_back(value.get());
  }
  BuildOptions options;
  options.deterministic = true;
  session_.emplace(compile(shown, options));
}

void LayerInputs::run(const NamedData& inputs, uint64_t sample_hash, std::vector<InputPatches>& patches) {
  const NamedData made = session_->run(inputs);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string& name = layers_[i].node->input(0)->name;
    const auto found = made.find(name);
    patches[i].add((found != made.end() ? found->second : inputs.at(name)).as_tensor(), sample_hash);
  }
}

double row_scale(const LayerWeights& layer, size_t output) {
  constexpr double kInt8Max = 127;
  double largest = 0;
  for (size_t i = 0; i < layer.depth; ++i) largest = std::max(largest, std::abs(layer.row(output)[i]));
  const auto scale = static_cast<float>(largest / kInt8Max);  // as graphs hold it
  return scale > 0 ? static_cast<double>(scale) : 1;
}

void round_to_codes(std::vector<float>& values, const ScaleEntry& entry) {
  const auto zero = static_cast<double>(entry.zero_point);
  const auto least = static_cast<double>(integer_min(entry.type)),
             largest = static_cast<double>(integer_max(entry.type));
  for (float& value : values) {
    const double code = std::nearbyint(static_cast<double>(value) / entry.scale) + zero;
    value = static_cast<float>((std::clamp(code, least, largest) - zero) * entry.scale);
  }
}

GroupPatches group_patches(const InputPatches& patches, size_t group,
                           const std::optional<ScaleEntry>& entry) {
  GroupPatches result{patches.group(group), {}};
  result.coded = result.exact;
  if (entry) round_to_codes(result.coded, *entry);
  return result;
}

}  // namespace vernier
