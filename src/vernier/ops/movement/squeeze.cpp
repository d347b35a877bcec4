// Squeeze removes axes of size 1: those named, or all. Unsqueeze inserts them; its axes are those of the
// output. From opset 13 `axes` is an input, before it was an attribute.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

bool has_axes(const InferContext& context) {
  return context.version() >= 13 ? context.has(1) : context.node().find_attribute("axes") != nullptr;
}

// The axes given; nothing if only running can tell them.
std::optional<std::vector<int64_t>> given_axes(const InferContext& context) {
  if (context.version() >= 13) return context.ints(1);
  return context.attribute<std::vector<int64_t>>("axes", {});
}

// One flag per axis; throws bad_input for an axis named twice.
std::vector<bool> marked(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<bool> marks(rank, false);
  for (const int64_t axis : normalize_axes(axes, static_cast<int64_t>(rank))) {
    if (marks[static_cast<size_t>(axis)]) throw bad_input("axis {} is named twice", axis);
    marks[static_cast<size_t>(axis)] = true;
  }
  return marks;
}

// Nothing if it takes a run to tell which sizes are 1.
std::optional<Shape> without_all_ones(const Shape& input) {
  Shape result;
  for (const Dim& dim : input) {
    if (!dim.is_constant()) return std::nullopt;
    if (dim != Dim(1)) result.push_back(dim);
  }
  return result;
}

Shape without(const Shape& input, const std::vector<int64_t>& axes) {
  const auto removed = marked(axes, input.size());
  Shape result;
  for (size_t i = 0; i < input.size(); ++i) {
    if (!removed[i])
      result.push_back(input[i]);
    else if (input[i].is_constant() && input[i] != Dim(1)) {
      throw bad_input("axis {} of {} is squeezed, but is not of size 1", i, shape_text(input));
    }
  }
  return result;
}

// The rank of the output when the axes' number is known but not which they are.
std::optional<Shape> of_rank_only(const InferContext& context, int direction) {
  const auto count = list_length(context, 1);
  const auto& input = context.shape(0);
  if (!count || !input || (direction < 0 && *count > input->size())) return std::nullopt;
  return fresh_shape(context, direction < 0 ? input->size() - *count : input->size() + *count, "squeeze");
}

std::optional<Shape> squeezed(const InferContext& context) {
  const auto& input = context.shape(0);
  if (!input) return std::nullopt;
  if (!has_axes(context)) return without_all_ones(*input);
  const auto axes = given_axes(context);
  return axes ? without(*input, *axes) : of_rank_only(context, -1);
}

std::optional<Shape> unsqueezed(const InferContext& context) {
  if (!has_axes(context)) throw bad_input("Unsqueeze has no axes");
  const auto& input = context.shape(0);
  if (!input) return std::nullopt;
  const auto axes = given_axes(context);
  if (!axes) return of_rank_only(context, 1);
  const auto inserted = marked(*axes, input->size() + axes->size());
  Shape result;
  size_t next = 0;
  for (const bool is_new : inserted) result.push_back(is_new ? Dim(1) : (*input)[next++]);
  return result;
}

template <std::optional<Shape> (*OutputShape)(const InferContext&)>
void infer_squeeze(InferContext& context) {
  context.set_output(0, context.element(0), OutputShape(context));
  if (auto content = content_of(context, 0)) context.set_dims(0, std::move(content->elements));
}

void reference_squeeze(ReferenceContext& context) {
  context.emit(0, context.in(0).reshaped(context.out_dims(0)));
}

template <std::optional<Shape> (*OutputShape)(const InferContext&)>
void add(OpRegistry& registry, const char* name) {
  registry.add({.op = name,
                .operands = {Role::kData, Role::kAxes},
                .optional_inputs = 1,
                .attributes = {{"axes", "INTS"}},
                .traits = kView,
                .since = {13, 1},
                .infer = infer_squeeze<OutputShape>,
                .reference = reference_squeeze,
                .flops = no_flops});
}

}  // namespace

void register_squeeze(OpRegistry& registry) {
  add<squeezed>(registry, "Squeeze");
  add<unsqueezed>(registry, "Unsqueeze");
}

}  // namespace vernier::ops
