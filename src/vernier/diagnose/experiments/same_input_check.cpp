#include "vernier/diagnose/experiments/same_input_check.h"

#include <cmath>

#include "vernier/diagnose/experiments/integer_kernels.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

bool draws(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & ops::kNondeterministic) != 0;
}

struct TimeIsOver {};

class Walk {
 public:
  Walk(const EngineUnderTest& tested, const ShownRun& shown, const SameInputOptions& options)
      : tested_(tested), shown_(shown), options_(options) {
    for (size_t i = 0; i < shown.batches.size(); ++i) {
      for (const std::string& name : shown.batches[i]) batch_of_[name] = i;
    }
  }

  void add(const Node& node, std::span<const Datum* const> operands, std::vector<Datum>& results) {
    if (options_.is_over && options_.is_over()) throw TimeIsOver();
    std::vector<Datum> made(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] == nullptr) continue;
      if (const Datum* found = shown_value(node.outputs[i]->name)) made[i] = *found;
    }
    const bool is_left_out = options_.leaves_out && options_.leaves_out(node);
    if (!node.outputs.empty() && !is_left_out) judge(node, operands, results, made);
    for (size_t i = 0; i < results.size(); ++i) {
      if (made[i].is_tensor() && !made[i].tensor.is_defined()) continue;
      results[i] = std::move(made[i]);
      know(node, *node.outputs[i], results[i]);
    }
  }

  SameInputCheck result(bool is_whole) && {
    check_.is_whole = is_whole;
    return std::move(check_);
  }

 private:
  // Only the batch at hand is held of values in batches.
  const Datum* shown_value(const std::string& name) {
    for (const NamedData* held : std::initializer_list<const NamedData*>{&shown_.values, &batch_}) {
      const auto found = held->find(name);
      if (found != held->end()) return &found->second;
    }
    const auto batch = batch_of_.find(name);
    if (batch == batch_of_.end()) return nullptr;
    batch_.clear();
    batch_ = shown_.fetch(batch->second);
    const auto found = batch_.find(name);
    return found == batch_.end() ? nullptr : &found->second;
  }

  void judge(const Node& node, std::span<const Datum* const> operands, const std::vector<Datum>& results,
             const std::vector<Datum>& made) {
    if (draws(node)) return leave(node);
    FlaggedNode flagged;
    flagged.node = &node;
    flagged.contract = tested_.contract_of(shown_, node);
    for (const Datum* operand : operands) {
      if (operand != nullptr && !operand->is_tensor()) return leave(node);
      flagged.inputs.push_back(operand == nullptr ? Tensor() : operand->tensor);
    }
    if (is_hidden(node, flagged.inputs)) return leave(node);
    for (size_t i = 0; i < made.size(); ++i) {
      if (!made[i].is_tensor() || !results[i].is_tensor()) return leave(node);
      flagged.made.push_back(made[i].tensor);
    }
    if (!expect(node, results, flagged)) return leave(node);
    ++check_.nodes;
    for (size_t i = 0; i < made.size(); ++i) {
      Tensor& yielded = flagged.made[i];
      if (node.outputs[i] == nullptr) continue;
      if (!yielded.is_defined()) {
        if (!flagged.expected[i].is_exact()) errors_[node.outputs[i]] = flagged.expected[i].error;
        continue;
      }
      deny_chance_at_ties(flagged, i);
      compare_output(flagged, i);
    }
    if (std::isinf(flagged.worst.worst)) excuse_special_values(flagged, results);
    const bool is_sound = flagged.worst.worst <= options_.beyond || differs_near_ties_alone(flagged);
    if (is_sound && options_.is_sound) options_.is_sound(node);
    if (is_sound || check_.flagged_nodes.size() >= options_.most) return;
    bytes_ += bytes_of(flagged);
    if (bytes_ > options_.most_bytes && !check_.flagged_nodes.empty()) {
      ++check_.not_kept;
      return;
    }
    check_.flagged_nodes.push_back(std::move(flagged));
  }

  static size_t bytes_of(const FlaggedNode& flagged) {
    size_t bytes = 0;
    const auto add = [&](const Tensor& tensor) { bytes += tensor.is_defined() ? tensor.byte_size() : 0; };
    for (const Tensor& input : flagged.inputs) add(input);
    for (const Tensor& made : flagged.made) add(made);
    for (const ElementErrors& expected : flagged.expected) {
      add(expected.value);
      bytes += expected.error.size() * sizeof(double);
    }
    return bytes;
  }

  // An engine that keeps narrow values wide shows an Inf where it has none.
  bool is_hidden(const Node& node, const std::vector<Tensor>& inputs) const {
    if (shown_.contracts.contains(&node)) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto found = errors_.find(node.inputs[i]);
      if (found != errors_.end() && !std::all_of(found->second.begin(), found->second.end(),
                                                 [](double error) { return std::isfinite(error); }))
        return true;
    }
    return false;
  }

  // Takes what the engine showed for what it has, exactly, where its contract is known. Others may keep a
  // value wide whose declared type is narrow, and round it only to show it.
  void know(const Node& node, const Value& value, const Datum& shown) {
    errors_.erase(&value);
    if (shown_.contracts.contains(&node) || !shown.is_tensor() || !is_float(shown.tensor.type()) ||
        element_size(shown.tensor.type()) >= sizeof(float))
      return;
    const RoundingError rounding(shown.tensor.type());
    auto& errors = errors_[&value] = shown.tensor.to_doubles();
    for (double& error : errors) error = std::isfinite(error) ? rounding.of(error) : HUGE_VAL;
  }

  void excuse_special_values(FlaggedNode& flagged, const std::vector<Datum>& results) const {
    // A transform makes NaN of what stands beside an Inf: that is its contract, and no error.
    if (mixes_special_values(flagged.contract))
      return excuse(flagged, ErrorModel::mixed_values(*flagged.node, flagged.inputs, flagged.contract));
    // Whether NaN is the largest of a window, or no element of it, ONNX leaves open.
    const bool is_open = flagged.node->domain.empty() && flagged.node->op == "MaxPool";
    if (!options_.nan_may_vanish || !is_open) return excuse(flagged, beyond_bounds(flagged, results));
    std::vector<Tensor> right;
    for (const ElementErrors& expected : flagged.expected) right.push_back(expected.value);
    excuse(flagged, right);
  }

  // NaN where a reference that rounds as the node says makes no number of what has no bound: zero divided by
  // what its type holds as zero.
  static std::vector<Tensor> beyond_bounds(const FlaggedNode& flagged, const std::vector<Datum>& results) {
    std::vector<Tensor> lost;
    for (size_t i = 0; i < results.size(); ++i) {
      const ElementErrors& expected = flagged.expected[i];
      if (!results[i].tensor.is_defined() || !expected.value.is_defined()) {
        lost.emplace_back();
        continue;
      }
      std::vector<double> values(static_cast<size_t>(expected.value.size()), 0);
      const auto made = results[i].tensor.to_doubles();
      for (size_t k = 0; k < std::min(made.size(), values.size()); ++k)
        values[k] = std::isfinite(made[k]) || std::isfinite(expected.at(k)) ? 0 : std::nan("");
      lost.push_back(Tensor::from_doubles(ElementType::kDouble, expected.value.dims(), values));
    }
    return lost;
  }

  // Whatever was made counts as sound where these are NaN.
  static void excuse(FlaggedNode& flagged, const std::vector<Tensor>& may_be_nan) {
    flagged.worst = {};
    for (size_t i = 0; i < flagged.made.size(); ++i) {
      if (!flagged.made[i].is_defined()) continue;
      FlaggedNode excused = flagged;
      if (is_float(flagged.made[i].type()))
        excused.made[i] = where_no_nan(flagged.made[i], flagged.expected[i].value, may_be_nan[i]);
      compare_output(excused, i);
      flagged.worst = excused.worst;
      flagged.output = excused.output;
    }
  }

  // An answer of other sizes stays what it is.
  static Tensor where_no_nan(const Tensor& shown, const Tensor& expected, const Tensor& may_be_nan) {
    if (!may_be_nan.is_defined() || shown.dims() != expected.dims() || shown.dims() != may_be_nan.dims())
      return shown;
    auto made = shown.to_doubles();
    const auto sound = expected.to_doubles(), may_be = may_be_nan.to_doubles();
    for (size_t k = 0; k < made.size(); ++k) {
      if (std::isnan(may_be[k])) made[k] = sound[k];
    }
    return Tensor::from_doubles(shown.type(), shown.dims(), made);
  }

  // False where the node cannot be analysed.
  bool expect(const Node& node, const std::vector<Datum>& results, FlaggedNode& flagged) const {
    if (!node.regions.empty() && !ops::is_group(node)) return expect_alike(results, flagged);
    std::vector<std::vector<double>> errors;
    for (const Value* input : node.inputs) {
      const auto found = errors_.find(input);
      errors.push_back(found == errors_.end() ? std::vector<double>() : found->second);
    }
    try {
      const SumSteps steps =
          may_sum_integers(shown_.contract_of(node)) ? integer_sum_steps(node, flagged.inputs) : nullptr;
      flagged.expected = ErrorModel(node, flagged.inputs, std::move(errors), steps).outputs(flagged.contract);
    } catch (const Error&) {
      return expect_alike(results, flagged);
    }
    for (ElementErrors& errors : flagged.expected) allow_least(errors);
    return true;
  }

  static double root_mean_square(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += std::isfinite(value) ? value * value : 0;
    return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
  }

  // No contract says what folding made of factors: a small part of an element that is far below the roundings
  // of all others (a factor that has become subnormal) tells of no fault; all of it does (an epsilon that is
  // lost), but where it is subnormal, which vectorised exponentials flush.
  static void allow_least(ElementErrors& errors) {
    if (errors.error.empty() || !is_float(errors.value.type())) return;
    constexpr double kOfAll = 0.01, kOfElement = 1e-3, kLeastNormal = 0x1p-126;
    const auto values = errors.value.to_doubles();
    const double least = kOfAll * unit_roundoff(ElementType::kFloat) * root_mean_square(values);
    for (size_t i = 0; i < values.size(); ++i) {
      const double size = std::abs(values[i]);
      const double part = size < kLeastNormal ? size : kOfElement * size;
      errors.error[i] = std::max(errors.error[i], std::min(least, part));
    }
  }

  // Nodes that are not analysed (loops, say) may err by a part of the whole.
  static bool expect_alike(const std::vector<Datum>& results, FlaggedNode& flagged) {
    constexpr double kRoundings = 160;
    const double part = kRoundings * widest_rounding(*flagged.node);
    for (const Datum& result : results) {
      ElementErrors& errors = flagged.expected.emplace_back();
      errors.value = result.tensor;
      if (!result.tensor.is_defined() || !is_float(result.tensor.type())) continue;
      const auto values = result.tensor.to_doubles();
      const double rms = root_mean_square(values);
      errors.error.assign(values.size(), part * rms);
    }
    return true;
  }

  // The largest unit roundoff of what is stored inside a node.
  static double widest_rounding(const Node& node) {
    double widest = unit_roundoff(ElementType::kFloat);
    for (const auto& [name, region] : node.regions) {
      for_each_graph(*region, [&](const Graph& graph) {
        for (const auto& value : graph.values()) {
          if (value->type.is_tensor() && is_float(value->type.tensor.element))
            widest = std::max(widest, unit_roundoff(value->type.tensor.element));
        }
      });
    }
    return widest;
  }

  void leave(const Node& node) { check_.unchecked.push_back(fmt::format("{} '{}'", node.op, node.name)); }

  const EngineUnderTest& tested_;
  const ShownRun& shown_;
  const SameInputOptions& options_;
  SameInputCheck check_;
  size_t bytes_ = 0;  // of flagged nodes so far
  std::map<std::string, size_t> batch_of_;
  NamedData batch_;
  std::map<const Value*, std::vector<double>> errors_;  // of values that are not shown
};

}  // namespace

SameInputCheck check_on_own_inputs(const EngineUnderTest& tested, const ShownRun& shown,
                                   const NamedData& inputs, const SameInputOptions& options) {
  Walk walk(tested, shown, options);
  const NamedData given = shown.given(inputs);
  InterpreterOptions reference;
  reference.planned = &shown.roundings;
  reference.revise = [&](const Node& node, std::span<const Datum* const> operands,
                         std::vector<Datum>& results) { walk.add(node, operands, results); };
  try {
    run_reference(*shown.graph, given, reference);
  } catch (const TimeIsOver&) {
    return std::move(walk).result(false);
  }
  SameInputCheck check = std::move(walk).result(true);
  for (const Node* sound : excuse_feedback(shown, given, options.beyond, check.flagged_nodes)) {
    if (options.is_sound) options.is_sound(*sound);
  }
  return check;
}

}  // namespace vernier
