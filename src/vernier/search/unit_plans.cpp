#include "vernier/search/unit_plans.h"

#include "vernier/base/hash.h"
#include "vernier/compile/make_content.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/hash.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/rules.h"

namespace vernier {

namespace {

using By = LayerPrecision::By;

bool is_lowerable(const Node& node) {
  return class_of(node).lowering == Lowering::kAlways &&
         element_of(main_output(node)) == ElementType::kFloat && !reads_dequantized(node);
}

bool is_narrow_float(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

bool is_lowered(const LayerPrecision& layer) {
  return is_narrow_float(layer.compute) || is_narrow_float(layer.store) ||
         layer.compute == ElementType::kInt8;
}

}  // namespace

UnitPlans::UnitPlans(const Model& model, const PassOptions& passes, PrecisionOptions given,
                     const std::vector<ElementType>& types)
    : model_(model), graph_(clone(*model.graph)), given_(std::move(given)) {
  std::erase_if(graph_->inputs, [](const Value* input) { return input->is_constant(); });
  ops::infer_types(*graph_);
  rewrite_for_types(*graph_, AskedTypes(given_, *model_.graph), passes);
  if (given_.changes_types()) start_ = make_precision_plan(*graph_, *model_.graph, given_);
  find_units(types);
  find_owners();
}

PrecisionPlan UnitPlans::first() const {
  if (start_) return *start_;
  PrecisionPlan declared = declared_plan(*graph_);
  declared.model = hash_to_text(structural_hash(*model_.graph));
  return declared;
}

bool UnitPlans::is_fixed(const std::string& node) const {
  for (const LayerType& each : given_.layers) {
    if (matches(each.pattern, node)) return true;
  }
  const LayerPrecision* layer = start_ ? start_->find(node) : nullptr;
  return layer != nullptr && layer->frozen;
}

void UnitPlans::find_units(const std::vector<ElementType>& types) {
  for_each_graph(*graph_, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      if (!is_lowerable(*node)) continue;
      auto names = onnx_nodes(*node);
      if (std::any_of(names.begin(), names.end(), [&](const auto& name) { return is_fixed(name); })) continue;
      // Nodes that one ONNX node became, wholly or in part, have one type.
      std::erase_if(units_, [&](const SearchUnit& unit) {
        const bool shares = std::any_of(unit.nodes.begin(), unit.nodes.end(),
                                        [&](const auto& name) { return names.contains(name); });
        if (shares) names.insert(unit.nodes.begin(), unit.nodes.end());
        return shares;
      });
      units_.push_back({{names.begin(), names.end()}, {}});
    }
  });
  for (const ElementType type : types) {
    const bool int8 = type == ElementType::kInt8;
    if (int8 && given_.calibration.empty()) continue;
    // The ranges decide about int8.
    const TypeAssignment all(units_.size(), type);
    const PrecisionPlan plan = int8 ? one_type(all, ElementType::kUndefined, true) : PrecisionPlan();
    for (SearchUnit& unit : units_) {
      const LayerPrecision* layer = plan.find(unit.nodes.front());
      if (!int8 || (layer != nullptr && layer->compute == ElementType::kInt8)) unit.types.push_back(type);
    }
  }
}

void UnitPlans::find_owners() {
  for (size_t i = 0; i < units_.size(); ++i) {
    for (const std::string& name : units_[i].nodes) owners_[name] = i;
  }
  for_each_graph(*graph_, [&](const Graph& inner) {
    std::map<const Value*, size_t> makers;
    for (const auto& node : inner.nodes()) {
      std::optional<size_t> owner;
      const auto names = onnx_nodes(*node);
      for (const std::string& name : names) {
        if (const auto found = owners_.find(name); found != owners_.end()) owner = found->second;
      }
      for (const Value* input : node->inputs) {
        if (const auto found = makers.find(input); !owner && found != makers.end()) owner = found->second;
      }
      if (!owner) continue;
      for (const std::string& name : names) owners_.try_emplace(name, *owner);
      for (const Value* output : node->outputs) makers[output] = *owner;
    }
  });
}

PrecisionPlan UnitPlans::one_type(const TypeAssignment& types, ElementType low, bool with_int8) const {
  PrecisionOptions options = given_;
  options.plan.clear();
  options.best = false;
  options.constraints = PrecisionConstraints::kNone;  // a unit may stand for arithmetic of sizes, too
  options.bf16 = low == ElementType::kBFloat16;
  options.fp16 = low == ElementType::kFloat16;
  options.int8 = with_int8 && std::find(types.begin(), types.end(), ElementType::kInt8) != types.end();
  options.layers.clear();
  for (size_t i = 0; i < types.size(); ++i) {
    if (options.int8 && types[i] == ElementType::kInt8) continue;  // by its ranges
    const ElementType type = types[i] == low ? low : ElementType::kFloat;
    for (const std::string& name : units_[i].nodes) options.layers.push_back({name, type});
  }
  options.layers.insert(options.layers.end(), given_.layers.begin(), given_.layers.end());
  return make_precision_plan(*graph_, *model_.graph, options);
}

PrecisionPlan UnitPlans::plan(const TypeAssignment& types, const std::vector<std::string>& reasons) const {
  std::vector<ElementType> lows;
  for (const ElementType low : {ElementType::kBFloat16, ElementType::kFloat16}) {
    if (std::find(types.begin(), types.end(), low) != types.end()) lows.push_back(low);
  }
  if (lows.empty()) lows.push_back(ElementType::kUndefined);
  // Nodes between units of one type have that type, and nodes between two types are float.
  PrecisionPlan plan = one_type(types, lows.front(), true);
  for (size_t i = 1; i < lows.size(); ++i) {
    for (auto& [name, layer] : one_type(types, lows[i], false).layers) {
      if (is_lowered(layer) && !is_lowered(plan.layers[name])) plan.layers[name] = layer;
    }
  }
  for (size_t i = 0; i < units_.size(); ++i) {
    for (const std::string& name : units_[i].nodes) {
      const auto found = plan.layers.find(name);
      if (found == plan.layers.end()) continue;
      found->second.by = By::kSearch;
      found->second.why = i < reasons.size() && !reasons[i].empty() ? reasons[i] : "chosen by measurement";
    }
  }
  if (!start_) return plan;
  for (const auto& [name, layer] : start_->layers) {
    if (layer.frozen) plan.layers[name] = layer;
  }
  return plan;
}

std::vector<double> unit_times(const Profile& profile, const std::map<std::string, size_t>& owners,
                               size_t units) {
  std::vector<double> times(units, 0);
  for (const StepTime& step : profile.steps) {
    std::set<size_t> found;
    for (const std::string& node : step.nodes) {
      if (const auto owner = owners.find(node); owner != owners.end()) found.insert(owner->second);
    }
    for (const size_t unit : found) times.at(unit) += step.milliseconds / static_cast<double>(found.size());
  }
  return times;
}

}  // namespace vernier
