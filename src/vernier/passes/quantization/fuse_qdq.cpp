// Groups a contraction of dequantized operands with what quantizes its result, so that one kernel multiplies
// the integers: DequantizeLinear -> Conv -> Relu -> QuantizeLinear, perhaps on through
// DequantizeLinear -> Add of another dequantized tensor -> QuantizeLinear. And means of channels, and rows
// that are normalised, between two of them.
//
// Each reader must have its own DequantizeLinear (split-dequantize), and weights must still be integers: this
// comes before they are folded.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/math/reduce_axes.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/quantization/quantization.h"

namespace vernier {

namespace {

bool is_onnx(const Node* node, std::string_view op) {
  return node != nullptr && node->domain.empty() && node->op == op;
}

class Matcher {
 public:
  Matcher(const Uses& uses, const std::set<const Node*>& taken, Node* anchor)
      : uses_(uses), taken_(taken), anchor_(anchor), members_{anchor} {}

  // The nodes of the group; none if there is no such group.
  std::vector<Node*> match() {
    if (!takes_operands()) return {};
    floats_ = members_.size();
    const Value* chain = anchor_->output(0);
    for (Node* next = follow(chain); next != nullptr; next = follow(chain)) {
      members_.push_back(next);
      chain = next->output(0);
      if (is_quantize(next)) quantized_ = members_.size();
      if (!adds_tensor_ && quantized_ == 0) floats_ = members_.size();
    }
    members_.resize(quantized_ > 0 ? quantized_ : floats_);
    return members_;
  }

 private:
  bool is_free(const Node* node) const {
    return &node->graph() == &anchor_->graph() && !taken_.contains(node);
  }

  // The quantized operand behind a DequantizeLinear that nobody else reads.
  std::optional<Quantization> take(const Value* value) {
    Node* node = value == nullptr ? nullptr : value->producer();
    auto found = Quantization::of(node);
    if (!found || !is_free(node) || uses_.only_reader(value) == nullptr) return std::nullopt;
    members_.push_back(node);
    return found;
  }

  // A constant of floats, or of integers that are dequantized.
  bool take_constant(const Value* value) {
    if (value->is_constant()) return value->constant->type() == ElementType::kFloat;
    const Node* node = value->producer();
    return is_dequantize(node) && node->input(0)->is_constant() && take(value).has_value();
  }

  bool takes_operands() {
    const bool conv = is_onnx(anchor_, "Conv");
    const Value* weights = anchor_->input(1);
    const auto rank = known_rank(*anchor_->input(0)), weights_rank = known_rank(*weights);
    if (anchor_->outputs.size() != 1 || !rank || !weights_rank || anchor_->input(0) == weights) return false;
    if (conv ? *rank < 3 || *rank > 5 : *weights_rank < 2 || *rank < 1) return false;
    const auto a = take(anchor_->input(0)), b = take(weights);
    if (!a || !b || !a->is_8bit() || !b->is_8bit() || !a->is_uniform()) return false;
    const bool known = weights->producer()->input(0)->is_constant();
    const bool transposed = ops::integer_attribute(*anchor_, "transB") != 0;
    const auto columns = static_cast<int64_t>(conv || transposed ? 0 : *weights_rank - 1);
    const int64_t axis = b->axis < 0 ? b->axis + static_cast<int64_t>(*weights_rank) : b->axis;
    if (!b->is_uniform() && (axis != columns || !b->is_symmetric() || !known)) return false;
    if (conv && (!known || !b->is_symmetric())) return false;
    if (is_onnx(anchor_, "Gemm") &&
        (ops::real_attribute(*anchor_, "alpha") != 1 || ops::real_attribute(*anchor_, "beta") != 1 ||
         ops::integer_attribute(*anchor_, "transA") != 0))
      return false;
    const Value* bias = anchor_->input(2);
    return bias == nullptr || (known_rank(*bias) == size_t{1} && take_constant(bias));
  }

  // The node that continues the chain.
  Node* follow(const Value* chain) {
    Node* next = uses_.only_reader(chain);
    if (next == nullptr || !is_free(next) || next->outputs.size() != 1) return nullptr;
    const Node* before = chain->producer();
    if (is_quantize(before)) {
      const auto from = Quantization::of(before), to = Quantization::of(next);
      return is_dequantize(next) && to && *from == *to ? next : nullptr;
    }
    if (is_quantize(next)) {
      const auto quantization = Quantization::of(next);
      return quantization && quantization->is_8bit() && quantization->is_uniform() ? next : nullptr;
    }
    if (is_onnx(next, "Relu") || is_onnx(next, "LeakyRelu")) return next;
    if (is_onnx(next, "Clip")) return clips(next) ? next : nullptr;
    return is_onnx(next, "Add") && adds(next, chain) ? next : nullptr;
  }

  bool clips(const Node* clip) {
    if (clip->version < 11) return true;
    for (const size_t bound : {1, 2}) {
      if (clip->input(bound) != nullptr && !take_constant(clip->input(bound))) return false;
    }
    return true;
  }

