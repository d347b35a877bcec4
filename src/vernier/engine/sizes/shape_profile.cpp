#include "vernier/engine/sizes/shape_profile.h"

#include <cmath>
#include <numeric>

namespace vernier {

namespace {

std::string dims_of(const std::vector<DimRange>& ranges) {
  std::vector<std::string> texts;
  texts.reserve(ranges.size());
  for (const DimRange& range : ranges)
    texts.push_back(range.min == range.max ? std::to_string(range.min)
                                           : fmt::format("{}..{}..{}", range.min, range.opt, range.max));
  return fmt::format("{}", fmt::join(texts, "x"));
}

// Says what keeps the inputs out of the profile; "" for nothing.
std::string misfit(const ShapeProfile& profile, const Graph& graph, const std::vector<ValueType>& inputs) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto found = profile.inputs.find(graph.inputs[i]->name);
    if (found == profile.inputs.end() || !inputs[i].is_tensor() || !inputs[i].tensor.shape) continue;
    const Shape& shape = *inputs[i].tensor.shape;
    if (shape.size() != found->second.size())
      return fmt::format("input '{}' has rank {}, not {}", found->first, shape.size(), found->second.size());
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const auto size = shape[axis].constant();
      const DimRange& range = found->second[axis];
      if (size && (*size < range.min || *size > range.max))
        return fmt::format("dimension {} of input '{}' is {}, allowed are {} to {}", axis, found->first,
                           *size, range.min, range.max);
    }
  }
  return "";
}

double doublings(int64_t from, int64_t to) {
  return std::abs(std::log2(static_cast<double>(std::max<int64_t>(to, 1)) /
                            static_cast<double>(std::max<int64_t>(from, 1))));
}

// A part of the way, in doublings.
int64_t size_between(const DimRange& range, int64_t from, int64_t to, double part) {
  if (from == to) return from;
  const int64_t step = std::max<int64_t>(std::gcd(std::gcd(range.min, range.opt), range.max), 1);
  const double size = std::exp2(std::log2(static_cast<double>(std::max<int64_t>(from, 1))) * (1 - part) +
                                std::log2(static_cast<double>(std::max<int64_t>(to, 1))) * part);
  const auto steps = static_cast<int64_t>(std::lround(size / static_cast<double>(step)));
  return std::clamp(steps * step, std::min(from, to), std::max(from, to));
}

// Gives the sizes between two sizes of the profile, each as a profile of one size each.
std::vector<ShapeProfile> between(const ShapeProfile& profile, int64_t DimRange::*from,
                                  int64_t DimRange::*to) {
  constexpr double kApart = 2;
  constexpr int kMost = 2;
  double longest = 0;
  for (const auto& [name, ranges] : profile.inputs) {
    for (const DimRange& range : ranges) longest = std::max(longest, doublings(range.*from, range.*to));
  }
  const int count = std::clamp(static_cast<int>(std::ceil(longest / kApart)) - 1, 0, kMost);
  std::vector<ShapeProfile> all(static_cast<size_t>(count), profile);
  for (int i = 0; i < count; ++i) {
    for (auto& [name, ranges] : all[static_cast<size_t>(i)].inputs) {
      for (DimRange& range : ranges)
        range.opt = size_between(range, range.*from, range.*to, (i + 1.0) / (count + 1));
    }
  }
  return all;
}

}  // namespace

std::vector<std::vector<ValueType>> ShapeProfile::types_between(const Graph& graph) const {
  std::vector<std::vector<ValueType>> all;
  for (const auto& [from, to] :
       {std::pair{&DimRange::min, &DimRange::opt}, {&DimRange::opt, &DimRange::max}}) {
    for (const ShapeProfile& each : between(*this, from, to))
      all.push_back(each.types(graph, &DimRange::opt));
  }
  return all;
}

std::string ShapeProfile::text() const {
  std::vector<std::string> texts;
  for (const auto& [name, ranges] : inputs) texts.push_back(fmt::format("{}: {}", name, dims_of(ranges)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<ValueType> ShapeProfile::types(const Graph& graph, int64_t DimRange::*size) const {
  std::vector<ValueType> types;
  for (const Value* input : graph.inputs) {
    ValueType type = input->type;
    if (const auto found = inputs.find(input->name); found != inputs.end()) {
      Dims dims;
      for (const DimRange& range : found->second) dims.push_back(range.*size);
      type = ValueType::of(type.tensor.element, to_shape(dims));
    }
    if (type.is_tensor() && (!type.tensor.shape || !to_dims(*type.tensor.shape)))
      throw bad_input("input '{}' is {}, and the profile does not say its sizes", input->name, type.text())
          .advise("add it to --min-shapes, --opt-shapes and --max-shapes");
    types.push_back(std::move(type));
  }
  return types;
}

void check_profile(const ShapeProfile& profile, const Graph& graph) {
  for (const auto& entry : profile.inputs) {
    const std::string& name = entry.first;
    const std::vector<DimRange>& ranges = entry.second;
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](const Value* each) { return each->name == name; });
    if (input == graph.inputs.end())
      throw bad_input("the profile names '{}', which is no input of the model", name);
    const ValueType& type = (*input)->type;
    if (!type.is_tensor() || (type.tensor.shape && type.tensor.shape->size() != ranges.size()))
      throw bad_input("the profile gives input '{}' {} dimensions, but it is {}", name, ranges.size(),
                      type.text());
    for (size_t axis = 0; axis < ranges.size(); ++axis) {
      const DimRange& range = ranges[axis];
      if (range.min < 0 || range.min > range.opt || range.opt > range.max)
        throw bad_input("dimension {} of input '{}' has min {}, opt {}, max {}", axis, name, range.min,
                        range.opt, range.max)
            .advise("sizes must ascend from min over opt to max");
      const auto fixed = type.tensor.shape ? (*type.tensor.shape)[axis].constant() : std::nullopt;
      if (fixed && (*fixed != range.min || *fixed != range.max))
        throw bad_input("dimension {} of input '{}' is {} in the model, the profile has {} to {}", axis, name,
                        *fixed, range.min, range.max);
    }
  }
}

bool is_within(const ShapeProfile& profile, const Graph& graph, const std::vector<ValueType>& inputs) {
  return misfit(profile, graph, inputs).empty();
}

void require_profile(const std::vector<ShapeProfile>& profiles, const Graph& graph,
                     const std::vector<ValueType>& inputs) {
  std::string reasons;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const std::string reason = misfit(profiles[i], graph, inputs);
    if (reason.empty()) return;
    reasons += fmt::format("{}profile {}: {}", i == 0 ? "" : "; ", i, reason);
  }
  if (profiles.empty()) return;
  throw bad_input("the engine was not built for these sizes: {}", reasons)
      .advise("build it with a profile that holds them (--min-shapes, --opt-shapes, --max-shapes)");
}

}  // namespace vernier
