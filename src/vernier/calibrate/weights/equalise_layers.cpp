#include "vernier/calibrate/weights/equalise_layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "vernier/calibrate/weights/layer_weights.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kRounds = 20;             // chains of layers settle after a few
constexpr double kSettled = 1e-3;       // a round that moves no scale by more is the last
constexpr double kMostScale = 1 << 16;  // dead channels must not become infinite

// Whether f(s x) = s f(x) for each channel and s > 0, and elements stay in their channel.
bool is_homogeneous(const Node& node) {
  static const std::set<std::string_view> operators = {
      "Relu", "LeakyRelu", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "Identity"};
  if (!node.domain.empty() || node.outputs.size() != 1) return false;
  return operators.contains(node.op) || (node.op == "Flatten" && ops::integer_attribute(node, "axis") == 1);
}

struct Pair {
  LayerWeights *first, *second;
};

// The layers one of which alone reads what another makes, through homogeneous operators.
class Pairs {
 public:
  Pairs(Graph& graph, std::vector<LayerWeights>& layers) : uses_(graph) {
    for (LayerWeights& layer : layers) by_node_[layer.node] = &layer;
    for (LayerWeights& layer : layers) {
      if (LayerWeights* next = reader_of(layer)) found_.push_back({&layer, next});
    }
  }
  const std::vector<Pair>& found() const { return found_; }

 private:
  LayerWeights* reader_of(const LayerWeights& layer) const {
    const Value* value = layer.result();
    bool flattened = layer.node->op != "Conv";  // then the last axis counts channels
    if (layer.bias.empty() && layer.node->input(2) != nullptr) return nullptr;  // it could not be scaled
    for (const Node* node = uses_.only_reader(value); node != nullptr; node = uses_.only_reader(value)) {
      const auto found = by_node_.find(node);
      if (found != by_node_.end())
        return node->input(0) == value && fits(layer, *found->second, flattened) ? found->second : nullptr;
      const bool moves_channels = node->op == "Flatten";
      if (!is_homogeneous(*node) || node->input(0) != value || (moves_channels && flattened)) return nullptr;
      if (flattened && node->op != "Relu" && node->op != "LeakyRelu" && node->op != "Identity")
        return nullptr;
      flattened = flattened || moves_channels;
      value = node->output(0);
    }
    return nullptr;
  }

  static bool fits(const LayerWeights& first, const LayerWeights& second, bool flattened) {
    if ((second.node->op == "Conv") == flattened) return false;
    const size_t channels = second.depth * second.groups;
    return channels % first.outputs == 0;
  }

  Uses uses_;
  std::map<const Node*, LayerWeights*> by_node_;
  std::vector<Pair> found_;
};

// Calls visit(weight) for the weights of the second layer by which a channel of the first is multiplied.
template <class Visit>
void for_each_reading(LayerWeights& layer, size_t channel, size_t channels, const Visit& visit) {
  const size_t in_group = channels / layer.groups, rows = layer.outputs / layer.groups;
  const size_t inner = layer.depth / in_group, first = channel / in_group * rows;
  for (size_t row = first; row < first + rows; ++row) {
    for (size_t i = 0; i < inner; ++i) visit(layer.row(row)[channel % in_group * inner + i]);
  }
}

// By how much the scale that differed most from 1 did.
double equalise(const Pair& pair) {
  double moved = 0;
  for (size_t channel = 0; channel < pair.first->outputs; ++channel) {
    double* row = pair.first->row(channel);
    double before = 0, behind = 0;
    for (size_t i = 0; i < pair.first->depth; ++i) before = std::max(before, std::abs(row[i]));
    for_each_reading(*pair.second, channel, pair.first->outputs,
                     [&](double weight) { behind = std::max(behind, std::abs(weight)); });
    if (before == 0 || behind == 0) continue;
    const double scale = std::sqrt(before / behind);
    if (scale > kMostScale || scale < 1 / kMostScale) continue;
    for (size_t i = 0; i < pair.first->depth; ++i) row[i] /= scale;
    if (!pair.first->bias.empty()) pair.first->bias[channel] /= scale;
    for_each_reading(*pair.second, channel, pair.first->outputs, [&](double& weight) { weight *= scale; });
    moved = std::max(moved, std::abs(std::log(scale)));
  }
  return moved;
}

}  // namespace

size_t equalise_layers(Graph& graph) {
  auto layers = layers_of(graph);
  const Pairs pairs(graph, layers);
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (const Pair& pair : pairs.found()) moved = std::max(moved, equalise(pair));
    if (moved < kSettled) break;
  }
  std::set<const LayerWeights*> changed, shifted;
  for (const Pair& pair : pairs.found()) {
    changed.insert({pair.first, pair.second});
    if (!pair.first->bias.empty()) shifted.insert(pair.first);
  }
  for (const LayerWeights* layer : changed) store_weights(*layer);
  for (const LayerWeights* layer : shifted) {
    const auto& bias = layer->bias;
    if (std::any_of(bias.begin(), bias.end(), [](double value) { return value != 0; })) store_bias(*layer);
  }
  return pairs.found().size();
}

namespace {

std::vector<double> means(const std::vector<float>& patches, size_t depth) {
  std::vector<double> sums(depth);
  for (size_t i = 0; i < patches.size(); ++i) sums[i % depth] += static_cast<double>(patches[i]);
  const size_t rows = patches.size() / depth;
  for (double& sum : sums) sum /= static_cast<double>(rows);
  return sums;
}

}  // namespace

std::optional<double> correct_bias(const LayerWeights& exact, LayerWeights& quantized,
                                   const InputPatches& patches, const std::optional<ScaleEntry>& entry) {
  if (quantized.bias.empty() || patches.count() == 0) return std::nullopt;
  double largest = 0;
  const size_t in_group = exact.outputs / exact.groups;
  for (size_t group = 0; group < exact.groups; ++group) {
    const GroupPatches both = group_patches(patches, group, entry);
    const auto mean = means(both.exact, exact.depth), coded_mean = means(both.coded, exact.depth);
    for (size_t output = group * in_group; output < (group + 1) * in_group; ++output) {
      const double scale = row_scale(quantized, output);
      double lack = 0;
      for (size_t k = 0; k < exact.depth; ++k) {
        const double coded = std::nearbyint(quantized.row(output)[k] / scale) * scale;
        lack += exact.row(output)[k] * mean[k] - coded * coded_mean[k];
      }
      quantized.bias[output] += lack;
      largest = std::max(largest, std::abs(lack));
    }
  }
  return largest;
}

}  // namespace vernier
