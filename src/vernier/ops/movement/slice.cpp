// Slice: every step-th element of [start, end) along some axes. Negative limits count from the back, all are
// clamped to the axis. Before opset 10 starts, ends and axes were attributes, and there were no steps; they
// were inputs of DynamicSlice, an experimental operator that ONNX removed and ONNX Runtime still runs.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/movement/slice_axis.h"

namespace vernier::ops {

namespace {

// Holds what is given for one axis; nothing where only a run can tell.
struct Range {
  std::optional<Dim> start, end, step;
};

// Limits at or beyond this mean "to the end" of an axis whose size is symbolic.
constexpr int64_t kUnlimited = std::numeric_limits<int32_t>::max();

bool proven_at_least(const Dim& dim, int64_t bound) {
  const auto lowest = dim.lower_bound();
  return lowest && *lowest >= bound;
}

// A limit counted from the front, not clamped. The sign of a symbolic one may be open: then a factor in {0,
// 1} adds the size where it is negative, so that the expression is right for every size.
Dim from_front(const Dim& limit, const Dim& size) {
  if (limit.is_constant()) {
    const int64_t value = limit_within_64_bits(*limit.constant());
    return value < 0 ? size + value : Dim(value);
  }
  if (proven_at_least(limit, 0)) return limit;
  if (proven_at_least(Dim(0) - limit, 1)) return limit + size;
  return limit + size * min(1, max(0, Dim(0) - limit));
}

bool reaches_end(const Dim& end, const Dim& size) {
  return end == size || (end.is_constant() && !size.is_constant() && *end.constant() >= kUnlimited);
}

bool reaches_begin(const Dim& limit, const Dim& size) {
  return limit.is_constant() && !size.is_constant() && *limit.constant() <= -kUnlimited;
}

// Elements that a positive step takes. A start beyond the end and an end before the front both give none, so
// one clamp of each is enough: max(0, min(end, size) - max(start, 0)).
Dim forward_length(const Dim& start, const Dim& end, const Dim& size, const Dim& step) {
  const Dim stop = reaches_end(end, size) ? size : from_front(end, size);
  const Dim first = reaches_begin(start, size) ? Dim(0) : from_front(start, size);
  Dim span = min(size - first, stop - first);
  if (!proven_at_least(first, 0)) span = min(span, min(size, stop));
  // Written so that what is cut off and what is kept, joined again (torch.roll), add up to the size.
  const Dim cut = size - span;
  if (step == Dim(1) && cut.is_constant() && !proven_at_least(span, 0)) return size - min(size, cut);
  return max(0, ceildiv(span, step));
}

// Elements that a negative step takes: start is clamped to [0, size - 1], end to [-1, size - 1].
Dim backward_length(const Dim& start, const Dim& end, const Dim& size, const Dim& stride) {
  const bool whole = start == Dim(-1) || reaches_end(start, size);
  const Dim stop = reaches_begin(end, size) ? Dim(-1) : max(-1, min(from_front(end, size), size - 1));
  if (whole && stop == Dim(-1)) return ceildiv(size, stride);
  const Dim first = whole ? size - 1 : max(0, min(from_front(start, size), size - 1));
  return min(size, max(0, ceildiv(first - stop, stride)));
}

// The length of a sliced axis; nothing if only running can tell.
std::optional<Dim> sliced_length(const Range& range, const Dim& size) {
  if (!range.start || !range.end || !range.step || !range.step->is_constant()) return std::nullopt;
  const int64_t step = *range.step->constant();
  if (step == 0) throw bad_input("the step of a slice is 0");
  if (step > 0) return forward_length(*range.start, *range.end, size, step);
  // A stride that leaves 64 bits when negated takes one element, as does the longest that does not.
  const int64_t stride = -std::max(step, -std::numeric_limits<int64_t>::max());
  return backward_length(*range.start, *range.end, size, stride);
}

using List = std::optional<std::vector<Dim>>;

// Sorts the lists by axis. Axes that are not named are whole.
std::vector<Range> by_axis(size_t rank, size_t count, const List& starts, const List& ends,
                           const std::vector<int64_t>& axes, const List& steps) {
  if (axes.size() != count) throw bad_input("a slice has {} starts for {} axes", count, axes.size());
  for (const List* list : {&starts, &ends, &steps}) {
    if (*list && (*list)->size() != count) throw bad_input("the lists of a slice are of different lengths");
  }
  std::vector<Range> ranges(rank, {Dim(0), Dim(std::numeric_limits<int64_t>::max()), Dim(1)});
  for (size_t i = 0; i < count; ++i) {
    const auto pick = [&](const List& list) { return list ? std::optional((*list)[i]) : std::nullopt; };
    ranges[static_cast<size_t>(normalize_axis(axes[i], static_cast<int64_t>(rank)))] = {
        pick(starts), pick(ends), pick(steps)};
  }
  return ranges;
}

std::vector<int64_t> first_axes(size_t count) {
  std::vector<int64_t> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

std::vector<Range> ranges_of_attributes(const Node& node, size_t rank) {
  const auto starts = node.attribute<std::vector<int64_t>>("starts", {});
  const auto ends = node.attribute<std::vector<int64_t>>("ends", {});
  const auto axes = node.attribute<std::vector<int64_t>>("axes", first_axes(starts.size()));
  return by_axis(rank, starts.size(), to_shape(starts), to_shape(ends), axes,
                 std::vector<Dim>(starts.size(), Dim(1)));
}

// Whether starts, ends and axes are inputs.
bool takes_lists(const Node& node) {
  return node.version >= 10 || node.op == "DynamicSlice";
}

// Nothing if not even the axes are known.
std::optional<std::vector<Range>> ranges_of(const InferContext& context, size_t rank) {
  if (!takes_lists(context.node())) return ranges_of_attributes(context.node(), rank);
  const List &starts = context.dims(1), &ends = context.dims(2);
  std::optional<size_t> count = starts ? starts->size() : list_length(context, 1);
  if (!count && context.has(3)) count = list_length(context, 3);
  if (!count) return std::nullopt;
  const auto axes = context.has(3) ? context.ints(3) : first_axes(*count);
  if (!axes) return std::nullopt;
  const List steps = context.has(4) ? context.dims(4) : std::vector<Dim>(*count, Dim(1));
  return by_axis(rank, *count, starts, ends, *axes, steps);
}

std::vector<Range> ranges_of(const ReferenceContext& context, size_t rank) {
  if (!takes_lists(context.node())) return ranges_of_attributes(context.node(), rank);
  const auto list = [&](size_t input) { return to_shape(context.int_list(input)); };
  const Shape starts = list(1);
  return by_axis(rank, starts.size(), starts, list(2),
                 context.has(3) ? context.int_list(3) : first_axes(starts.size()),
                 context.has(4) ? list(4) : Shape(starts.size(), Dim(1)));
}

// Where the elements of a slice lie in its input; the ranges are constants.
Placement placement(const std::vector<Range>& ranges, const Dims& dims) {
  Placement result = dense(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t step = *ranges[i].step->constant();
    result.offset += slice_start(*ranges[i].start->constant(), step, dims[i]) * result.strides[i];
    result.strides[i] *= slice_step(step, dims[i]);
  }
  return result;
}

bool are_constant(const std::vector<Range>& ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [](const Range& range) {
    return range.start && range.start->is_constant() && range.end && range.end->is_constant() && range.step &&
           range.step->is_constant();
  });
}

void infer_slice(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return;
  const auto ranges = ranges_of(context, input->size());
  if (!ranges) return context.set_output(0, context.element(0), fresh_shape(context, input->size(), "slice"));
  Shape result;
  for (size_t i = 0; i < input->size(); ++i) {
    const auto length = sliced_length((*ranges)[i], (*input)[i]);
    result.push_back(length ? *length : context.fresh("slice"));
  }
  context.set_output(0, context.element(0), result);
  const auto content = content_of(context, 0);
  if (!content || !are_constant(*ranges)) return;
  const Dims dims = *to_dims(result);
  std::vector<Dim> taken(static_cast<size_t>(element_count(dims)));
  copy_placed(content->elements, placement(*ranges, content->dims), taken, dense(dims), dims);
  context.set_dims(0, std::move(taken));
}

void reference_slice(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  // First, because sizes do not follow from lists that do not fit each other.
  const auto ranges = ranges_of(context, input.dims().size());
  const Dims dims = context.out_dims(0);
  const bool forward =
      std::all_of(ranges.begin(), ranges.end(), [](const Range& range) { return range.step == Dim(1); });
  if (forward && dims == input.dims()) return context.emit(0, input);
  copy_placed(input, placement(ranges, input.dims()), context.allocate(0, dims), dense(dims), dims);
}

}  // namespace

void register_slice(OpRegistry& registry) {
  registry.add({.op = "Slice",
                .operands = {Role::kData, Role::kSizes, Role::kSizes, Role::kAxes, Role::kSizes},
                .optional_inputs = 4,
                .attributes = {{"starts", "INTS"}, {"ends", "INTS"}, {"axes", "INTS"}},
                .traits = kDataMovement,
                .since = {13, 1},
                .infer = infer_slice,
                .reference = reference_slice,
                .flops = no_flops});
  registry.add({.op = "DynamicSlice",
                .operands = {Role::kData, Role::kSizes, Role::kSizes, Role::kAxes},
                .optional_inputs = 1,
                .traits = kDataMovement,
                .since = kNoNarrowFloats,
                .infer = infer_slice,
                .reference = reference_slice,
                .flops = no_flops});
}

}  // namespace vernier::ops
