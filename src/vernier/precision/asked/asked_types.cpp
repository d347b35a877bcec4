#include "vernier/precision/asked/asked_types.h"

#include "vernier/numeric/operand_format.h"
#include "vernier/precision/node_class.h"

namespace vernier {

namespace {

using By = LayerPrecision::By;

bool is_pattern(const std::string& text) {
  return text.find_first_of("*?") != std::string::npos;
}

// The floats that operators compute in; narrower ones are codes.
bool is_computed_in(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 || type == ElementType::kBFloat16 ||
         type == ElementType::kDouble;
}

std::string_view name_of(const LayerType& type) {
  return type.tf32 ? OperandFormat::tf32().text() : element_type_short_name(type.type);
}

// Why the node cannot be computed as asked; empty if it can. Its results may have no type yet.
std::string obstacle(const Node& node, const LayerType& asked) {
  if (!node.regions.empty()) return "control flow";
  const ElementType makes = element_of(main_output(node));
  if (makes != ElementType::kUndefined && !is_computed_in(makes))
    return fmt::format("it makes {}", element_type_short_name(makes));
  if (asked.tf32 && class_of(node).lowering != Lowering::kAlways) return "it multiplies nothing";
  return asked.type == ElementType::kInt8 && !multiplies_codes(node) ? "no contraction that int8 computes"
                                                                     : "";
}

}  // namespace

AskedTypes::AskedTypes(const PrecisionOptions& options, const Graph& model)
    : tells_(options.constraints != PrecisionConstraints::kNone) {
  Nodes nodes;
  for_each_graph(model, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      for (const std::string& name : onnx_nodes(*node)) nodes[name].push_back(node.get());
    }
  });
  layers_.list = options.layers;
  outputs_.list = options.outputs;
  for (const LayerType& output : outputs_.list) {
    if (output.tf32)
      throw usage_error("{} '{}:tf32': no result is stored in TF32", outputs_.option, output.pattern)
          .advise("--layer-precisions says which products round their factors to it");
  }
  add(layers_, nodes);
  add(outputs_, nodes);
  if (!options.plan.empty()) plan_ = read_plan(options.plan);
}

// From the last option to the first, so that each node is taken by the last that can apply to it.
void AskedTypes::add(Asked& kind, const Nodes& nodes) {
  for (size_t i = kind.list.size(); i-- > 0;) {
    const std::string& pattern = kind.list[i].pattern;
    std::vector<const Node*> left;
    size_t matched = 0;
    const auto take = [&](const std::string& name, const std::vector<const Node*>& named) {
      ++matched;
      // A function has become several nodes of one name.
      const bool can = std::any_of(named.begin(), named.end(),
                                   [&](const Node* node) { return obstacle(*node, kind.list[i]).empty(); });
      if (!can) left.push_back(named.front());
      if (can || !is_pattern(pattern)) kind.asked.try_emplace(name, i);
    };
    if (!is_pattern(pattern)) {
      if (const auto found = nodes.find(pattern); found != nodes.end()) take(found->first, found->second);
    } else {
      for (const auto& [name, named] : nodes) {
        if (matches(pattern, name)) take(name, named);
      }
    }
    if (matched == 0)
      throw usage_error("no node of the model is called '{}'", pattern)
          .advise("`vernier inspect MODEL --show layers` lists them");
    if (!left.empty()) leave_out(kind, i, left, matched);
  }
}

void AskedTypes::leave_out(const Asked& kind, size_t which, const std::vector<const Node*>& left,
                           size_t matched) {
  const LayerType& asked = kind.list[which];
  const std::string& pattern = asked.pattern;
  const Node& first = *left.front();
  const std::string name(name_of(asked)), why = obstacle(first, asked);
  const std::string option = asked.keeps ? fmt::format("--keep-fp32 '{}'", pattern)
                                         : fmt::format("{} '{}:{}'", kind.option, pattern, name);
  if (is_pattern(pattern)) {
    notes_.push_back(
        fmt::format("{} leaves out {} of the {} nodes that it matches, which are not computed "
                    "in {}: '{}' ({}){}",
                    option, left.size(), matched, name, first.name, why, left.size() > 1 ? ", …" : ""));
    return;
  }
  const ElementType makes = element_of(main_output(first));
  const bool is_other = makes != ElementType::kUndefined && !is_computed_in(makes) && first.regions.empty();
  const std::string difference =
      is_other ? fmt::format("stored {}, not {}", element_type_short_name(makes), name) : why;
  if (tells_) notes_.push_back(fmt::format("{}: {}", option, difference));
  ExecutedPrecision instead;
  instead.kernel = why;
  impossible_.rows.push_back({first.name, first.op, std::nullopt, instead, difference});
}

const LayerType* AskedTypes::find(const Asked& kind, const Node& node) {
  std::optional<size_t> last;
  for (const std::string& name : onnx_nodes(node)) {
    const auto found = kind.asked.find(name);
    if (found != kind.asked.end()) last = std::max(last.value_or(0), found->second);
  }
  return last ? &kind.list[*last] : nullptr;
}

bool AskedTypes::wants_other_floats(const Node& node) const {
  const ElementType declared = element_of(main_output(node));
  if (!node.regions.empty() || !is_computed_in(declared) || declared == ElementType::kFloat) return false;
  for (const LayerType* each : {layer(node), output(node)}) {
    if (each == nullptr || each->type == declared) continue;
    if (!each->keeps || !holds(declared, each->type)) return true;
  }
  const auto planned = plan_.strictest(node);
  return planned && planned->by >= By::kSearch &&
         (planned->compute != declared || planned->store != declared);
}

bool AskedTypes::concerns(const Node& node) const {
  const auto planned = plan_.strictest(node);
  return layer(node) != nullptr || output(node) != nullptr || (planned && planned->by >= By::kSearch);
}

void say_what_is_declared(PrecisionPlan& plan, const ModelFacts& facts, const PrecisionOptions& options) {
  size_t declared_narrow = 0;
  for (auto& [name, layer] : plan.layers) {
    const LayerPrecision* declared = facts.declared.find(name);
    if (declared == nullptr || !is_float(declared->store) || !is_float(layer.store)) continue;
    if (layer.by == LayerPrecision::By::kDeclared && layer.store != declared->store && !facts.asked.empty())
      layer.by = LayerPrecision::By::kRule, layer.why = "hands on what is computed in f32";
    if (layer.store == declared->store && !holds(layer.store, ElementType::kFloat)) ++declared_narrow;
  }
  const char* lowers = options.bf16 ? "bf16" : options.fp16 ? "fp16" : options.int8 ? "int8" : nullptr;
  if (lowers == nullptr || declared_narrow == 0) return;
  plan.notes.push_back(
      fmt::format("{} nodes are declared narrower than f32 and stay as they are: --{} lowers nodes of f32",
                  declared_narrow, lowers));
}

}  // namespace vernier
