#include "vernier/precision/rules.h"

#include <fmt/ranges.h>

#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/passes/build.h"
#include "vernier/passes/uses.h"
#include "vernier/precision/asked/asked_types.h"
#include "vernier/precision/asked/retype_nodes.h"
#include "vernier/precision/known_values.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/quantized_weights.h"
#include "vernier/precision/ranged_values.h"

namespace vernier {

namespace {

using By = LayerPrecision::By;

bool is_f32(const Value* value) {
  return element_of(value) == ElementType::kFloat;
}

LayerPrecision declared_layer(const Node& node) {
  const ElementType type = element_of(main_output(node));
  if (is_f32(main_output(node)) && reads_dequantized(node))
    return {ElementType::kInt8, ElementType::kInt32, type, {}, By::kDeclared, "on quantized values", false};
  return {type, type, type, {}, By::kDeclared, "as the model declares", false};
}

// Applies the options to one graph. Values between lowered nodes are narrow: a node that follows is lowered
// if it reads a lowered value, and a lowered node reads what it makes.
class GraphRules {
 public:
  GraphRules(const Graph& graph, const PrecisionOptions& options, const ModelFacts& facts, ElementType low,
             const Ranges& ranges, const std::set<std::string>& not_int8)
      : options_(options),
        facts_(facts),
        low_(low),
        ranges_(ranges),
        not_int8_(not_int8),
        uses_(graph),
        known_(graph, low) {
    for (const auto& node : graph.nodes()) {
      index_[node.get()] = nodes_.size();
      nodes_.push_back(node.get());
    }
    states_.resize(nodes_.size());
  }

  void add_to(PrecisionPlan& plan) {
    for (size_t i = 0; i < nodes_.size(); ++i) decide_alone(i);
    for (size_t i = 0; i < nodes_.size(); ++i) states_[i].reached = follows(i) && reads_lowered(i);
    for (size_t i = nodes_.size(); i-- > 0;) {
      const bool moves_constants = follows(i) && known_.moves_constants(*nodes_[i]);
      if ((states_[i].reached || moves_constants) && is_read_lowered(i)) states_[i].type = low_;
    }
    // Where an ONNX node became several, those that compute say its types: views and the like bear any.
    PrecisionPlan moved;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (is_added_cast(*nodes_[i])) continue;
      // A constant has the types in which it is read.
      if (nodes_[i]->domain.empty() && nodes_[i]->op == "Constant" && !states_[i].fixed) continue;
      merge(only_moves(*nodes_[i]) ? moved : plan, *nodes_[i], layer_of(i));
    }
    plan.layers.merge(moved.layers);
  }

  // A note on the nodes that int8 would reach, had the calibration no gaps; "" if there are none.
  std::string note_on_gaps() const {
    std::set<std::string> values;
    std::vector<std::string> nodes;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto& missing = states_[i].without_range;
      if (!missing.empty()) nodes.push_back(nodes_[i]->name);
      values.insert(missing.begin(), missing.end());
    }
    if (nodes.empty()) return "";
    return fmt::format(
        "{} has no range for {}: {} stay in floats; calibrate the model anew (`vernier calibrate`)",
        options_.calibration.filename().string(), first_few({values.begin(), values.end()}),
        first_few(nodes));
  }

 private:
  static std::string first_few(const std::vector<std::string>& names) {
    constexpr size_t kShown = 3;
    const std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<int64_t>(std::min(names.size(), kShown)));
    return fmt::format("'{}'{}", fmt::join(shown, "', '"),
                       names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
  }

  struct State {
    NodeClass kind;
    ElementType type = ElementType::kUndefined;  // what it is lowered to; undefined: as it is
    By by = By::kRule;
    bool fixed = false;    // by the user
    bool reached = false;  // reads a lowered value, and may follow
    bool tf32 = false;     // multiplies factors that may be rounded to TF32, where they are f32
    std::vector<InputScale> quant;
    int64_t weight_block = 0;
    std::vector<std::string> without_range;  // inputs for want of whose ranges it multiplies floats
  };

  bool is_lowered(size_t i) const {
    return states_[i].type != ElementType::kUndefined && states_[i].type != ElementType::kFloat;
  }
  bool follows(size_t i) const {
    return low_ != ElementType::kUndefined && states_[i].kind.lowering == Lowering::kFollow &&
           !states_[i].fixed && is_f32(main_output(*nodes_[i]));
  }

