// B35: a normalisation with another epsilon, other statistics, or the parameters of other channels.
#include <cmath>
#include <utility>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/hypotheses/operators/normalized.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/reduce_axes.h"

namespace vernier {

namespace {

constexpr int kClass = 35;

// Which operands are parameters by channel, and what they are called.
constexpr std::pair<size_t, const char*> kParameters[] = {
    {1, "scale"}, {2, "bias"}, {3, "mean"}, {4, "variance"}};

bool is_batch_normalization(const Member& member) {
  return member.is("BatchNormalization");
}

void propose_epsilons(const Variations& variations) {
  const float given = ops::real_attribute(variations.member().node(), "epsilon");
  for (const float epsilon : {0.0F, 1e-12F, 1e-8F, 1e-6F, 1e-5F, 1e-3F, 1e-2F}) {
    if (epsilon == given) continue;
    variations.add_node(fmt::format("epsilon is {:g} instead of {:g}", epsilon, given),
                        [epsilon](Node& node) { node.attributes["epsilon"] = epsilon; });
  }
}

// The epsilon with which the node comes nearest to what was made: the golden section of its logarithm.
double fitted_epsilon(const Member& member, const Tensor& made) {
  const auto left = [&](double logarithm) {
    const Tensors results = member.changed(
        [&](Node& node) { node.attributes["epsilon"] = static_cast<float>(std::pow(10, logarithm)); });
    return bounded_distance({results.at(0)}, {made}, {member.out()});
  };
  constexpr double kSection = 0.6180339887498949;
  constexpr int kSteps = 24;
  double low = -9, high = 2;
  double a = high - kSection * (high - low), b = low + kSection * (high - low);
  double left_a = left(a), left_b = left(b);
  for (int step = 0; step < kSteps; ++step) {
    if (left_a < left_b) {
      high = std::exchange(b, a);
      left_b = left_a;
      a = high - kSection * (high - low);
      left_a = left(a);
    } else {
      low = std::exchange(a, b);
      left_a = left_b;
      b = low + kSection * (high - low);
      left_b = left(b);
    }
  }
  return std::pow(10, (low + high) / 2);
}

void propose_other_epsilon(const Variations& variations, const FlaggedNode& flagged) {
  const Member& member = variations.member();
  constexpr int64_t kMost = 1 << 22;
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr || made->size() > kMost) return;
  variations.add(
      "epsilon is another number",
      [&member, made] {
        const double epsilon = fitted_epsilon(member, *made);
        return member.changed([=](Node& node) { node.attributes["epsilon"] = static_cast<float>(epsilon); });
      },
      kFittedNumber);
}

void propose_statistics(const Variations& variations) {
  const Member& member = variations.member();
  const auto add = [&](const char* what, const NormalRule& rule) {
    variations.add(what, [&member, rule] { return normalised(member, right_grouping(member), rule); });
  };
  const bool centred = !member.is("RMSNormalization");
  const auto centre = [centred](const Statistics& row) { return centred ? row.mean : 0; };
  const auto square = [centred](const Statistics& row) { return centred ? row.variance : row.mean_square; };
  add("epsilon is added behind the root", [=](double value, const Statistics& row) {
    return (value - centre(row)) / (std::sqrt(square(row)) + row.epsilon);
  });
  add("epsilon is the least variance instead of being added", [=](double value, const Statistics& row) {
    return (value - centre(row)) / std::sqrt(std::max(square(row), row.epsilon));
  });
  add("the sum of squares is divided by one less than the count", [=](double value, const Statistics& row) {
    return (value - centre(row)) / std::sqrt(square(row) * row.count / (row.count - 1) + row.epsilon);
  });
  add("no root of the variance is taken", [=](double value, const Statistics& row) {
    return (value - centre(row)) / (square(row) + row.epsilon);
  });
  if (!centred) {
    add("the mean is taken off, as LayerNormalization does", [](double value, const Statistics& row) {
      return (value - row.mean) / std::sqrt(row.variance + row.epsilon);
    });
    return;
  }
  add("the mean deviation takes the place of the standard deviation",
      [](double value, const Statistics& row) { return (value - row.mean) / row.mean_deviation; });
  add("no mean is taken off, as in RMSNormalization",
      [](double value, const Statistics& row) { return value / std::sqrt(row.mean_square + row.epsilon); });
  add("the mean is taken off for the variance only",
      [](double value, const Statistics& row) { return value / std::sqrt(row.variance + row.epsilon); });
  add("the mean is taken off behind the variance", [](double value, const Statistics& row) {
    return (value - row.mean) / std::sqrt(row.mean_square + row.epsilon);
  });
}

// MeanVarianceNormalization along one axis more, or less.
void propose_mean_variance_axes(const Variations& variations) {
  const Member& member = variations.member();
  const auto right = ops::mean_variance_axes(member.node(), member.in(0).rank());
  for (int64_t axis = 0; axis < static_cast<int64_t>(member.in(0).rank()); ++axis) {
    auto axes = right;
    const bool is_less = std::erase(axes, axis) > 0;
    if (!is_less) axes.push_back(axis);
    if (axes.empty()) continue;
    variations.add(
        fmt::format("statistics are {} along axis {}", is_less ? "not taken" : "taken, too,", axis),
        [&member, axes] {
          return normalised(
              member, grouping_along(member, axes),
              [&member](double value, const Statistics& row) { return right_rule(member, value, row); });
        });
  }
}

// Scale and bias, applied otherwise than one after the other.
void propose_affine_rules(const Variations& variations) {
  const Member& member = variations.member();
  const auto add = [&](const char* what, const AffineRule& rule) {
    variations.add(what, [&member, rule] {
      const auto right = [&member](double value, const Statistics& row) {
        return right_rule(member, value, row);
      };
      return normalised(member, right_grouping(member), right, rule);
    });
  };
  add("the scale is one more than it should be",
      [](double value, double scale, double bias) { return value * (1 + scale) + bias; });
  add("the scale is one less than it should be",
      [](double value, double scale, double bias) { return value * (scale - 1) + bias; });
  add("the bias is added before the scale is applied",
      [](double value, double scale, double bias) { return (value + bias) * scale; });
}

// The parameters of other channels: all of them, or one.
void propose_orders(const Variations& variations) {
  const Member& member = variations.member();
  struct Order {
    const char* what;
    std::function<Tensor(const Tensor&)> change;
  };
  const Order orders[] = {
      {"that of the next channel", [](const Tensor& each) { return rolled(each, 0, 1); }},
      {"that of the channel before", [](const Tensor& each) { return rolled(each, 0, -1); }},
      {"in reverse order of channels", [](const Tensor& each) { return reversed(each, 0); }}};
  for (const auto& [what, change] : orders) {
    variations.add(fmt::format("every parameter is {}", what), [&member, change = change] {
      Tensors inputs = member.inputs();
      for (const auto& [index, name] : kParameters) {
        if (member.has(index)) inputs[index] = change(inputs[index]);
      }
      return member.with_inputs(std::move(inputs));
    });
    for (const auto& [index, name] : kParameters)
      variations.add_operand(fmt::format("the {} is {}", name, what), index, change);
  }
}

// As GroupNormalization had them before opset 21.
void propose_parameters_by_group(const Variations& variations) {
  const Member& member = variations.member();
  const int64_t groups = ops::integer_attribute(member.node(), "num_groups");
  variations.add("every channel has the parameters of its group's number", [&member, groups] {
    Tensors inputs = member.inputs();
    for (const size_t index : {size_t{1}, size_t{2}}) {
      if (!member.has(index)) continue;
      const int64_t channels = inputs[index].dims().at(0);
      std::vector<int64_t> places;
      for (int64_t channel = 0; channel < channels; ++channel) places.push_back(channel * groups / channels);
      inputs[index] = taken(inputs[index], 0, places);
    }
    return member.with_inputs(std::move(inputs));
  });
}

void propose_exchanges(const Variations& variations) {
  const Member& member = variations.member();
  for (const auto& [a, a_name] : kParameters) {
    for (const auto& [b, b_name] : kParameters) {
      if (a >= b || !member.has(a) || !member.has(b) || member.in(a).dims() != member.in(b).dims()) continue;
      variations.add(fmt::format("{} and {} are exchanged", a_name, b_name), [&member, a = a, b = b] {
        Tensors inputs = member.inputs();
        std::swap(inputs[a], inputs[b]);
        return member.with_inputs(std::move(inputs));
      });
    }
  }
}

void propose_folding(const Variations& variations) {
  const double epsilon = static_cast<double>(ops::real_attribute(variations.member().node(), "epsilon"));
  const auto change = [&](const char* what, size_t index, const std::function<double(double)>& each) {
    variations.add_operand(what, index, [each](const Tensor& values) { return mapped(values, each); });
  };
  // These variances become, with the epsilon that is added to them, what is meant.
  change("epsilon is added behind the root", 4, [epsilon](double variance) {
    const double divisor = std::sqrt(variance) + epsilon;
    return divisor * divisor - epsilon;
  });
  change("no root of the variance is taken", 4,
         [epsilon](double variance) { return (variance + epsilon) * (variance + epsilon) - epsilon; });
  change("it divides by the variance instead of its root", 4,
         [epsilon](double variance) { return variance * variance - epsilon; });
  change("the mean has the other sign", 3, [](double mean) { return -mean; });
  const Dims& dims = variations.member().in(0).dims();
  const int64_t channels = dims.size() > 1 ? std::max<int64_t>(1, dims[1]) : 1;
  const int64_t elements = variations.member().in(0).size() / channels;
  const auto count = static_cast<double>(elements);
  if (count > 1)
    change("the variance is that of one element less", 4,
           [count](double variance) { return variance * count / (count - 1); });
  change("the variance is lost", 4, [epsilon](double) { return 1 - epsilon; });
  change("the mean is lost", 3, [](double) { return 0; });
  variations.add("the statistics are those of the batch, as in training", [&member = variations.member()] {
    return member.changed([](Node& node) {
      node.version = std::max<int64_t>(node.version, 15);
      node.attributes["training_mode"] = int64_t{1};
    });
  });
}

}  // namespace

void propose_normalization(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                           std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  const bool of_batch = is_batch_normalization(member), of_rows = normalises_rows(member);
  const bool fused = member.op() == "SkipLayerNormalization" || member.op() == "EmbedLayerNormalization" ||
                     member.op() == "SkipSimplifiedLayerNormalization" || member.op() == "GroupNorm" ||
                     member.op() == "SimplifiedLayerNormalization";
  if (of_batch || of_rows || fused) propose_epsilons(variations);
  if (of_batch || of_rows) propose_other_epsilon(variations, flagged);
  if (of_rows) {
    propose_statistics(variations);
    propose_affine_rules(variations);
  }
  if (member.is("MeanVarianceNormalization") && member.node().version >= 9) {
    propose_statistics(variations);
    propose_mean_variance_axes(variations);
  }
  if (of_batch) propose_folding(variations);
  if (!of_batch && !of_rows) return;
  propose_orders(variations);
  if (member.is("GroupNormalization")) propose_parameters_by_group(variations);
  propose_exchanges(variations);
}

}  // namespace vernier
