#include "vernier/backends/cpu/attention/int8_attention_plan.h"

#include <numeric>

#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/attention/quantized_attention.h"
#include "vernier/ops/support/movement/permutation.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kCodes = 256;
constexpr uint8_t kFlip = 0x80;                // between signed and uint8
constexpr double kLeastWeightScale = 0x1p-30;  // a weight, 1 at most, in units of it is an int32

bool is_signed(const Value* value) {
  return value->type.tensor.element == ElementType::kInt8;
}

class Planner {
 public:
  explicit Planner(const KernelRequest& request) : request_(request), body_(ops::body(request.node)) {}

  std::optional<Int8AttentionPlan> plan() {
    const Value* result = body_.outputs.at(0);
    Node* last = result->producer();
    const Node* behind = last->op == "Transpose" ? last : nullptr;
    if (behind != nullptr) last = behind->input(0)->producer();
    if (last == nullptr || body_.outputs.size() != 1) return std::nullopt;
    const auto found =
        ops::match_quantized_attention(last, [this](const Value* value) { return content(value); });
    if (!found) return std::nullopt;
    return plan(*found, behind);
  }

 private:
  std::optional<size_t> place(const Value* value) const {
    const auto at = std::find(body_.inputs.begin(), body_.inputs.end(), value);
    if (at == body_.inputs.end()) return std::nullopt;
    return static_cast<size_t>(at - body_.inputs.begin());
  }

  const Tensor* content(const Value* value) const {
    const auto at = place(value);
    return at ? request_.in(*at).constant : nullptr;
  }

  // Reads a group of this body as if it had a plan of its own.
  std::optional<QuantizedProduct> product(const Node& group) const {
    KernelRequest inner{group, {}, {}};
    const auto operand = [](const Value& value, const Tensor* constant) {
      return Operand{value.type.tensor.element, *to_dims(*value.type.tensor.shape), Layout::kPlain, constant};
    };
    for (const Value* input : group.inputs) inner.inputs.emplace_back(operand(*input, content(input)));
    inner.outputs.emplace_back(operand(*group.output(0), nullptr));
    std::string reason;
    return parse_quantized(inner, reason);
  }

  std::optional<Int8AttentionPlan> plan(const ops::QuantizedAttention& found, const Node* behind) const {
    const auto scores = product(*found.scores), weighted = product(*found.weighted);
    const auto q = heads(found.q), k = heads(found.k), v = heads(found.v);
    const bool parsed = scores && weighted && q && k && v && scores->stages.empty() &&
                        weighted->stages.empty() && scores->bias.empty() && weighted->bias.empty();
    if (!parsed) return std::nullopt;
    const Dims &sizes = found.scores_dims, &values = found.values_dims;
    const Node& last_scores = found.quantize_sum != nullptr ? *found.quantize_sum : *found.scores;
    const auto quantized_sum =
        found.quantize_sum != nullptr ? member_affine(request_, *found.quantize_sum) : scores->result;
    const auto quantized_weights = member_affine(request_, *found.quantize_weights);
    if (!quantized_sum || !quantized_weights || quantized_weights->scale < kLeastWeightScale)
      return std::nullopt;
    const Affine &sum = *quantized_sum, &weights = *quantized_weights;
    const double score_scale = scores->a_affine.scale * scores->b_scales[0] / scores->result->scale,
                 result_scale = weighted->a_affine.scale * weighted->b_scales[0] / weighted->result->scale;
    const Value* made = found.weighted->output(0);
    Int8AttentionPlan plan{
        .batch = sizes[0],
        .heads = sizes[1],
        .queries = sizes[2],
        .keys = sizes[3],
        .size = k->dims[2],
        .value_size = values[3],
        .q = placed(*q, {0, 1, 2}, scores->a_affine.zero_point, found.q.result(), false),
        .k = placed(*k, {0, 1, 3}, zero_of_b(*scores), found.k.result(), true),
        .v = placed(*v, {0, 1, 2}, zero_of_b(*weighted), found.v.result(), true),
        .out = {},
        .mask = {},
        .score = {score_scale, scores->result->zero_point, found.scores->output(0)->type.tensor.element},
        .sum = {1 / sum.scale, sum.zero_point, last_scores.output(0)->type.tensor.element},
        .result = {result_scale, weighted->result->zero_point, made->type.tensor.element},
        .score_unit = static_cast<float>(scores->result->scale / sum.scale),
        .softmax = {sum.scale, weights.scale, weights.zero_point,
                    found.quantize_weights->output(0)->type.tensor.element, weight_table(found)},
        .weight_zero = 0,
        .out_element = made->type.tensor.element,
        .out_flip = is_signed(made) ? kFlip : uint8_t{0}};
    const Value* last_weights = last_quantized(found).output(0);
    plan.weight_zero =
        static_cast<int64_t>(weighted->a_affine.zero_point) + (is_signed(last_weights) ? kFlip : 0);
    place_output(behind, plan);
    if (found.mask != nullptr && !place_mask(*found.mask, sizes, plan)) return std::nullopt;
    return plan;
  }

  static const Node& last_quantized(const ops::QuantizedAttention& found) {
    return found.requantize_weights != nullptr ? *found.requantize_weights : *found.quantize_weights;
  }

