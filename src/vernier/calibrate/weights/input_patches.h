// Layers multiply their weights with these: patches of their inputs, drawn from what the model computes on
// samples.
#pragma once

#include <optional>
#include <vector>

#include "vernier/calibrate/weights/layer_weights.h"
#include "vernier/engine/session.h"
#include "vernier/precision/calibration.h"

namespace vernier {

// The patches of one layer: for a Conv the receptive field of a result, else a row.
class InputPatches {
 public:
  // Keeps at most kMost patches, and no more than kMostBytes of them.
  explicit InputPatches(const LayerWeights& layer);

  // Draws up to kOfSample patches by the hash of the sample, and of all that are drawn keeps those of the
  // least hash: which ones depends neither on the order of samples nor on anything but their content.
  void add(const Tensor& input, uint64_t sample_hash);

  size_t count() const { return kept_.size(); }
  // Gives the patches of one group of channels, [count(), depth], in the order of their hashes.
  std::vector<float> group(size_t number) const;

  static constexpr size_t kMost = 1024, kOfSample = 16;
  static constexpr size_t kMostBytes = size_t{32} << 20;

 private:
  std::vector<float> patch_at(const Tensor& input, int64_t position) const;
  int64_t positions(const Tensor& input) const;

  const Node& node_;
  size_t depth_, groups_, most_;
  std::map<uint64_t, std::vector<float>> kept_;  // [groups, depth]
};

// The CPU engine of a model, which shows what its layers read.
class LayerInputs {
 public:
  // `model` and `layers` of it outlive this.
  LayerInputs(const Model& model, const std::vector<LayerWeights>& layers);
  // Adds what the layers read in one run to their patches, which are as many as the layers.
  void run(const NamedData& inputs, uint64_t sample_hash, std::vector<InputPatches>& patches);

 private:
  const std::vector<LayerWeights>& layers_;
  std::optional<Session> session_;
};

// These functions give a layer in int8: its weights, and what it multiplies them with.

// The scale that int8 gives a row of weights: the largest magnitude becomes 127.
double row_scale(const LayerWeights& layer, size_t output);

// Rounds each value to what a code stands for.
void round_to_codes(std::vector<float>& values, const ScaleEntry& entry);

// The patches of one group as the float model and as int8 multiply them; each is [count, depth].
struct GroupPatches {
  std::vector<float> exact, coded;
};
// Without an entry what int8 multiplies is what the float model does.
GroupPatches group_patches(const InputPatches& patches, size_t group, const std::optional<ScaleEntry>& entry);

}  // namespace vernier
