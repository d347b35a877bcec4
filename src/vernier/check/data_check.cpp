// B2, B4: activations that leave the range of FP16; B16: where NaN and Inf come from.
#include "vernier/check/data_check.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "vernier/check/probe.h"
#include "vernier/numeric/minifloat.h"

namespace vernier {

namespace {

// Other data of the same kind reach twice as far now and then, and four times hardly ever.
constexpr double kHeadroom = 4;

// Gives what is known of a value that no node of the main graph makes: a constant.
ElementStatistics statistics_of(const Tensor* constant) {
  ElementStatistics statistics;
  if (constant != nullptr && is_float(constant->type())) statistics.add(constant->to_doubles());
  return statistics;
}

}  // namespace

void ElementStatistics::add(std::span<const double> values) {
  elements += static_cast<int64_t>(values.size());
  for (const double value : values) {
    const double magnitude = std::abs(value);
    if (std::isnan(value)) {
      ++nan;
    } else if (std::isinf(value)) {
      ++infinite;
    } else if (magnitude > 0) {
      largest = std::max(largest, magnitude);
      smallest = std::min(smallest, magnitude);
    }
  }
}

int significant_bits(ElementType type) {
  switch (type) {
    case ElementType::kFloat16: return 11;
    case ElementType::kBFloat16: return 8;
    case ElementType::kFloat: return 24;
    default: return 53;
  }
}

struct DataCheck::State {
  State(const Model& model, const CheckOptions& options) : context(model, options) {
    for (const auto& node : model.graph->nodes()) {
      for (const auto add :
           {add_denominator_probe, add_softmax_probe, add_normalisation_probe, add_quantization_probe})
        add(context, *node, probes);
    }
    for (const auto& [value, probe] : probes) probes_of[value].push_back(probe.get());
  }

  const ElementStatistics& of(const Value* value) {
    const auto [slot, fresh] = statistics.try_emplace(value);
    if (fresh) slot->second = statistics_of(context.constant(value));
    return slot->second;
  }

  void judge_range(const Node& node, const Value& output, Collector& collector);
  void judge_finite(const Node& node, Collector& collector);

  CheckContext context;
  std::unordered_map<const Value*, ElementStatistics> statistics;
  InputProbes probes;
  std::unordered_map<const Value*, std::vector<Probe*>> probes_of;
};

// Where the model stores FP16, what is too large is infinite already, which judge_finite reports.
void DataCheck::State::judge_range(const Node& node, const Value& output, Collector& collector) {
  const ElementStatistics& seen = of(&output);
  if (!context.is_half(&output) || seen.largest == 0) return;
  if (Float16(seen.largest).is_infinite()) {  // 65519.99 becomes 65504
    collector.add({.rule = "B2-activation-overflow",
                   .severity = Severity::kWarning,
                   .effect = 0.9,
                   .node = node.name,
                   .message = fmt::format("'{}' reaches {:.4g} on these data; FP16 ends at 65504",
                                          output.name, seen.largest),
                   .remedy = "keep the node in FP32 or BF16, or scale its inputs down by a power of two"});
  } else if (seen.largest > kHalfMax / kHeadroom) {
    collector.add({.rule = "B2-little-headroom",
                   .severity = Severity::kNote,
                   .effect = 0.1,
                   .node = node.name,
                   .message = fmt::format("'{}' reaches {:.4g} on these data, {:.2g} of what FP16 holds",
                                          output.name, seen.largest, seen.largest / kHalfMax),
                   .remedy = "try more data before this node is lowered to FP16"});
  } else if (seen.largest < kHalfMinNormal) {
    collector.add(
        {.rule = "B4-activation-underflow",
         .severity = Severity::kWarning,
         .effect = seen.largest < kHalfMin ? 0.7 : 0.3,
         .node = node.name,
         .message = fmt::format("'{}' stays below {:.3g} on these data; FP16 {}", output.name, seen.largest,
                                seen.largest < kHalfMin ? "makes that zero" : "holds that with fewer digits"),
         .remedy = "scale the node's inputs up by a power of two, or keep it in FP32"});
  }
}

void DataCheck::State::judge_finite(const Node& node, Collector& collector) {
  int64_t nan_in = 0, infinite_in = 0;
  bool reads_floats = false;
  for (const Value* input : node.inputs) {
    if (input == nullptr) continue;
    reads_floats = reads_floats || is_float(context.type(input));
    nan_in += of(input).nan;
    infinite_in += of(input).infinite;
  }
  for (const Value* output : node.outputs) {
    if (output == nullptr || !reads_floats) continue;
    const ElementStatistics seen = of(output);
    if (seen.nan > 0 && nan_in == 0) {
      collector.add({.rule = "B16-first-nan",
                     .severity = Severity::kError,
                     .effect = 1,
                     .node = node.name,
                     .message = fmt::format("{} makes the first NaN: {} of {} elements of '{}', {}", node.op,
                                            seen.nan, seen.elements, output->name,
                                            infinite_in > 0 ? "from an Inf" : "from finite inputs"),
                     .remedy = "guard the operation (epsilon, Clip), or correct what feeds it"});
    } else if (seen.infinite > 0 && infinite_in == 0 && nan_in == 0) {
      // The logarithm of a probability of zero is meant to be infinite.
      const bool meant = node.op == "Log" || node.op == "LogSoftmax";
      collector.add({.rule = "B16-first-infinity",
                     .severity = meant ? Severity::kNote : Severity::kWarning,
                     .effect = meant ? 0.1 : 0.9,
                     .node = node.name,
                     .message = fmt::format("{} makes Inf of finite inputs: {} of {} elements of '{}'{}",
                                            node.op, seen.infinite, seen.elements, output->name,
                                            context.is_half(output) ? "; FP16 ends at 65504" : ""),
                     .remedy = "keep the node in a wider type, or guard the operation (epsilon, Clip)"});
    }
  }
}

DataCheck::DataCheck(const Model& model, const CheckOptions& options)
    : state_(std::make_unique<State>(model, options)) {}
DataCheck::~DataCheck() = default;

void DataCheck::observe(const Value& value, const Datum& datum) {
  if (!datum.is_tensor() || !is_float(datum.tensor.type())) return;
  const auto elements = datum.tensor.to_doubles();
  state_->statistics[&value].add(elements);
  const auto found = state_->probes_of.find(&value);
  if (found == state_->probes_of.end() || elements.empty()) return;
  for (Probe* probe : found->second) probe->add(datum.tensor.dims(), elements);
}

std::vector<Finding> DataCheck::findings() const {
  std::vector<Finding> findings;
  {
    Collector collector(findings);
    for (const Value* input : state_->context.model().graph->inputs) {
      const ElementStatistics& seen = state_->of(input);
      if (input->is_constant() || seen.nan + seen.infinite == 0) continue;
      collector.add({.rule = "B16-input-not-finite",
                     .severity = Severity::kError,
                     .effect = 1,
                     .node = "",
                     .message = fmt::format("the data hold {} NaN and {} Inf for input '{}'", seen.nan,
                                            seen.infinite, input->name),
                     .remedy = "correct the data"});
    }
    for (const auto& node : state_->context.model().graph->nodes()) {
      state_->judge_finite(*node, collector);
      for (const Value* output : node->outputs) {
        if (output != nullptr) state_->judge_range(*node, *output, collector);
      }
    }
  }
  std::vector<Finding> of_probes;
  for (const auto& [value, probe] : state_->probes) probe->conclude(of_probes);
  {
    Collector collector(findings);
    for (Finding& finding : of_probes) collector.add(std::move(finding));
  }
  rank(findings);
  return findings;
}

}  // namespace vernier
