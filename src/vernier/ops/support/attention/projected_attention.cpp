#include "vernier/ops/support/attention/projected_attention.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/attention/key_value_cache.h"
#include "vernier/ops/support/attention/padding_bias.h"

namespace vernier::ops {

namespace {

// Hidden sizes of queries, keys and values.
std::vector<int64_t> hidden_sizes(const Node& node, int64_t columns) {
  auto sizes = node.attribute<std::vector<int64_t>>("qkv_hidden_sizes", {});
  if (sizes.empty()) sizes.assign(3, columns / 3);
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[2] < 1 || sizes[0] != sizes[1] || sizes[0] > columns ||
      sizes[2] > columns || sizes[0] + sizes[1] + sizes[2] != columns) {
    throw bad_input("{} columns of weights are not those of queries, keys and values", columns);
  }
  return sizes;
}

int64_t supported_head_count(const Node& node) {
  if (integer_attribute(node, "do_rotary") != 0) throw unsupported("{} with do_rotary", node.op);
  if (integer_attribute(node, "past_present_share_buffer") != 0)
    throw unsupported("{} with past_present_share_buffer", node.op);
  return head_count(node);
}

// Present is the keys and then the values, past is laid out alike: the part that `index` tells.
Heads part_of_past(const ReferenceContext& context, size_t past, int64_t index) {
  const Dims& dims = context.dims(past);
  if (dims.size() != 5 || dims[0] != 2)
    throw bad_input("past {} must be [2, batch, heads, rows, size]", dims_text(dims));
  const auto layout = HeadsLayout::separate(dims[1], dims[2], dims[3], dims[4]);
  return {layout, context.reals(past), index * layout.count()};
}

}  // namespace

void infer_projected_attention(InferContext& context, const ProjectedAttention& inputs, ElementType element) {
  const int64_t heads = supported_head_count(context.node());
  context.set_output(0, element, std::nullopt);
  context.set_output(1, element, std::nullopt);
  const auto &input = context.shape(inputs.input), &weights = context.shape(inputs.weights);
  if (!input || !weights) return;
  if (input->size() != 3 || weights->size() != 2)
    throw bad_input("input {} and weights {}", shape_text(*input), shape_text(*weights));
  Dim value_size = floordiv((*weights)[1], 3);
  if ((*weights)[1].is_constant()) value_size = hidden_sizes(context.node(), *(*weights)[1].constant())[2];
  context.set_output(0, element, Shape{(*input)[0], (*input)[1], value_size});
  const auto past = past_rows(context, inputs.past, 5);
  if (!past) return;
  context.set_output(1, element,
                     Shape{2, (*input)[0], heads, *past + (*input)[1], floordiv(value_size, heads)});
  require_score_bias(context, inputs.bias_of_scores,
                     Shape{(*input)[0], heads, (*input)[1], *past + (*input)[1]});
}

void run_projected_attention(ReferenceContext& context, const ProjectedAttention& inputs,
                             std::vector<double> projection) {
  const int64_t heads = supported_head_count(context.node()), columns = context.dims(inputs.weights)[1];
  const auto sizes = hidden_sizes(context.node(), columns);
  const int64_t batch = context.dims(inputs.input)[0], rows = context.dims(inputs.input)[1];
  const Elements<double> elements(std::move(projection));
  int64_t offset = 0;
  const auto next_part = [&](int64_t hidden) {
    if (hidden % heads != 0)
      throw bad_input("a hidden size of {} cannot be divided into {} heads", hidden, heads);
    const int64_t size = hidden / heads;
    return Heads{{batch, heads, rows, size, rows * columns, size, columns},
                 elements,
                 std::exchange(offset, offset + hidden)};
  };
  const Heads q = next_part(sizes[0]);
  Heads k = next_part(sizes[1]), v = next_part(sizes[2]);
  if (context.has(inputs.past)) {
    k = append_rows(part_of_past(context, inputs.past, 0), k);
    v = append_rows(part_of_past(context, inputs.past, 1), v);
  }
  if (context.wants(1)) {
    auto present = separate_heads(k);
    const auto values = separate_heads(v);
    present.insert(present.end(), values.begin(), values.end());
    context.store(1, present);
  }
  constexpr size_t kNoScores = 99;
  store_padded_attention(context, {inputs.mask, inputs.bias_of_scores, kNoScores}, q, k, v,
                         k.layout.rows - rows);
}

}  // namespace vernier::ops