  void decide_alone(size_t i) {
    State& state = states_[i];
    const Node& node = *nodes_[i];
    state.kind = class_of(node);
    const bool multiplies = state.kind.lowering == Lowering::kAlways && is_f32(main_output(node));
    const LayerType* asked = facts_.asked.layer(node);
    state.tf32 = multiplies && !reads_dequantized(node) && (asked != nullptr ? asked->tf32 : options_.tf32);
    if (is_added_cast(node)) {
      state.kind = {Lowering::kNever, "between types"};
    } else if (asked != nullptr) {
      state.fixed = true;
      state.by = By::kUser;
      state.type = asked->type;
      if (asked->type == ElementType::kInt8) state.quant = require_scales(node);
    } else if (reads_dequantized(node)) {
      state.kind = {Lowering::kNever, "on quantized values"};
    } else if (low_ == ElementType::kBFloat16 && options_.symmetric && node.op == "ConvTranspose") {
      state.kind = {Lowering::kNever, kNoBrainTransposed};
    } else if (known_.meets_large_numbers(node)) {
      state.kind = {Lowering::kNever, "numbers beyond the narrow range meet here"};
      state.by = By::kRange;
    } else if (state.kind.lowering == Lowering::kAlways && is_f32(main_output(node))) {
      state.type = low_;
      if (options_.int4) state.weight_block = weight_block_of(node);
      if (options_.int8 && state.weight_block == 0 && !not_int8_.contains(node.name))
        state.quant = scales_of(node);
      if (options_.int8 && state.weight_block == 0 && state.quant.empty() && !ranges_.scales.empty())
        state.without_range = without_range(node);
    }
    if (!state.quant.empty()) state.type = ElementType::kInt8;
  }

  int64_t weight_block_of(const Node& node) const {
    if (!has_block_weights(node)) return 0;
    for (const std::string& name : onnx_nodes(node)) {
      const auto found = ranges_.weight_blocks.find(name);
      if (found != ranges_.weight_blocks.end()) return found->second;
    }
    return 0;
  }

  // The ranges of what a contraction reads, if all are known.
  std::vector<InputScale> scales_of(const Node& node) const {
    std::vector<InputScale> result;
    for (const size_t i : ranged_inputs(node)) {
      const Node* maker = node.input(i)->producer();
      const Value* given =
          maker != nullptr && is_added_cast(*maker) ? maker->input(0) : node.input(i);  // of the model
      const auto found = ranges_.scales.find(given->name);
      if (found == ranges_.scales.end()) return {};
      result.push_back({i, found->second.type, found->second.scale, found->second.zero_point});
    }
    return result;
  }

  std::vector<std::string> without_range(const Node& node) const {
    std::vector<std::string> names;
    for (const size_t i : not_int8_.contains(node.name) ? std::vector<size_t>() : ranged_inputs(node)) {
      if (!ranges_.scales.contains(node.input(i)->name)) names.push_back(node.input(i)->name);
    }
    return names;
  }

  std::vector<InputScale> require_scales(const Node& node) const {
    auto result = scales_of(node);
    if (result.empty())
      throw usage_error("int8 for a node whose inputs have no ranges")
          .at_node(node.name)
          .advise("give the ranges of its inputs with --calibration");
    return result;
  }

  bool makes_lowered(const Value* value) const {
    if (value == nullptr || value->producer() == nullptr) return false;
    const auto found = index_.find(value->producer());
    return found != index_.end() && (is_lowered(found->second) || states_[found->second].reached);
  }

  bool reads_lowered(size_t i) const {
    const auto& inputs = nodes_[i]->inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Value* input) { return is_f32(input) && makes_lowered(input); });
  }

  bool is_read_lowered(size_t i) const {
    for (const Value* output : nodes_[i]->outputs) {
      if (output == nullptr) continue;
      for (const Node* reader : uses_.readers(output)) {
        const auto found = reader == nullptr ? index_.end() : index_.find(reader);
        if (found != index_.end() && is_lowered(found->second)) return true;
      }
    }
    return false;
  }

  LayerPrecision layer_of(size_t i) const {
    const State& state = states_[i];
    const Node& node = *nodes_[i];
    if (!is_f32(main_output(node)) && !state.fixed) return declared_layer(node);
    LayerPrecision layer = declared_layer(node);
    const ElementType narrow = low_ == ElementType::kUndefined ? ElementType::kFloat : low_;
    if (state.type == ElementType::kInt8) {
      layer = {ElementType::kInt8,
               ElementType::kInt32,
               is_read_lowered(i) ? narrow : ElementType::kFloat,
               state.quant,
               state.by,
               "a contraction whose inputs have ranges",
               false};
    } else if (is_lowered(i)) {
      const bool contraction = state.kind.lowering == Lowering::kAlways;
      layer = {contraction ? state.type : ElementType::kFloat,
               ElementType::kFloat,
               state.type,
               {},
               state.by,
               state.fixed ? "--layer-precisions" : state.kind.why,
               false};
    } else if (state.fixed) {
      layer.by = By::kUser, layer.why = "--layer-precisions";
      if (!is_float(layer.store)) layer.store = state.type;  // cannot be done, as the audit says
    } else if (low_ != ElementType::kUndefined) {
      layer.by = state.by;
      layer.why = state.kind.lowering == Lowering::kFollow ? "not between narrow values" : state.kind.why;
    }
    if (!state.without_range.empty()) {
      layer.by = By::kRange;
      layer.why = fmt::format("no range is known for '{}'", fmt::join(state.without_range, "', '"));
    }
    layer.weight_block = state.weight_block;
    if (state.tf32 && layer.compute == ElementType::kFloat) {
      layer.tf32 = true;
      if (layer.by == By::kDeclared) layer.by = By::kRule, layer.why = state.kind.why;
    }
    if (const LayerType* output = facts_.asked.output(node))
      layer.store = output->type, layer.by = By::kUser, layer.why = "--layer-output-types";
    return layer;
  }

  static void merge(PrecisionPlan& plan, const Node& node, const LayerPrecision& layer) {
    for (const std::string& name : onnx_nodes(node)) {
      const auto [found, added] = plan.layers.try_emplace(name, layer);
      if (added) continue;
      // One ONNX node became several: the widest.
      found->second.compute = wider(found->second.compute, layer.compute);
      found->second.accumulate = wider(found->second.accumulate, layer.accumulate);
      found->second.store = wider(found->second.store, layer.store);
      found->second.tf32 = found->second.tf32 || layer.tf32;
    }
  }

  const PrecisionOptions& options_;
  const ModelFacts& facts_;
  ElementType low_;
  const Ranges& ranges_;
  const std::set<std::string>& not_int8_;
  Uses uses_;
  KnownValues known_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, size_t> index_;
  std::vector<State> states_;
};

