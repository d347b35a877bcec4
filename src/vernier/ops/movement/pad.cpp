// Pad: adds elements before and after each axis, or removes them where a pad is negative. Opset 1 has the
// attribute `paddings`, 2 `pads`; from 11 pads and the fill value are inputs, from 18 `axes` may name the
// axes that pads are for. com.microsoft has the operator of opset 11, with pads of any rank.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/nn/padding.h"

namespace vernier::ops {

namespace {

// Nothing if only running can tell.
std::optional<Pads<Dim>> pads_of(const InferContext& context, size_t rank) {
  if (!pads_are_inputs(context.node()))
    return pads_by_axis<Dim>(rank, to_shape(attribute_pads(context.node())), std::nullopt);
  const auto pads = content_of(context, 1);
  const auto axes = context.has(3) ? context.ints(3) : std::nullopt;
  if (!pads || (context.has(3) && !axes)) return std::nullopt;
  return pads_by_axis<Dim>(rank, pads->elements, axes);
}

Pads<int64_t> pads_of(const ReferenceContext& context, size_t rank) {
  if (!pads_are_inputs(context.node()))
    return pads_by_axis<int64_t>(rank, attribute_pads(context.node()), std::nullopt);
  std::optional<std::vector<int64_t>> axes;
  if (context.has(3)) axes = context.int_list(3);
  return pads_by_axis<int64_t>(rank, context.int_list(1), axes);
}

// Copies what is left of the input to its place between the pads.
template <class Elements>
void copy_inside(const Elements& from, const Dims& dims, const Pads<int64_t>& pads, Elements& to,
                 const Dims& out) {
  Placement source = dense(dims), target = dense(out);
  Dims sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const PadWindow axis = pad_window(dims[i], pads.before[i], pads.after[i]);
    if (axis.length <= 0) return;
    source.offset += axis.from * source.strides[i];
    target.offset += axis.to * target.strides[i];
    sizes.push_back(axis.length);
  }
  copy_placed(from, source, to, target, sizes);
}

// For every index of the outer axes of the output, the offset in the input of the block that it shows.
std::vector<int64_t> shown_offsets(const Dims& dims, const Pads<int64_t>& pads, const Dims& out, size_t outer,
                                   Outside outside) {
  const auto strides = strides_of(dims);
  std::vector<std::vector<int64_t>> steps(outer);
  for (size_t i = 0; i < outer; ++i) {
    const PadWindow axis = pad_window(dims[i], pads.before[i], pads.after[i]);
    if (axis.length <= 0 && out[i] > 0)
      throw bad_input("axis {} of {} has nothing to pad with", i, dims_text(dims));
    for (int64_t k = 0; k < out[i]; ++k) {
      steps[i].push_back((axis.from + outside(k - axis.to, axis.length)) * strides[i]);
    }
  }
  std::vector<int64_t> offsets;
  for_each_index(Dims(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(outer)), [&](const Dims& at) {
    int64_t offset = 0;
    for (size_t i = 0; i < outer; ++i) offset += steps[i][static_cast<size_t>(at[i])];
    offsets.push_back(offset);
  });
  return offsets;
}

void follow_content(InferContext& context, const Pads<Dim>& pads, const Shape& output) {
  const auto content = content_of(context, 0);
  const auto out = to_dims(output), before = to_dims(pads.before), after = to_dims(pads.after);
  if (!content || !out || !before || !after || !pads_are_inputs(context.node()) ||
      pad_mode(context.node()) != "constant")
    return;
  if (element_count(*out) > kMaxFollowedElements) return;
  const auto value = context.has(2) ? scalar_content(context, 2) : Dim(0);
  if (!value) return;
  std::vector<Dim> padded(static_cast<size_t>(element_count(*out)), *value);
  copy_inside(content->elements, content->dims, {*before, *after}, padded, *out);
  context.set_dims(0, std::move(padded));
}

void infer_pad(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return;
  const auto pads = pads_of(context, input->size());
  if (!pads) return context.set_output(0, context.element(0), fresh_shape(context, input->size(), "pad"));
  Shape result;
  for (size_t i = 0; i < input->size(); ++i) {
    result.push_back(checked_size((*input)[i] + pads->before[i] + pads->after[i]));
  }
  context.set_output(0, context.element(0), result);
  follow_content(context, *pads, result);
}

void pad_with_constant(ReferenceContext& context, const Pads<int64_t>& pads) {
  const Tensor& input = context.in(0);
  Tensor& output = context.allocate(0);
  if (!pads_are_inputs(context.node())) {
    const double value = real_attribute(context.node(), "value");
    fill(output, Tensor::from_doubles(output.type(), {1}, std::vector<double>{value}));
  } else if (context.has(2)) {
    fill(output, stored_as(context.in(2), output.type()));
  }
  copy_inside(input, input.dims(), pads, output, output.dims());
}

void reference_pad(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const auto pads = pads_of(context, input.dims().size());
  const std::string mode = pad_mode(context.node());
  if (mode == "constant") return pad_with_constant(context, pads);
  size_t outer = input.dims().size();
  while (outer > 0 && pads.before[outer - 1] == 0 && pads.after[outer - 1] == 0) --outer;
  const int64_t block = product(input.dims(), outer, input.dims().size());
  Tensor& output = context.allocate(0);
  if (output.size() == 0) return;
  gather_blocks(input, shown_offsets(input.dims(), pads, output.dims(), outer, pad_rule(mode)), block,
                output);
}

}  // namespace

void register_pad(OpRegistry& registry) {
  OpDef def{.op = "Pad",
            .operands = {Role::kData, Role::kSizes, Role::kData, Role::kAxes},
            .optional_inputs = 3,
            .attributes = {{"mode", "STRING"}, {"pads", "INTS"}, {"paddings", "INTS"}, {"value", "FLOAT"}},
            .traits = kDataMovement,
            .since = {13, 1},
            .infer = infer_pad,
            .reference = reference_pad,
            .flops = no_flops};
  registry.add(def);
  def.domain = "com.microsoft";
  def.optional_inputs = 1;
  def.operands.pop_back();
  def.attributes = {{"mode", "STRING"}};
  registry.add(std::move(def));
}

}  // namespace vernier::ops
