#include "vernier/check/context.h"

#include <algorithm>
#include <cmath>

namespace vernier {

const char* precision_name(ElementType type) {
  switch (type) {
    case ElementType::kFloat16: return "FP16";
    case ElementType::kBFloat16: return "BF16";
    default: return type == ElementType::kFloat ? "FP32" : "FP64";
  }
}

CheckContext::CheckContext(const Model& model, const CheckOptions& options)
    : model_(model), options_(options) {
  for_each_graph(static_cast<const Graph&>(*model.graph), [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      nodes_.push_back(node.get());
      for (const Value* input : node->inputs) {
        if (input != nullptr) users_[input].push_back(node.get());
      }
    }
  });
}

const std::vector<const Node*>& CheckContext::users(const Value* value) const {
  static const std::vector<const Node*> none;
  const auto found = users_.find(value);
  return found == users_.end() ? none : found->second;
}

bool CheckContext::is_model_output(const Value* value) const {
  bool is_output = false;
  for_each_graph(static_cast<const Graph&>(*model_.graph), [&](const Graph& graph) {
    is_output =
        is_output || std::find(graph.outputs.begin(), graph.outputs.end(), value) != graph.outputs.end();
  });
  return is_output;
}

const Tensor* CheckContext::constant(const Value* value) const {
  while (value != nullptr && !value->is_constant() && made_by(value, "Identity") != nullptr)
    value = value->producer()->input(0);
  if (value == nullptr) return nullptr;
  if (value->is_constant()) return &*value->constant;
  const Node* node = made_by(value, "Constant");
  if (node == nullptr) return nullptr;
  const auto [slot, fresh] = constants_.try_emplace(node);
  if (fresh) {
    if (const Attribute* held = node->find_attribute("value")) slot->second = held->get<Tensor>();
    if (const Attribute* held = node->find_attribute("value_int"))
      slot->second = Tensor::scalar(held->get<int64_t>());
    if (const Attribute* held = node->find_attribute("value_float"))
      slot->second = Tensor::from<float>(ElementType::kFloat, {}, {held->get<float>()});
    if (const Attribute* held = node->find_attribute("value_ints")) {
      const auto& list = held->get<std::vector<int64_t>>();
      slot->second = Tensor::from(ElementType::kInt64, {static_cast<int64_t>(list.size())}, list);
    }
  }
  return slot->second.is_defined() ? &slot->second : nullptr;
}

std::optional<double> CheckContext::scalar(const Value* value) const {
  const Tensor* tensor = constant(value);
  if (tensor == nullptr || tensor->size() != 1 || tensor->type() == ElementType::kString ||
      is_complex(tensor->type()))
    return std::nullopt;
  return tensor->to_doubles()[0];
}

ElementType CheckContext::type(const Value* value) const {
  if (value == nullptr || !value->type.is_tensor()) return ElementType::kUndefined;
  const ElementType declared = value->type.tensor.element;
  return declared == ElementType::kFloat && options_.assume ? *options_.assume : declared;
}

const Node* CheckContext::made_by(const Value* value, std::string_view op) const {
  const Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && node->domain.empty() && node->op == op ? node : nullptr;
}

const Value* CheckContext::square_root_of(const Value* value) const {
  if (const Node* mul = made_by(value, "Mul"); mul != nullptr && mul->input(0) == mul->input(1))
    return mul->input(0);
  if (const Node* pow = made_by(value, "Pow"); pow != nullptr && scalar(pow->input(1)) == 2.0)
    return pow->input(0);
  return nullptr;
}

std::optional<int64_t> CheckContext::reduced_elements(const Node& node) const {
  const Value* input = node.input(0);
  if (input == nullptr || !input->type.is_tensor() || !input->type.tensor.shape) return std::nullopt;
  const Shape& shape = *input->type.tensor.shape;
  std::vector<int64_t> axes = node.attribute<std::vector<int64_t>>("axes", {});
  if (const Tensor* given = constant(node.input(1)))
    axes = given->to_ints();
  else if (node.input(1) != nullptr)
    return std::nullopt;
  if (axes.empty()) {
    for (size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  int64_t count = 1;
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis;
    if (at < 0 || at >= static_cast<int64_t>(shape.size())) return std::nullopt;
    const auto size = shape[static_cast<size_t>(at)].constant();
    if (!size || __builtin_mul_overflow(count, *size, &count)) return std::nullopt;
  }
  return count;
}

void Collector::add(Finding finding) {
  for (Finding& known : own_) {
    if (known.rule != finding.rule || known.severity != finding.severity) continue;
    ++known.count;
    if (finding.effect > known.effect) {
      finding.count = known.count;
      known = std::move(finding);
    }
    return;
  }
  own_.push_back(std::move(finding));
}

Collector::~Collector() {
  findings_.insert(findings_.end(), std::make_move_iterator(own_.begin()),
                   std::make_move_iterator(own_.end()));
}

std::vector<Range> channel_ranges(const Tensor& tensor, int64_t axis) {
  const Dims& dims = tensor.dims();
  if (axis < 0) axis += tensor.rank();
  if (axis < 0 || axis >= tensor.rank() || tensor.size() == 0) return {};
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) inner *= dims[i];
  const int64_t channels = dims[static_cast<size_t>(axis)];
  std::vector<Range> ranges(static_cast<size_t>(channels));
  const auto values = tensor.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    Range& range = ranges[static_cast<size_t>(static_cast<int64_t>(i) / inner % channels)];
    const double magnitude = std::abs(values[i]);
    range.largest = std::max(range.largest, magnitude);
    if (magnitude > 0 && (range.smallest == 0 || magnitude < range.smallest)) range.smallest = magnitude;
  }
  return ranges;
}

}  // namespace vernier
