#include "vernier/tune/request_key.h"

#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/ir/text.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

std::string operand_text(const std::optional<Operand>& operand) {
  if (!operand) return "_";
  return fmt::format("{}{}{}{}", element_type_short_name(operand->element), dims_text(operand->dims),
                     operand->layout == Layout::kPlain ? "" : layout_name(operand->layout),
                     operand->constant != nullptr ? "c" : "");
}

// Operators and how they are connected, with numbers for the names of values.
class Describer {
 public:
  std::string graph(const Graph& graph) {
    for (const Value* input : graph.inputs) number(input);
    std::string text;
    for (const auto& node : graph.nodes()) text += this->node(*node);
    for (const Value* output : graph.outputs) text += fmt::format(">{}", number(output));
    return text;
  }

  std::string node(const Node& node) {
    std::string text = fmt::format("{}-{}(", node.qualified_op(), node.version);
    for (const Value* input : node.inputs) text += value(input) + ",";
    text += ")";
    TextOptions options;
    options.elide_constants_above = 16;
    for (const auto& [name, attribute] : node.attributes)
      text += fmt::format("{}={};", name, attribute_text(attribute, options));
    for (const auto& [name, region] : node.regions) text += "{" + graph(*region) + "}";
    for (const Value* output : node.outputs) text += ":" + value(output);
    return text;
  }

 private:
  size_t number(const Value* value) { return numbers_.emplace(value, numbers_.size()).first->second; }

  std::string value(const Value* value) {
    if (value == nullptr) return "_";
    return fmt::format("{}{}", number(value), value->type.text());
  }

  std::map<const Value*, size_t> numbers_;
};

}  // namespace

std::string request_key(const KernelRequest& request) {
  std::string operands;
  for (const auto& input : request.inputs) operands += " " + operand_text(input);
  operands += " ->";
  for (const auto& output : request.outputs) operands += " " + operand_text(output);
  const std::string kind = ops::is_group(request.node) ? ops::group_kind(request.node) : request.node.op;
  return fmt::format("{}{} {}", kind, operands, hash_to_text(hash_text(Describer().node(request.node))));
}

uint64_t RequestContent::hash(const KernelRequest& request) {
  uint64_t sum = 1;
  for (const auto& input : request.inputs) {
    if (!input || input->constant == nullptr) continue;
    auto& known = known_[input->constant->identity()];
    if (!known.first.is_defined() || known.first.dims() != input->constant->dims() ||
        known.first.type() != input->constant->type())
      known = {*input->constant, hash_tensor(*input->constant)};
    sum = hash_combine(sum, known.second);
  }
  return sum == kAnyContent ? 1 : sum;
}

}  // namespace vernier