// int8 around zero alone. What is frozen is not changed, but refused.
void make_symmetric(PrecisionPlan& plan) {
  for (auto& [name, layer] : plan.layers) {
    for (InputScale& each : layer.quant) {
      const ScaleEntry entry = symmetric({each.type, each.scale, each.zero_point});
      if (entry.type == each.type && entry.zero_point == each.zero_point) continue;
      if (layer.frozen)
        throw usage_error("input {} is frozen with {} codes around {}, and must lie around zero", each.input,
                          element_type_short_name(each.type), each.zero_point)
            .at_node(name)
            .advise("calibrate it symmetrically, or thaw it");
      each = {each.input, entry.type, entry.scale, entry.zero_point};
    }
  }
}

// Tells whoever asked for TF32 why there is none.
void forbid_tf32(PrecisionPlan& plan) {
  const size_t changed = plan.forbid_tf32();
  if (changed == 0) return;
  const std::string why =
      environment_forbids_tf32() ? fmt::format("{}=0", kTf32Variable) : "--no-tf32, or the plan, says so";
  plan.notes.push_back(
      fmt::format("TF32 is off ({}): {} nodes that were to compute in it compute in f32", why, changed));
}

}  // namespace

PrecisionPlan declared_plan(const Graph& graph) {
  PrecisionPlan plan;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      for (const std::string& name : onnx_nodes(*node)) plan.layers.try_emplace(name, declared_layer(*node));
    }
  });
  return plan;
}

PrecisionPlan make_precision_plan(const Graph& graph, const Graph& model, const PrecisionOptions& options,
                                  const std::set<std::string>& not_int8) {
  const ModelFacts facts{declared_plan(model), AskedTypes(options, model)};
  if (options.constraints == PrecisionConstraints::kObey && facts.asked.impossible().differences() > 0)
    throw PrecisionDifference(facts.asked.impossible());
  PrecisionPlan plan;
  plan.notes = facts.asked.notes();
  const Ranges ranges = options.calibration.empty()
                            ? Ranges{}
                            : read_model_ranges(options.calibration, graph, model, plan.notes);
  if (options.int4 && ranges.weight_blocks.empty())
    throw usage_error("--int4 needs to be told which weights, and in what blocks")
        .advise("give --calibration with a file of `vernier calibrate --weights int4`");
  const ElementType low = options.bf16   ? ElementType::kBFloat16
                          : options.fp16 ? ElementType::kFloat16
                                         : ElementType::kUndefined;
  for_each_graph(graph, [&](const Graph& inner) {
    GraphRules rules(inner, options, facts, low, ranges, not_int8);
    rules.add_to(plan);
    // No calibration knows values in loops and branches.
    if (std::string gaps = &inner == &graph ? rules.note_on_gaps() : ""; !gaps.empty())
      plan.notes.push_back(std::move(gaps));
  });
  say_what_is_declared(plan, facts, options);
  plan.model = hash_to_text(structural_hash(model));
  plan.tf32 = !options.no_tf32;
  if (!options.plan.empty()) {
    const PrecisionPlan given = read_plan(options.plan, model);
    plan.tf32 = plan.tf32 && given.tf32;
    for (const auto& [name, layer] : given.layers) {
      LayerPrecision& made = plan.layers[name];
      if (layer.frozen || made.by != By::kUser) made = layer;
    }
  }
  if (!plan.tf32) forbid_tf32(plan);
  if (options.symmetric) make_symmetric(plan);
  return plan;
}

}  // namespace vernier
