#include "vernier/ops/support/attention/quantized_attention.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/movement/permutation.h"

namespace vernier::ops {

namespace {

constexpr size_t kRank = 4;
constexpr int64_t kCell = 4;            // bytes that are multiplied and added at once
constexpr int64_t kMostDepth = 32'768;  // of which sums stay within 31 bits

Node* maker(const Value* value, std::string_view op) {
  Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && node->domain.empty() && node->op == op && node->outputs.size() == 1 ? node
                                                                                                : nullptr;
}

std::optional<Dims> sizes_of(const Value* value) {
  if (value == nullptr || !value->type.is_tensor() || !value->type.tensor.shape) return std::nullopt;
  return to_dims(*value->type.tensor.shape);
}

bool is_of(const Value* value, ElementType type) {
  return value != nullptr && value->type.is_tensor() && value->type.tensor.element == type;
}
bool is_8bit(const Value* value) {
  return is_of(value, ElementType::kUint8) || is_of(value, ElementType::kInt8);
}

class Matcher {
 public:
  explicit Matcher(const ContentOf& content_of) : content_of_(content_of) {}

  std::optional<QuantizedAttention> match(Node* weighted) {
    found_.weighted = weighted;
    if (!take_product(weighted) || !take_weights(operand(weighted, 0)) || !take_product(found_.scores) ||
        !take_heads(operand(weighted, 1), found_.v) || !take_heads(operand(found_.scores, 0), found_.q) ||
        !take_heads(operand(found_.scores, 1), found_.k) || !fits())
      return std::nullopt;
    std::sort(found_.members.begin(), found_.members.end());
    const bool twice =
        std::adjacent_find(found_.members.begin(), found_.members.end()) != found_.members.end();
    return twice ? std::nullopt : std::optional(std::move(found_));
  }

 private:
  // Whether the group is no more than a product of dequantized matrices that is quantized.
  bool take_product(Node* group) {
    if (group == nullptr || !is_group(*group) || group_kind(*group) != "qmatmul" ||
        group->outputs.size() != 1 || !is_8bit(group->output(0)))
      return false;
    constexpr size_t kNodes = 4;
    const auto& nodes = body(*group).nodes();
    const Node* product = anchor_of(group);
    if (nodes.size() != kNodes || product == nullptr || nodes.back()->op != "QuantizeLinear") return false;
    for (const size_t side : {0, 1}) {
      if (!is_8bit(operand(group, side)) || !is_uniform(*product->input(side)->producer(), group))
        return false;
    }
    found_.members.push_back(group);
    return is_uniform(*nodes.back(), group);
  }

  static const Node* anchor_of(const Node* group) {
    const auto& nodes = body(*group).nodes();
    const auto at = std::find_if(nodes.begin(), nodes.end(), [](const auto& each) {
      return each->op == "MatMul" && maker(each->input(0), "DequantizeLinear") != nullptr &&
             maker(each->input(1), "DequantizeLinear") != nullptr;
    });
    return at == nodes.end() ? nullptr : at->get();
  }

  // Finds what the group reads as the int8 values of a factor.
  static Value* operand(const Node* group, size_t side) {
    const Value* inside = anchor_of(group)->input(side)->producer()->input(0);
    return outside(group, inside);
  }

  static Value* outside(const Node* group, const Value* inside) {
    const auto& inputs = body(*group).inputs;
    const auto at = std::find(inputs.begin(), inputs.end(), inside);
    return at == inputs.end() ? nullptr : group->input(static_cast<size_t>(at - inputs.begin()));
  }

  // Whether a QuantizeLinear or DequantizeLinear, perhaps of a group, has one scale and zero point that are
  // known, and bytes on one side and floats on the other.
  bool is_uniform(const Node& node, const Node* group = nullptr) const {
    const bool quantizes = node.op == "QuantizeLinear";
    if ((!quantizes && node.op != "DequantizeLinear") || node.outputs.size() != 1) return false;
    for (const size_t at : {1, 2}) {
      const Value* parameter =
          group == nullptr || node.input(at) == nullptr ? node.input(at) : outside(group, node.input(at));
      if (parameter == nullptr && at == 2) continue;
      const Tensor* content = parameter == nullptr ? nullptr : content_of_(parameter);
      if (content == nullptr || content->size() != 1) return false;
      const double value = content->to_doubles()[0];
      if (at == 1 && !(is_of(parameter, ElementType::kFloat) && value > 0x1p-40 && value < 0x1p40))
        return false;
    }
    const Value *real = quantizes ? node.input(0) : node.output(0),
                *bytes = quantizes ? node.output(0) : node.input(0);
    return is_8bit(bytes) && is_of(real, ElementType::kFloat);
  }

  // The node of this kind, among the members from now on.
  Node* take_affine(const Value* value, const char* op) {
    Node* node = maker(value, op);
    if (node == nullptr || !is_uniform(*node)) return nullptr;
    found_.members.push_back(node);
    return node;
  }

  // From the bytes of the weights back to the product of queries and keys.
  bool take_weights(const Value* weights) {
    Node* quantize = take_affine(weights, "QuantizeLinear");
    if (quantize == nullptr) return false;
    const Value* real = without_guard(quantize->input(0));
    if (Node* before = take_affine(real, "DequantizeLinear")) {
      found_.dequantize_weights = before;
      found_.requantize_weights = quantize;
      quantize = take_affine(before->input(0), "QuantizeLinear");
      if (quantize == nullptr) return false;
      real = without_guard(quantize->input(0));
    }
    found_.quantize_weights = quantize;
    Node* softmax = maker(real, "Softmax");
    if (softmax == nullptr) return false;
    found_.members.push_back(softmax);
    const int64_t axis = softmax_axis(*softmax);
    return (axis == -1 || axis == static_cast<int64_t>(kRank) - 1) && take_scores(softmax->input(0));
  }

