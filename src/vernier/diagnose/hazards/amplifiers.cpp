#include "vernier/diagnose/hazards/amplifiers.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/hash.h"
#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/hazards/hazard_signs.h"
#include "vernier/numeric/ulp.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

namespace {

using Values = std::map<const Value*, Tensor>;

// One run of the reference as planned, in which values of some nodes may be those of an engine.
struct ReferenceValues {
  Values values;
  NamedData outputs;
};

class PlainPair : public RunPair {
 public:
  PlainPair(const Graph& graph, const NamedData& inputs, const Values& made, const Values& meant)
      : graph_(graph), inputs_(inputs), made_(made), meant_(meant) {}
  const Graph& graph() const override { return graph_; }
  const Tensor* meant(const Value& value) const override { return find(meant_, value); }
  const Tensor* made(const Value& value) const override { return find(made_, value); }

 private:
  const Tensor* find(const Values& values, const Value& value) const {
    if (const auto found = values.find(&value); found != values.end()) return &found->second;
    if (value.is_constant()) return &*value.constant;
    const auto given = inputs_.find(value.name);
    return given != inputs_.end() && given->second.is_tensor() ? &given->second.tensor : nullptr;
  }

  const Graph& graph_;
  const NamedData& inputs_;
  const Values &made_, &meant_;
};

double rounding_of(const Graph& graph) {
  double largest = unit_roundoff(ElementType::kFloat);
  for (const auto& value : graph.values()) {
    if (value->is_constant() || !is_float(element_type_of(value.get()))) continue;
    largest = std::max(largest, unit_roundoff(element_type_of(value.get())));
  }
  return largest;
}

class Search {
 public:
  Search(const AmplifierJob& job, Stopwatch& watch)
      : job_(job),
        graph_(*job.shown.graph),
        around_(graph_),
        watch_(watch),
        given_(job.shown.given(job.inputs)) {
    quiet_ = run(std::nullopt, nullptr);
  }

  std::vector<RootCause> root_causes() {
    constexpr double kTimes = 1000, kMost = 0.5;
    const double error = error_of_outputs();
    if (!(error > std::min(kMost, kTimes * rounding_of(graph_)))) return {};
    for (const auto& [value, tensor] : quiet_.values) {
      const auto shown = job_.shown.values.find(value->name);
      if (shown != job_.shown.values.end() && shown->second.is_tensor()) made_[value] = shown->second.tensor;
    }
    const bool is_shown = made_.size() * 2 > quiet_.values.size();
    if (!is_shown || !find_sign()) find_by_noise();
    if (!sign_) return {};
    const double share = is_shown && !by_noise_ ? share_of_substitution() : share_of_noise(error);
    constexpr double kLeast = 0.3;
    if (share < kLeast) return {};
    return {root_cause(share)};
  }

 private:
  ReferenceValues run(std::optional<uint64_t> seed, const Node* substituted) {
    ReferenceValues result;
    InterpreterOptions options;
    options.planned = &job_.shown.roundings;
    options.noise_seed = seed;
    options.revise = [&](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (node.outputs[i] == nullptr || !results[i].is_tensor()) continue;
        const auto made = made_.find(node.outputs[i]);
        if (&node == substituted && made != made_.end()) results[i] = made->second;
        result.values[node.outputs[i]] = set_aside(results[i].tensor);
      }
    };
    auto made = watch_.time("reference with roundings moved", 1,
                            [&] { return run_reference(graph_, given_, options).outputs; });
    for (size_t i = 0; i < made.size(); ++i) result.outputs[graph_.outputs[i]->name] = std::move(made[i]);
    return result;
  }

  // An output that is no float is a decision: it is right or wrong.
  double error_of_outputs() const {
    for (const auto& [name, datum] : quiet_.outputs) {
      const auto made = job_.outputs.find(name);
      if (made == job_.outputs.end() || !datum.is_tensor() || !made->second.is_tensor()) continue;
      const Tensor &right = datum.tensor, &tensor = made->second.tensor;
      const ElementType type = right.type();
      if (is_float(type) || is_complex(type) || type == ElementType::kString) continue;
      if (right.dims() != tensor.dims() || right.to_doubles() != tensor.to_doubles()) return 1;
    }
    return IdealComparison::relative_error(quiet_.outputs, job_.outputs);
  }

  bool find_sign() {
    const PlainPair pair(graph_, given_, made_, quiet_.values);
    for (const auto& node : graph_.nodes()) {
      auto sign = hazard_sign(*node, pair, around_);
      if (!sign || sign->is_event) continue;
      sign_ = std::move(sign);
      return true;
    }
    return find_repetition(pair);
  }

