// A model whose weights suit int8 better than those that it was trained with.
#pragma once

#include <functional>
#include <memory>

#include "vernier/calibrate/calibrate.h"

namespace vernier {

struct AdaptOptions {
  bool equalise = false;        // equalise_layers.h
  bool learn_rounding = false;  // learned_rounding.h
  bool correct_bias = false;    // the same

  bool any() const { return equalise || learn_rounding || correct_bias; }
};

struct RoundedLayer {
  std::string node;
  size_t flipped = 0, weights = 0;
  double nearest = 0, learnt = 0;  // RoundingResult
};

struct AdaptedModel {
  Model model;               // with BatchNormalization in the weights before it
  CalibrationResult ranges;  // of this model
  size_t equalised = 0;      // pairs of layers
  std::vector<RoundedLayer> rounded;
  size_t corrected = 0;       // layers
  double largest_change = 0;  // of a bias
  // Relative L2 errors in the outputs that int8 makes of the model as it was, and of this one, each against
  // the floats of the model as it was. Nothing where no output is of floats.
  std::optional<double> error_before, error_after;
};

// `ranges` are those of `model`, found with `how`, which finds those of the adapted one as well. The
// data are opened anew for each pass over them. Gives nothing if somebody interrupts. Throws usage_error
// where the model has no layer with constant weights, and what calibrating and running the model throws.
std::optional<AdaptedModel> adapt_weights(const Model& model, const CalibrationResult& ranges,
                                          const std::function<std::unique_ptr<DataSource>()>& open_data,
                                          const CalibrateOptions& how, const AdaptOptions& options);

}  // namespace vernier