  static double zero_of_b(const QuantizedProduct& product) {
    return product.b_zero_points.empty() ? 0 : product.b_zero_points[0];
  }

  struct Heads {
    size_t input;
    Dims dims, strides;  // as they are multiplied
    Int8Table table;     // from the source's values to those that the product takes
  };

  std::optional<Heads> heads(const ops::QuantizedHeads& of) const {
    const auto at = place(of.source);
    if (!at) return std::nullopt;
    const Dims& dims = request_.in(*at).dims;
    Heads heads{*at, dims, ops::strides_of(dims), {}};
    if (of.transpose != nullptr) {
      const auto perm = ops::permutation_of(*of.transpose, dims.size());
      heads.dims = ops::permuted(heads.dims, perm);
      heads.strides = ops::permuted(heads.strides, perm);
    }
    heads.table = of.requantize.empty() ? identity() : table(*of.requantize.front()->input(0), of.requantize);
    return heads;
  }

  static Int8Table identity() {
    Int8Table table;
    std::iota(table.begin(), table.end(), uint8_t{0});
    return table;
  }

  // Tabulates what nodes, one after the other, make of each byte. Nodes before a QuantizeLinear pass numbers
  // on.
  Int8Table table(const Value& varying, const std::vector<Node*>& nodes) const {
    Tensor codes(varying.type.tensor.element, {kCodes});
    const Int8Table all = identity();
    std::memcpy(codes.mutable_raw(), all.data(), all.size());
    std::map<const Value*, Tensor> values{{&varying, codes}};
    Tensor now = codes;
    for (const Node* node : nodes) {
      if (node->op == "QuantizeLinear") values[node->input(0)] = now;
      std::vector<Tensor> constants;
      std::vector<const Tensor*> inputs;
      constants.reserve(node->inputs.size());
      for (const Value* input : node->inputs) {
        const auto made = values.find(input);
        if (input == nullptr)
          inputs.push_back(nullptr);
        else if (made != values.end())
          inputs.push_back(&made->second);
        else
          inputs.push_back(&constants.emplace_back(content(input)->reshaped(Dims{})));
      }
      now = values[node->output(0)] = ops::evaluate(*node, inputs)[0].as_tensor();
    }
    Int8Table result;
    std::memcpy(result.data(), now.raw(), result.size());
    return result;
  }

  // From the codes of weights to uint8 that are multiplied.
  Int8Table weight_table(const ops::QuantizedAttention& found) const {
    Int8Table result = identity();
    const Value* quantized = found.quantize_weights->output(0);
    const uint8_t from = is_signed(quantized) ? kFlip : 0,
                  to = is_signed(last_quantized(found).output(0)) ? kFlip : 0;
    Int8Table then = result;
    if (found.dequantize_weights != nullptr)
      then = table(*quantized, {found.dequantize_weights, found.requantize_weights});
    for (size_t code = 0; code < result.size(); ++code) result[code] = then[code ^ from] ^ to;
    return result;
  }

  // `axes` of the batch, the heads and the rows.
  static Int8Heads placed(const Heads& heads, const std::array<size_t, 3>& axes, double zero,
                          const Value* read, bool wants_signed) {
    const bool flips = is_signed(read) != wants_signed;
    const int64_t shift = !flips ? 0 : wants_signed ? -kFlip : kFlip;
    Int8Heads place{static_cast<int>(heads.input),
                    heads.strides[axes[0]],
                    heads.strides[axes[1]],
                    heads.strides[axes[2]],
                    heads.table,
                    static_cast<int64_t>(zero) + shift};
    for (uint8_t& code : place.table) code ^= flips ? kFlip : 0;
    return place;
  }

  void place_output(const Node* behind, Int8AttentionPlan& plan) const {
    Dims strides = ops::strides_of(request_.out().dims);
    if (behind != nullptr) {
      const auto perm = ops::permutation_of(*behind, strides.size());
      const Dims after = strides;
      for (size_t i = 0; i < perm.size(); ++i) strides[perm[i]] = after[i];
    }
    plan.out.batch_stride = strides[0];
    plan.out.head_stride = strides[1];
    plan.out.row_stride = strides[2];
  }

  bool place_mask(const Value& mask, const Dims& scores, Int8AttentionPlan& plan) const {
    const auto at = place(&mask);
    if (!at) return false;
    Dims dims = request_.in(*at).dims;
    if (dims.size() > scores.size()) return false;
    dims.insert(dims.begin(), scores.size() - dims.size(), 1);
    const Dims strides = ops::strides_of(dims);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1 && dims[i] != scores[i]) return false;
      plan.mask.strides[i] = dims[i] == 1 ? 0 : strides[i];
    }
    plan.mask.input = static_cast<int>(*at);
    return true;
  }

  const KernelRequest& request_;
  const Graph& body_;
};

}  // namespace

std::optional<Int8AttentionPlan> plan_int8_attention(const KernelRequest& request, std::string& reason) {
  reason = "no quantized attention of known sizes and parameters";
  if (!has_int8_rows() || request.outputs.size() != 1) return std::nullopt;
  return Planner(request).plan();
}

}  // namespace vernier::cpu
