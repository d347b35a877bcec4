// Where a model quantizes, with which scales, and what these do to the values that come by.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "vernier/ir/graph.h"

namespace vernier {

// Holds what a scale met, over elements, of one sample or of several.
struct ScaleUse {
  double least = 0, most = 0;  // of the values, and zero
  double elements = 0;         // of all values
  double count = 0;            // of values that are not zero
  double clipped = 0;          // of these, more than half a step out of range
  double beside_zero = 0;      // of these, at most two steps from zero
  double energy = 0;           // sum of squares
  double lost = 0;             // sum of squares of the errors
  double lost_by_clipping = 0;

  void add(const ScaleUse& other);
  double largest() const { return std::max(most, -least); }
};

// A QuantizeLinear with the nodes that take its integers back to reals.
struct QuantizationSite {
  const Node* quantize = nullptr;
  std::vector<const Node*> dequantize;
  bool is_weight = false;  // it quantizes a constant
  std::vector<double> scales, zero_points;
  double lowest = 0, highest = 0;  // integers of the type
  size_t axis = 0;                 // of the scales, if there are several
  std::vector<ScaleUse> uses;      // by sample; of weights one

  ScaleUse use() const;  // of all samples
  // Whether a scale is no positive finite number.
  bool is_broken() const;
  // Whether it quantizes what the model reads itself.
  bool is_input() const;
  // One good scale for a tensor that nodes compute, with something in it.
  bool has_one_scale() const;
  // Divides what the integers reach by what the values reach, on the side where these reach further: 1 fits,
  // less clips, more wastes. For scales of the tensor.
  double fit(const ScaleUse& use) const;
  // Gives what the integers reach.
  double reach(const ScaleUse& use) const;
  std::vector<std::string> onnx_nodes() const;
};

// Reads a QuantizeLinear, without the nodes that take its integers back. Nothing where scales are made by
// nodes, or of blocks.
std::optional<QuantizationSite> site_of(const Node& node);
// Gives what its scales do to these values.
ScaleUse use_of(const QuantizationSite& site, const Tensor& tensor);

// Stands in the place of a site that quantizes, to see what goes with its error.
struct Cure {
  enum class Kind : uint8_t {
    kIdentity,
    kRefit,     // the same integers, with scales that suit the values at hand
    kPerIndex,  // the same, with one scale for each index of an axis
  };
  Kind kind = Kind::kIdentity;
  size_t axis = 0;
};

using Cures = std::map<const Node*, Cure>;  // by QuantizeLinear

// Gives what the reals that come to the site are after it.
Tensor cured(const QuantizationSite& site, const Tensor& reals, const Cure& cure);

}  // namespace vernier
