#include "vernier/diagnose/hypotheses/operators/normalized.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/reduce_axes.h"

namespace vernier {

namespace {

int64_t row_length(const Member& member) {
  const Dims& dims = member.in(0).dims();
  if (member.is("GroupNormalization")) {
    const int64_t groups = ops::integer_attribute(member.node(), "num_groups");
    return member.in(0).size() / std::max<int64_t>(1, dims.at(0) * groups);
  }
  const size_t first = member.is("InstanceNormalization")
                           ? 2
                           : axis_of(ops::integer_attribute(member.node(), "axis"), member.in(0));
  int64_t length = 1;
  for (size_t i = first; i < dims.size(); ++i) length *= dims[i];
  return length;
}

bool is_mean_variance(const Member& member) {
  return member.is("MeanVarianceNormalization");
}

double epsilon_of(const Member& member) {
  constexpr double kOfMeanVariance = 1e-9;  // behind the root, by its definition
  return is_mean_variance(member) ? kOfMeanVariance
                                  : static_cast<double>(ops::real_attribute(member.node(), "epsilon"));
}

// Scale and bias of element i of the first operand.
class Affine {
 public:
  explicit Affine(const Member& member)
      : per_channel_(!member.is("LayerNormalization") && !member.is("RMSNormalization")) {
    const Dims& dims = member.in(0).dims();
    for (size_t i = 2; i < dims.size(); ++i) inner_ *= dims[i];
    channels_ = dims.size() > 1 ? dims[1] : 1;
    if (member.has(1)) scale_ = member.in(1).to_doubles();
    if (member.has(2)) bias_ = member.in(2).to_doubles();
  }
  double scale(size_t element) const { return at(scale_, element, 1); }
  double bias(size_t element) const { return at(bias_, element, 0); }

 private:
  double at(const std::vector<double>& parameters, size_t element, double absent) const {
    if (parameters.empty()) return absent;
    const auto count = static_cast<int64_t>(parameters.size()), place = static_cast<int64_t>(element);
    const int64_t index = per_channel_ ? place / inner_ % channels_ * count / channels_ : place % count;
    return parameters[static_cast<size_t>(index)];
  }

  bool per_channel_;
  int64_t inner_ = 1, channels_ = 1;
  std::vector<double> scale_, bias_;
};

// By group.
std::vector<Statistics> statistics_of(const std::vector<double>& x, const Grouping& grouping,
                                      double epsilon) {
  const size_t groups =
      grouping.group.empty() ? 0 : *std::max_element(grouping.group.begin(), grouping.group.end()) + 1;
  std::vector<Statistics> all(groups);
  const auto each = [&](const std::function<void(double value, Statistics&)>& add) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (grouping.counts.empty() || grouping.counts[i]) add(x[i], all[grouping.group[i]]);
    }
  };
  for (Statistics& group : all) group.epsilon = epsilon;
  each([](double, Statistics& group) { ++group.count; });
  each([](double value, Statistics& group) {
    group.mean += value / group.count;
    group.mean_square += value * value / group.count;
  });
  each([](double value, Statistics& group) {
    const double deviation = value - group.mean;
    group.variance += deviation * deviation / group.count;
    group.mean_deviation += std::abs(deviation) / group.count;
  });
  return all;
}

}  // namespace

bool normalises_rows(const Member& member) {
  return member.is("LayerNormalization") || member.is("InstanceNormalization") ||
         member.is("GroupNormalization") || member.is("RMSNormalization");
}

Grouping grouping_along(const Member& member, const std::vector<int64_t>& axes) {
  const Dims& dims = member.in(0).dims();
  std::vector<bool> joined(dims.size(), false);
  for (const int64_t axis : axes) joined[axis_of(axis, member.in(0))] = true;
  Grouping grouping;
  grouping.group.resize(static_cast<size_t>(member.in(0).size()));
  for (size_t i = 0; i < grouping.group.size(); ++i) {
    size_t rest = i, step = 1;
    for (size_t axis = dims.size(); axis-- > 0;) {
      const auto size = static_cast<size_t>(dims[axis]);
      if (!joined[axis]) {
        grouping.group[i] += rest % size * step;
        step *= size;
      }
      rest /= size;
    }
  }
  return grouping;
}

Grouping right_grouping(const Member& member) {
  if (is_mean_variance(member))
    return grouping_along(member, ops::mean_variance_axes(member.node(), member.in(0).rank()));
  const auto length = static_cast<size_t>(std::max<int64_t>(1, row_length(member)));
  Grouping grouping;
  grouping.group.resize(static_cast<size_t>(member.in(0).size()));
  for (size_t i = 0; i < grouping.group.size(); ++i) grouping.group[i] = i / length;
  return grouping;
}

double right_rule(const Member& member, double value, const Statistics& row) {
  if (is_mean_variance(member)) return (value - row.mean) / (std::sqrt(row.variance) + row.epsilon);
  if (member.is("RMSNormalization")) return value / std::sqrt(row.mean_square + row.epsilon);
  return (value - row.mean) / std::sqrt(row.variance + row.epsilon);
}

Tensors normalised(const Member& member, const Grouping& grouping, const NormalRule& rule,
                   const AffineRule& affine) {
  const auto x = member.in(0).to_doubles();
  const auto statistics = statistics_of(x, grouping, epsilon_of(member));
  const Affine parameters(member);
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = rule(x[i], statistics[grouping.group[i]]), scale = parameters.scale(i),
                 bias = parameters.bias(i);
    y[i] = affine ? affine(value, scale, bias) : value * scale + bias;
  }
  Tensors results = member.outputs();
  results.at(0) = Tensor::from_doubles(ElementType::kDouble, member.in(0).dims(), y);
  return results;
}

}  // namespace vernier
