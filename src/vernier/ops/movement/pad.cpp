// Pad: adds elements before and after each axis, or removes them where a pad is negative. Opset 1 has the
// attribute `paddings`, 2 `pads`; from 11 pads and the fill value are inputs, from 18 `axes` may name the
// axes that pads are for. com.microsoft has the operator of opset 11, with pads of any rank.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement.h"

namespace vernier::ops {

namespace {

// Elements added (removed where negative) at both ends of each axis.
template <class Size>
struct Pads {
  std::vector<Size> before, after;
};

template <class Size>
Pads<Size> by_axis(size_t rank, const std::vector<Size>& pads,
                   const std::optional<std::vector<int64_t>>& axes) {
  const size_t count = axes ? axes->size() : rank;
  if (pads.size() != 2 * count) throw bad_input("{} pads do not fit {} axes", pads.size(), count);
  Pads<Size> result{std::vector<Size>(rank, Size(0)), std::vector<Size>(rank, Size(0))};
  for (size_t i = 0; i < count; ++i) {
    const size_t axis =
        axes ? static_cast<size_t>(normalize_axis((*axes)[i], static_cast<int64_t>(rank))) : i;
    result.before[axis] = pads[i];
    result.after[axis] = pads[count + i];
  }
  return result;
}

std::vector<int64_t> attribute_pads(const Node& node) {
  return node.attribute<std::vector<int64_t>>(node.version < 2 ? "paddings" : "pads", {});
}

bool takes_inputs(const Node& node) {
  return node.version >= 11 || node.domain == "com.microsoft";
}

// Nothing if only running can tell.
std::optional<Pads<Dim>> pads_of(const InferContext& context, size_t rank) {
  if (!takes_inputs(context.node()))
    return by_axis<Dim>(rank, to_shape(attribute_pads(context.node())), std::nullopt);
  const auto pads = content_of(context, 1);
  const auto axes = context.has(3) ? context.ints(3) : std::nullopt;
  if (!pads || (context.has(3) && !axes)) return std::nullopt;
  return by_axis<Dim>(rank, pads->elements, axes);
}

Pads<int64_t> pads_of(const ReferenceContext& context, size_t rank) {
  if (!takes_inputs(context.node()))
    return by_axis<int64_t>(rank, attribute_pads(context.node()), std::nullopt);
  std::optional<std::vector<int64_t>> axes;
  if (context.has(3)) axes = context.int_list(3);
  return by_axis<int64_t>(rank, context.int_list(1), axes);
}

std::string mode_of(const Node& node) {
  return node.attribute<std::string>("mode", "constant");
}

// One axis: what is left of the input, where it starts there, and where it lies in the output.
struct Window {
  int64_t length, from, to;
};

Window window(int64_t size, int64_t before, int64_t after) {
  const int64_t from = -std::clamp<int64_t>(before, -size, 0),
                removed = -std::clamp<int64_t>(after, -size, 0);
  return {size - from - removed, from, std::max<int64_t>(0, before)};
}

// Copies what is left of the input to its place between the pads.
template <class Elements>
void copy_inside(const Elements& from, const Dims& dims, const Pads<int64_t>& pads, Elements& to,
                 const Dims& out) {
  Placement source = dense(dims), target = dense(out);
  Dims sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Window axis = window(dims[i], pads.before[i], pads.after[i]);
    if (axis.length <= 0) return;
    source.offset += axis.from * source.strides[i];
    target.offset += axis.to * target.strides[i];
    sizes.push_back(axis.length);
  }
  copy_placed(from, source, to, target, sizes);
}

// The index, in [0, length), that stands for `index` outside of it.
int64_t mirrored(int64_t index, int64_t length) {
  if (length == 1) return 0;
  const int64_t period = 2 * (length - 1);
  const int64_t at = ((index % period) + period) % period;
  return at < length ? at : period - at;
}
int64_t wrapped(int64_t index, int64_t length) {
  return ((index % length) + length) % length;
}
int64_t nearest(int64_t index, int64_t length) {
  return std::clamp<int64_t>(index, 0, length - 1);
}

using Outside = int64_t (*)(int64_t index, int64_t length);

Outside rule_of(const std::string& mode) {
  if (mode == "reflect") return mirrored;
  if (mode == "wrap") return wrapped;
  if (mode == "edge") return nearest;
  throw bad_input("mode '{}' is none of constant, reflect, edge and wrap", mode);
}

// For every index of the outer axes of the output, the offset in the input of the block that it shows.
std::vector<int64_t> shown_offsets(const Dims& dims, const Pads<int64_t>& pads, const Dims& out, size_t outer,
                                   Outside outside) {
  const auto strides = strides_of(dims);
  std::vector<std::vector<int64_t>> steps(outer);
  for (size_t i = 0; i < outer; ++i) {
    const Window axis = window(dims[i], pads.before[i], pads.after[i]);
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
  if (!content || !out || !before || !after || !takes_inputs(context.node()) ||
      mode_of(context.node()) != "constant")
    return;
  if (element_count(*out) > kMaxFollowedElements) return;
  const auto value = context.has(2) ? scalar_content(context, 2) : Dim(0);
  if (!value) return;
  std::vector<Dim> padded(static_cast<size_t>(element_count(*out)), *value);
  copy_inside(content->elements, content->dims, {*before, *after}, padded, *out);
  context.set_dims(0, std::move(padded));
}

void infer(InferContext& context) {
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
  if (!takes_inputs(context.node())) {
    const double value = context.attribute<float>("value", 0);
    fill(output, Tensor::from_doubles(output.type(), {1}, std::vector<double>{value}));
  } else if (context.has(2)) {
    fill(output, stored_as(context.in(2), output.type()));
  }
  copy_inside(input, input.dims(), pads, output, output.dims());
}

void reference(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const auto pads = pads_of(context, input.dims().size());
  const std::string mode = mode_of(context.node());
  if (mode == "constant") return pad_with_constant(context, pads);
  size_t outer = input.dims().size();
  while (outer > 0 && pads.before[outer - 1] == 0 && pads.after[outer - 1] == 0) --outer;
  const int64_t block = product(input.dims(), outer, input.dims().size());
  Tensor& output = context.allocate(0);
  if (output.size() == 0) return;
  gather_blocks(input, shown_offsets(input.dims(), pads, output.dims(), outer, rule_of(mode)), block, output);
}

}  // namespace

void register_pad(OpRegistry& registry) {
  OpDef def{.op = "Pad",
            .min_inputs = 1,
            .max_inputs = 4,
            .attributes = {{"mode", "STRING"}, {"pads", "INTS"}, {"paddings", "INTS"}, {"value", "FLOAT"}},
            .traits = kDataMovement,
            .infer = infer,
            .reference = reference,
            .flops = no_flops};
  registry.add(def);
  def.domain = "com.microsoft";
  def.min_inputs = 2;
  def.max_inputs = 3;
  def.attributes = {{"mode", "STRING"}};
  registry.add(std::move(def));
}

}  // namespace vernier::ops