  // Nodes that share their weights, as one value or as copies, are the steps of a loop that is written out.
  bool find_repetition(const RunPair& pair) {
    std::map<uint64_t, std::vector<const Node*>> steps;
    for (const Node* node : around_.nodes()) {
      for (const Value* input : node->inputs) {
        const Tensor* weights = around_.constant(input);
        if (weights == nullptr || weights->size() < 2 || weights->type() == ElementType::kString) continue;
        steps[hash_bytes(weights->raw(), weights->byte_size())].push_back(node);
      }
    }
    for (const auto& [content, nodes] : steps) {
      constexpr size_t kSteps = 4;
      if (nodes.size() < kSteps) continue;
      const double first = error_of(*nodes.front(), pair), last = error_of(*nodes.back(), pair);
      constexpr double kGrows = 30, kNoticed = 0.01;
      if (!(last > kNoticed) || last < kGrows * first) continue;
      sign_ = HazardSign{
          FailureClass(18), nodes.back(), nodes.back(),
          fmt::format("from the first to the last of {} steps errors grow from {:.2g} to {}", nodes.size(),
                      first, std::isfinite(last) ? fmt::format("{:.2g}", last) : "NaN or Inf"),
          false};
      by_noise_ = true;
      return true;
    }
    return false;
  }

  static double error_of(const Node& node, const RunPair& pair) {
    const Value* output = node.output(0);
    const Tensor *made = output == nullptr ? nullptr : pair.made(*output),
                 *meant = output == nullptr ? nullptr : pair.meant(*output);
    if (made == nullptr || meant == nullptr) return 0;
    return IdealComparison::relative_error({{"y", *meant}}, {{"y", *made}});
  }

  // In the place of an engine that does not show its values.
  bool find_by_noise() {
    constexpr uint64_t kDraws = 3;
    by_noise_ = true;
    for (uint64_t draw = 0; draw < kDraws && !sign_ && !watch_.is_over(); ++draw) {
      made_.clear();
      made_ = run(job_.seed + draw, nullptr).values;
      find_sign();
    }
    return sign_.has_value();
  }

  // How much of the engine's difference is there if the node makes what it makes in the engine.
  double share_of_substitution() {
    const NamedData with = run(std::nullopt, sign_->node).outputs;
    const double all = distance(quiet_.outputs, job_.outputs);
    return all > 0 ? 1 - distance(with, job_.outputs) / all : 0;
  }

  // Noise alone makes an error of that size, or not.
  double share_of_noise(double error) {
    constexpr uint64_t kDraws = 3;
    double most = 0;
    for (uint64_t draw = 0; draw < kDraws && !watch_.is_over(); ++draw)
      most = std::max(
          most, IdealComparison::relative_error(quiet_.outputs, run(job_.seed + draw, nullptr).outputs));
    return std::min(1.0, most / error);
  }

  double distance(const NamedData& a, const NamedData& b) const {
    Tensors left, right, scale;
    for (const auto& [name, datum] : quiet_.outputs) {
      const auto x = a.find(name), y = b.find(name);
      if (x == a.end() || y == b.end() || !datum.is_tensor() || !x->second.is_tensor() ||
          !y->second.is_tensor())
        continue;
      left.push_back(x->second.tensor);
      right.push_back(y->second.tensor);
      scale.push_back(datum.tensor);
    }
    return bounded_distance(left, right, scale);
  }

  RootCause root_cause(double share) const {
    RootCause root_cause;
    root_cause.nodes = onnx_nodes_of(*sign_->member);
    for (const Value* output : sign_->node->outputs) {
      if (output != nullptr) root_cause.values.push_back(output->name);
    }
    root_cause.failure = sign_->failure;
    root_cause.share = share;
    root_cause.confidence = 0.4 + 0.5 * share;
    root_cause.sentence =
        fmt::format("not the engine, but the model turns rounding into large errors at '{}': {}",
                    root_cause.nodes.front(), sign_->sentence);
    root_cause.evidence.push_back(
        {by_noise_ ? "reference with roundings moved" : "substitution", share,
         by_noise_
             ? fmt::format("the reference differs from itself by {:.3g} % of that where each rounding is "
                           "moved by a unit in the last place",
                           100 * share)
             : fmt::format("with what the engine makes there, the reference makes {:.3g} % of the "
                           "difference of the outputs",
                           100 * share)});
    root_cause.repair = repair_of(root_cause);
    return root_cause;
  }

  const AmplifierJob& job_;
  const Graph& graph_;
  const Surroundings around_;
  Stopwatch& watch_;
  NamedData given_;
  ReferenceValues quiet_;
  Values made_;
  std::optional<HazardSign> sign_;
  bool by_noise_ = false;
};

}  // namespace

std::vector<RootCause> amplifiers(const AmplifierJob& job, Stopwatch& watch) {
  return Search(job, watch).root_causes();
}

}  // namespace vernier
