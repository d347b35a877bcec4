#include <algorithm>
#include <cmath>

#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

bool has_body(const FlaggedNode& flagged) {
  return !flagged.node->regions.empty() && !ops::is_group(*flagged.node);
}

// Root mean square of what noise does to the elements; infinite where it turns integers over.
double moved_by_noise(const Tensor& quiet, const Tensor& noisy) {
  if (quiet.dims() != noisy.dims()) return HUGE_VAL;
  const auto a = quiet.to_doubles(), b = noisy.to_doubles();
  if (!is_float(quiet.type())) return a == b ? 0 : HUGE_VAL;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double moved = a[i] - b[i];
    sum += std::isfinite(moved) ? moved * moved : 0;
  }
  return a.empty() ? 0 : std::sqrt(sum / static_cast<double>(a.size()));
}

void allow(ElementErrors& errors, double moved) {
  if (!(moved > 0)) return;
  errors.error.resize(static_cast<size_t>(errors.value.size()), 0);
  for (double& error : errors.error) error = std::max(error, moved);
}

void allow_noise(FlaggedNode& flagged, const std::vector<Datum>& noisy) {
  for (size_t i = 0; i < flagged.expected.size(); ++i) {
    ElementErrors& errors = flagged.expected[i];
    const ElementType type = errors.value.is_defined() ? errors.value.type() : ElementType::kString;
    if (!noisy[i].is_tensor() || type == ElementType::kString || is_complex(type)) continue;
    allow(errors, moved_by_noise(errors.value, noisy[i].tensor));
  }
}

void judge_again(FlaggedNode& flagged) {
  flagged.worst = {};
  flagged.output = 0;
  for (size_t i = 0; i < flagged.made.size(); ++i) {
    if (flagged.made[i].is_defined()) compare_output(flagged, i);
  }
}

}  // namespace

std::vector<const Node*> excuse_feedback(const ShownRun& shown, const NamedData& given, double beyond,
                                         std::vector<FlaggedNode>& flagged_nodes) {
  if (std::none_of(flagged_nodes.begin(), flagged_nodes.end(), has_body)) return {};
  constexpr uint64_t kDraws = 3;
  InterpreterOptions options;
  options.planned = &shown.roundings;
  options.values = &shown.values;
  options.revise = [&](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    for (FlaggedNode& flagged : flagged_nodes) {
      if (flagged.node == &node && has_body(flagged)) allow_noise(flagged, results);
    }
  };
  for (uint64_t draw = 1; draw <= kDraws; ++draw) {
    options.noise_seed = draw;
    run_reference(*shown.graph, given, options);
  }
  std::vector<const Node*> excused;
  std::erase_if(flagged_nodes, [&](FlaggedNode& flagged) {
    if (!has_body(flagged)) return false;
    judge_again(flagged);
    if (flagged.worst.worst > beyond) return false;
    excused.push_back(flagged.node);
    return true;
  });
  return excused;
}

}  // namespace vernier