  bool adds(const Node* add, const Value* chain) {
    const Value* other = other_operand(*add, chain);
    if (other == nullptr || add->version < 7) return false;
    if (is_vector(*other, *chain)) return take_constant(other);
    if (!same_type(other, chain) || !same_type(add->output(0), chain)) return false;
    const auto tensor = take(other);
    if (!tensor || !tensor->is_8bit() || !tensor->is_uniform()) return false;
    return adds_tensor_ = true;
  }

  // Whether the operand is known and has one element for each channel, or one for all.
  bool is_vector(const Value& operand, const Value& chain) const {
    const Node* node = operand.producer();
    const Value& source = is_dequantize(node) ? *node->input(0) : operand;
    const auto dims = known_dims(source);
    const auto rank = known_rank(chain);
    if (!source.is_constant() || !dims || !rank || dims->size() > *rank) return false;
    const size_t channel = is_onnx(anchor_, "Conv") ? 1 : *rank - 1, missing = *rank - dims->size();
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] != 1 && i + missing != channel) return false;
    }
    return true;
  }

  const Uses& uses_;
  const std::set<const Node*>& taken_;  // by other groups
  Node* anchor_;
  std::vector<Node*> members_;
  // How many members there are up to the last result that is quantized, or may be one of floats.
  size_t quantized_ = 0, floats_ = 0;
  bool adds_tensor_ = false;
};

// Whether the mean of each channel of an image is taken, and its axes stay.
bool is_mean_of_channels(const Node& node) {
  const bool global = is_onnx(&node, "GlobalAveragePool");
  if (!global && !is_onnx(&node, "ReduceMean")) return false;
  const auto rank = known_rank(*node.input(0));
  if (!rank || *rank < 3 || node.outputs.size() != 1) return false;
  if (global) return true;
  if (ops::integer_attribute(node, "keepdims") == 0) return false;
  const Value* operand = node.input(1);
  if (operand != nullptr && !operand->is_constant()) return false;
  const auto axes =
      operand == nullptr ? node.attribute<std::vector<int64_t>>("axes", {}) : operand->constant->to_ints();
  const auto reduced = ops::reduced_axes(node, axes, *rank);
  return !reduced[0] && !reduced[1] && std::find(reduced.begin() + 2, reduced.end(), false) == reduced.end();
}

bool normalises_rows(const Node& node) {
  return (is_onnx(&node, "LayerNormalization") || is_onnx(&node, "RMSNormalization")) &&
         node.outputs.size() == 1;
}

// DequantizeLinear, the node, and the QuantizeLinear that alone reads it, if there is one; none if there is
// no such group.
std::vector<Node*> group_around(const Uses& uses, const std::set<const Node*>& taken, Node* node) {
  Node* before = node->input(0)->producer();
  const auto from = is_dequantize(before) ? Quantization::of(before) : std::nullopt;
  if (!from || !from->is_8bit() || !from->is_uniform() || taken.contains(before) ||
      &before->graph() != &node->graph() || uses.only_reader(before->output(0)) != node)
    return {};
  Node* after = uses.only_reader(node->output(0));
  const auto to = is_quantize(after) ? Quantization::of(after) : std::nullopt;
  if (!to || !to->is_8bit() || !to->is_uniform() || &after->graph() != &node->graph()) return {before, node};
  return {before, node, after};
}

int fuse_in(Graph& graph) {
  const Uses uses(graph);
  std::map<const Node*, size_t> position;
  for (const auto& node : graph.nodes()) position.emplace(node.get(), position.size());
  std::vector<std::pair<std::string, std::vector<Node*>>> groups;
  std::set<const Node*> taken;
  for (const auto& node : graph.nodes()) {
    const bool normalises = normalises_rows(*node);
    if (normalises || is_mean_of_channels(*node)) {
      auto members = group_around(uses, taken, node.get());
      if (members.empty() || (normalises && members.size() < 3)) continue;
      taken.insert(members.begin(), members.end());
      groups.emplace_back(normalises ? "qnorm" : "qmean", std::move(members));
      continue;
    }
    const bool conv = is_onnx(node.get(), "Conv");
    if ((!conv && !is_onnx(node.get(), "MatMul") && !is_onnx(node.get(), "Gemm")) ||
        taken.contains(node.get()))
      continue;
    auto members = Matcher(uses, taken, node.get()).match();
    if (members.empty()) continue;
    // The image, or the left matrix, is input 0 of the group.
    const Node* first = node->input(0)->producer();
    std::swap(members[0], *std::find(members.begin(), members.end(), first));
    std::sort(members.begin() + 1, members.end(),
              [&](const Node* a, const Node* b) { return position.at(a) < position.at(b); });
    taken.insert(members.begin(), members.end());
    groups.emplace_back(conv ? "qconv" : "qmatmul", std::move(members));
  }
  for (const auto& [kind, members] : groups) ops::make_group(graph, members, kind);
  return static_cast<int>(groups.size());
}

// Bodies of groups are left alone: they are computed already.
int fuse_all(Graph& graph) {
  int found = fuse_in(graph);
  for (const auto& node : graph.nodes()) {
    if (ops::is_group(*node)) continue;
    for (const auto& [name, region] : node->regions) found += fuse_all(*region);
  }
  return found;
}

}  // namespace

Pass fuse_qdq() {
  return {"fuse-qdq", NumericalClass::kReassociating, fuse_all};
}

}  // namespace vernier
