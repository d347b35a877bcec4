// Frees the sizes of a model's inputs as far as the model allows, and finds profiles for engines of it: so
// every model with recorded data is one whose sizes move.
//
// Each dimension of the inputs becomes a symbol of its own; where inference refuses that, or the rank of an
// output would be lost, dimensions of one size become one symbol, else single ones become symbols. Of these,
// a dimension is free if the model takes it at a size that is not the recorded one, alone or together with
// others, as inference at such sizes tells; weights and attributes fix the rest, which stays as the model has
// it. A profile goes from 1 to twice the recorded size; where the model does not take that, from half of it
// or one less, and to one more.
#pragma once

#include <limits>

#include "vernier/data/input_shapes.h"
#include "vernier/engine/sizes/shape_profile.h"

namespace vernier {

struct FreedModel {
  Model model;
  size_t freed = 0;   // dimensions that the model had fixed and that are free now
  size_t moving = 0;  // dimensions of which a profile holds several sizes; the model may have had them free
  // Why none moves; "": some do, and there are a model and profiles. Both hold all recorded sizes.
  std::string why_none;
  ShapeProfile at_recorded;  // with the recorded sizes for its opt
  ShapeProfile at_others;    // with others, so that the recorded ones are planned when they come
  // For each name of dimensions that moves alone: the first recorded sizes, but for the dimensions of that
  // name.
  std::vector<std::vector<InputShapes>> neighbours;
};

// `recorded`: what each data set has for the inputs; the model takes them. The model's types are inferred.
// Profiles hold no input of more than `most` elements, unless it is at most twice what was recorded first.
FreedModel free_sizes(const Model& model, const std::vector<InputShapes>& recorded,
                      int64_t most = std::numeric_limits<int64_t>::max());

}  // namespace vernier
