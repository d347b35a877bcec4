#include "vernier/calibrate/weights/adapt_weights.h"

#include <algorithm>

#include "vernier/base/interruption.h"
#include "vernier/calibrate/trial_samples.h"
#include "vernier/calibrate/weights/equalise_layers.h"
#include "vernier/calibrate/weights/learned_rounding.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

using OpenData = std::function<std::unique_ptr<DataSource>()>;

// Code that changes weights must see those that are quantized, because engines fold BatchNormalization into
// them.
Model with_folded_weights(const Model& model) {
  constexpr int64_t kConstantsAloneIr = 4;  // the first in which constants need not be inputs
  Model folded = clone(model);
  Graph& graph = *folded.graph;
  std::erase_if(graph.inputs, [](const Value* input) { return input->is_constant(); });
  folded.ir_version = std::max(folded.ir_version, kConstantsAloneIr);
  ops::infer_types(graph);
  run_passes(graph, {fold_constants(true), fold_batch_norm(), remove_dead_code()}, {});
  ops::infer_types(graph);
  return folded;
}

class WeightsRun {
 public:
  WeightsRun(const Model& model, const CalibrationResult& before, const OpenData& open_data,
             const CalibrateOptions& how, const AdaptOptions& options)
      : original_(model), before_(before), open_data_(open_data), how_(how), options_(options) {
    result_.model = with_folded_weights(model);
    how_.range = before.range;
    how_.try_methods = false;
  }

  std::optional<AdaptedModel> run() {
    if (options_.equalise) result_.equalised = equalise_layers(*result_.model.graph);
    layers_ = layers_of(*result_.model.graph);
    if (layers_.empty())
      throw usage_error("the model has no Conv, MatMul or Gemm with constant weights to adapt");
    auto data = open_data_();
    result_.ranges = vernier::calibrate(result_.model, *data, how_);
    if (result_.ranges.interrupted || !draw_patches() || !adapt_layers()) return std::nullopt;
    run_passes(*result_.model.graph, {remove_dead_code()}, {});  // the weights as they were
    measure();
    return std::move(result_);
  }

 private:
  bool draw_patches() {
    LayerInputs inputs(result_.model, layers_);
    for (const LayerWeights& layer : layers_) patches_.emplace_back(layer);
    auto data = open_data_();
    while (const auto sample = data->next()) {
      if (is_interrupted()) return false;
      const uint64_t hash = hash_sample(sample->inputs, how_.seed);
      samples_.offer(hash, sample->inputs);
      if (options_.learn_rounding || options_.correct_bias) inputs.run(sample->inputs, hash, patches_);
    }
    return true;
  }

  bool adapt_layers() {
    const Scales scales = scales_of(result_.ranges);
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (is_interrupted()) return false;
      LayerWeights& layer = layers_[i];
      const auto found = scales.find(layer.node->input(0)->name);
      const auto entry = found == scales.end() ? std::nullopt : std::optional(found->second);
      const LayerWeights exact = layer;
      if (options_.learn_rounding) learn(layer, i, entry);
      if (!options_.correct_bias) continue;
      const auto change = correct_bias(exact, layer, patches_[i], entry);
      if (!change) continue;
      store_bias(layer);
      ++result_.corrected;
      result_.largest_change = std::max(result_.largest_change, *change);
    }
    return true;
  }

  void learn(LayerWeights& layer, size_t number, const std::optional<ScaleEntry>& entry) {
    const bool centred = options_.correct_bias && !layer.bias.empty();
    const RoundingResult found = learn_rounding(layer, patches_[number], entry, centred);
    result_.rounded.push_back(
        {layer.node->name, found.flipped, layer.rows.size(), found.nearest, found.learnt});
    if (found.flipped > 0) store_weights(layer);
  }

  void measure() {
    if (!has_float_output(original_)) return;
    const auto exact = samples_.float_outputs(original_);
    result_.error_before = samples_.int8_error(original_, scales_of(before_), exact);
    result_.error_after = samples_.int8_error(result_.model, scales_of(result_.ranges), exact);
  }

  const Model& original_;
  const CalibrationResult& before_;
  const OpenData& open_data_;
  CalibrateOptions how_;
  AdaptOptions options_;
  AdaptedModel result_;
  std::vector<LayerWeights> layers_;
  std::vector<InputPatches> patches_;  // of each layer
  TrialSamples samples_;
};

}  // namespace

std::optional<AdaptedModel> adapt_weights(const Model& model, const CalibrationResult& ranges,
                                          const OpenData& open_data, const CalibrateOptions& how,
                                          const AdaptOptions& options) {
  return WeightsRun(model, ranges, open_data, how, options).run();
}

}  // namespace vernier