  // Weights of bytes are numbers: Where(IsNaN(x), anything, x) is x.
  const Value* without_guard(const Value* value) {
    Node* choice = maker(value, "Where");
    Node* test = choice == nullptr ? nullptr : maker(choice->input(0), "IsNaN");
    if (test == nullptr || test->input(0) != choice->input(2) ||
        sizes_of(choice->input(2)) != sizes_of(value))
      return value;
    found_.members.insert(found_.members.end(), {choice, test});
    return choice->input(2);
  }

  bool take_scores(const Value* read) {
    const Node* dequantize = take_affine(read, "DequantizeLinear");
    if (dequantize == nullptr) return false;
    Node* before = dequantize->input(0)->producer();
    if (before != nullptr && before->op == "QuantizeLinear") {
      found_.quantize_sum = take_affine(dequantize->input(0), "QuantizeLinear");
      found_.add = found_.quantize_sum == nullptr ? nullptr : maker(found_.quantize_sum->input(0), "Add");
      if (found_.add == nullptr || !take_sum()) return false;
      before = found_.scores;
    }
    found_.scores = before;
    return before != nullptr;
  }

  // Reads the sum of the scores and a mask that broadcasts to them.
  bool take_sum() {
    found_.members.push_back(found_.add);
    for (const size_t side : {0, 1}) {
      const Node* node = maker(found_.add->input(side), "DequantizeLinear");
      Node* product = node == nullptr ? nullptr : node->input(0)->producer();
      if (product == nullptr || !is_group(*product) ||
          sizes_of(found_.add->input(side)) != sizes_of(found_.add->output(0)))
        continue;
      found_.mask = found_.add->input(1 - side);
      found_.scores = product;
      return take_affine(found_.add->input(side), "DequantizeLinear") != nullptr &&
             is_of(found_.mask, ElementType::kFloat) && sizes_of(found_.mask).has_value();
    }
    return false;
  }

  bool take_heads(Value* bytes, QuantizedHeads& heads) {
    if (Node* last = maker(bytes, "QuantizeLinear")) take_requantization(last, bytes, heads);
    if (Node* transpose = maker(bytes, "Transpose"); transpose != nullptr && is_8bit(transpose->input(0))) {
      heads.transpose = transpose;
      found_.members.push_back(transpose);
      bytes = transpose->input(0);
    }
    heads.source = bytes;
    const auto sizes = sizes_of(bytes);
    return sizes && sizes->size() == kRank;
  }

  void take_requantization(Node* last, Value*& bytes, QuantizedHeads& heads) {
    Node* product = maker(last->input(0), "Mul");
    if (product == nullptr) product = maker(last->input(0), "Div");
    if (product == nullptr || !is_uniform(*last)) return;
    for (const size_t side : {0, 1}) {
      Node* first = maker(product->input(side), "DequantizeLinear");
      const Tensor* number = content_of_(product->input(1 - side));
      if (first == nullptr || !is_uniform(*first) || number == nullptr || number->size() != 1 ||
          sizes_of(first->output(0)) != sizes_of(product->output(0)))
        continue;
      heads.requantize = {first, product, last};
      found_.members.insert(found_.members.end(), heads.requantize.begin(), heads.requantize.end());
      bytes = first->input(0);
      return;
    }
  }

  bool fits() {
    const auto q = sizes_of(found_.q.result()), k = sizes_of(found_.k.result()),
               v = sizes_of(found_.v.result());
    if (!q || !k || !v || q->size() != kRank || k->size() != kRank || v->size() != kRank ||
        element_count(*q) == 0 || element_count(*k) == 0 || element_count(*v) == 0)
      return false;
    for (const size_t axis : {0, 1}) {
      if ((*q)[axis] != (*k)[axis] || (*q)[axis] != (*v)[axis]) return false;
    }
    found_.scores_dims = {(*q)[0], (*q)[1], (*q)[2], (*k)[3]};
    found_.values_dims = *v;
    const auto lies_last = [](const QuantizedHeads& heads, size_t axis) {
      const auto perm = heads.transpose == nullptr ? std::vector<size_t>{0, 1, 2, 3}
                                                   : permutation_of(*heads.transpose, kRank);
      return perm[axis] == kRank - 1;
    };
    const int64_t size = (*q)[3], keys = (*k)[3];
    return size == (*k)[2] && keys == (*v)[2] && size % kCell == 0 && size <= kMostDepth &&
           keys <= kMostDepth && lies_last(found_.q, 3) && lies_last(found_.k, 2) && lies_last(found_.v, 3);
  }

  const ContentOf& content_of_;
  QuantizedAttention found_;
};

}  // namespace

Value* QuantizedHeads::result() const {
  if (!requantize.empty()) return requantize.back()->output(0);
  return transpose != nullptr ? transpose->output(0) : source;
}

std::optional<QuantizedAttention> match_quantized_attention(Node* weighted, const ContentOf& content_of) {
  return Matcher(content_of).match(weighted);
}

bool keeps_last_axis(const Node& transpose) {
  return permutation_of(transpose, kRank).back() == kRank - 1;
}

}  // namespace vernier::ops
