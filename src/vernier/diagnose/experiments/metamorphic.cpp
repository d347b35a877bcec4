#include "vernier/diagnose/experiments/metamorphic.h"

#include <cmath>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/diagnose/repeats/batch_check.h"
#include "vernier/diagnose/repeats/repeatability.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

struct Range {
  double low = -HUGE_VAL, high = HUGE_VAL;
};

const Tensor* tensor_of(const Value* value, const NamedData& values) {
  if (value == nullptr) return nullptr;
  const auto found = values.find(value->name);
  return found == values.end() || !found->second.is_tensor() || !found->second.tensor.is_defined()
             ? nullptr
             : &found->second.tensor;
}

// The smallest and largest finite element; NaN says nothing.
Range extent(const Tensor& tensor) {
  Range range{HUGE_VAL, -HUGE_VAL};
  for (const double value : tensor.to_doubles()) {
    if (std::isnan(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

double bound(const Node& node, size_t input, const char* attribute, double otherwise,
             const NamedData& values) {
  if (const Tensor* tensor = tensor_of(node.input(input), values); tensor != nullptr && tensor->size() == 1)
    return tensor->to_doubles()[0];
  const auto given = node.version < 11 ? ops::clip_bound_attribute(node, attribute) : std::nullopt;
  return given ? static_cast<double>(*given) : otherwise;
}

// Gives the range that no result leaves, whatever the node reads; nothing for operators without such a range.
std::optional<Range> range_of(const Node& node, const NamedData& values) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "Clip")
    return Range{bound(node, 1, "min", -HUGE_VAL, values), bound(node, 2, "max", HUGE_VAL, values)};
  if (node.op == "Relu" || node.op == "Softplus") return Range{0, HUGE_VAL};
  if (node.op == "Sigmoid" || node.op == "Softmax" || node.op == "HardSigmoid") return Range{0, 1};
  if (node.op == "Tanh" || node.op == "Erf") return Range{-1, 1};
  if (node.op == "MaxPool" || node.op == "GlobalMaxPool" || node.op == "GlobalAveragePool") {
    const Tensor* read = tensor_of(node.input(0), values);
    if (read != nullptr && read->size() > 0) return extent(*read);
  }
  if (node.op == "AveragePool") {  // zeros of the padding may count
    const Tensor* read = tensor_of(node.input(0), values);
    if (read == nullptr || read->size() == 0) return std::nullopt;
    const Range read_range = extent(*read);
    return Range{std::min(0.0, read_range.low), std::max(0.0, read_range.high)};
  }
  return std::nullopt;
}

// The sum of a row of a Softmax that is furthest from one.
double worst_sum(const Node& softmax, const Tensor& result) {
  const auto rank = result.rank();
  int64_t axis = ops::softmax_axis(softmax);
  if (axis < 0) axis += rank;
  const Dims& dims = result.dims();
  int64_t inner = 1, length = dims[static_cast<size_t>(axis)];
  for (auto i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i)
    (ops::softmax_flattens(softmax) ? length : inner) *= dims[i];
  const auto values = result.to_doubles();
  double worst = 1;
  for (int64_t row = 0; length > 0 && row < result.size() / length; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < length; ++i)
      sum += values[static_cast<size_t>(row / inner * inner * length + row % inner + i * inner)];
    if (std::abs(sum - 1) > std::abs(worst - 1)) worst = sum;
  }
  return worst;
}

}  // namespace

std::optional<RangeViolation> range_violation(const Node& node, const NamedData& values) {
  const Tensor* made = tensor_of(node.output(0), values);
  if (made == nullptr || made->size() == 0 || made->type() == ElementType::kString) return std::nullopt;
  const auto range = range_of(node, values);
  if (!range) return std::nullopt;
  const bool narrow = element_size(made->type()) < sizeof(float);
  const double slack = narrow ? 1e-2 : 1e-4;
  const Range found = extent(*made);
  const double size = std::max({1.0, std::isfinite(range->low) ? std::abs(range->low) : 0.0,
                                std::isfinite(range->high) ? std::abs(range->high) : 0.0});
  if (found.low < range->low - slack * size || found.high > range->high + slack * size)
    return RangeViolation{node.op == "Clip"           ? "B32-range"
                          : node.op.ends_with("Pool") ? "B33-range"
                                                      : "B31-range",
                          fmt::format("{} yields {:.4g} to {:.4g}, and can yield {:.4g} to {:.4g} only",
                                      node.op, found.low, found.high, range->low, range->high)};
  if (node.op != "Softmax" || made->rank() == 0) return std::nullopt;
  const double sum = worst_sum(node, *made);
  if (std::abs(sum - 1) <= slack * 10 || std::isnan(sum)) return std::nullopt;
  return RangeViolation{"B31-softmax-sum",
                        fmt::format("a row of Softmax adds up to {:.4g} and not to 1", sum)};
}

namespace {

Finding finding(const char* rule, std::string node, std::string message, std::string remedy) {
  return {rule, Severity::kError, 1, std::move(node), std::move(message), std::move(remedy)};
}

void check_repeats(Runner& runner, const NamedData& inputs, std::vector<Finding>& findings) {
  const NamedData first = outputs_of(runner.run(inputs, {})), second = outputs_of(runner.run(inputs, {}));
  try {
    runner.run(reordered(inputs), {});
  } catch (const Error&) {
    // The model does not take these: then it is only one run more.
  }
  const NamedData third = outputs_of(runner.run(inputs, {}));
  for (const std::string& output : differing_outputs(first, second))
    findings.push_back(finding("B44-not-repeatable", "",
                               fmt::format("'{}' differs between runs on the same inputs", output),
                               "wait for the stream before results are read; own the buffers"));
  for (const std::string& output : differing_outputs(second, third))
    findings.push_back(finding("B46-state", "",
                               fmt::format("'{}' differs after a run on other inputs", output),
                               "clear what a run leaves before the next"));
}

// A change of the batch under which the answers must change in a known way.
struct BatchRelation {
  const char* rule;
  const char* what;
  NamedData (*change)(const NamedData& inputs);
  double (*violation)(const NamedData& before, const NamedData& after);  // relative to the largest answer
};

constexpr BatchRelation kRelations[] = {
    {"B43-equal-rows", "equal samples of a batch have different answers", all_as_first_row,
     [](const NamedData&, const NamedData& after) { return spread_of_rows(after); }},
    {"B43-row-order", "samples in reverse order do not have their answers in reverse order",
     with_rows_reversed,
     [](const NamedData& before, const NamedData& after) {
       return distance_of(with_rows_reversed(before), after);
     }},
};

void check_batches(const Model& model, Runner& runner, const NamedData& inputs,
                   std::vector<Finding>& findings) {
  if (!has_batch(model, inputs)) return;
  constexpr double kSame = 1e-3;  // sums of other kernels for other rows
  for (const BatchRelation& relation : kRelations) {
    const NamedData changed = relation.change(inputs);
    const auto violation = [&](const auto& run) { return relation.violation(run(inputs), run(changed)); };
    try {
      if (violation([&](const NamedData& data) { return reference_outputs(*model.graph, data); }) > kSame)
        continue;
    } catch (const Error&) {
      // The reference does not run it: samples are taken to be apart.
    }
    const double found = violation([&](const NamedData& data) { return outputs_of(runner.run(data, {})); });
    if (found <= kSame) continue;
    findings.push_back(finding(relation.rule, "",
                               fmt::format("{}: they differ by {:.2g} of the largest", relation.what, found),
                               "run samples one by one, or with another kernel"));
  }
}

void check_ranges(const Model& model, Runner& runner, const NamedData& inputs,
                  std::vector<Finding>& findings) {
  std::vector<std::string> taps;
  for (const auto& node : model.graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && output->type.is_tensor()) taps.push_back(output->name);
    }
  }
  NamedData values = inputs;
  for (TraceEntry& entry : runner.run(inputs, taps).entries) values[entry.value] = std::move(entry.datum);
  for (const auto& value : model.graph->values()) {
    if (value->is_constant()) values.emplace(value->name, *value->constant);
  }
  for (const auto& node : model.graph->nodes()) {
    const auto violation = range_violation(*node, values);
    if (violation)
      findings.push_back(finding(violation->rule, node->name, violation->text,
                                 "no reference is needed to see that: replace or bar the kernel"));
  }
}

}  // namespace

std::vector<Finding> metamorphic_findings(const Model& model, Runner& runner, const NamedData& inputs) {
  std::vector<Finding> findings;
  check_ranges(model, runner, inputs, findings);
  check_repeats(runner, inputs, findings);
  check_batches(model, runner, inputs, findings);
  return findings;
}

}  // namespace vernier
