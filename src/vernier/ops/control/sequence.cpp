// SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase, SequenceLength. A position
// counts from the back where it is negative; inserting and erasing default to the back.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/join_types.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

// The place that input `input` names, of `count`.
std::ptrdiff_t place(const ReferenceContext& context, size_t input, size_t count, int64_t fallback) {
  return normalize_index(context.integer(input, fallback), static_cast<int64_t>(count));
}

void infer_construct(InferContext& context) {
  ValueType element = context.type(0);
  for (size_t i = 1; i < context.input_count(); ++i) element = join_types(context, element, context.type(i));
  context.set_type(0, ValueType::sequence(std::move(element)));
}

void construct(ReferenceContext& context) {
  std::vector<Datum> elements;
  for (size_t i = 0; i < context.input_count(); ++i) elements.push_back(context.datum(i));
  context.emit(0, Datum::of_sequence(std::move(elements)));
}

void infer_empty(InferContext& context) {
  context.set_type(0, ValueType::sequence(ValueType::of(
                          element_type_attribute(context.node(), "dtype", ElementType::kFloat))));
}

void empty(ReferenceContext& context) {
  context.emit(0, Datum::of_sequence({}));
}

void infer_at(InferContext& context) {
  context.element(1);
  context.set_type(0, taken_element(context, 0));
}

void at(ReferenceContext& context) {
  const auto& elements = context.datum(0).as_sequence();
  context.emit(0, elements[static_cast<size_t>(place(context, 1, elements.size(), 0))]);
}

void infer_insert(InferContext& context) {
  context.set_type(0,
                   ValueType::sequence(join_types(context, sequence_element(context, 0), context.type(1))));
}

void insert(ReferenceContext& context) {
  auto elements = context.datum(0).as_sequence();
  // Unlike elsewhere, the place behind the last element (n) is legal.
  const auto count = static_cast<int64_t>(elements.size());
  const int64_t wanted = context.integer(2, count);
  if (wanted < -count || wanted > count)
    throw bad_input("position {} is outside of {} elements", wanted, count);
  elements.insert(elements.begin() + (wanted < 0 ? wanted + count : wanted), context.datum(1));
  context.emit(0, Datum::of_sequence(std::move(elements)));
}

void infer_erase(InferContext& context) {
  sequence_element(context, 0);
  context.set_type(0, context.type(0));
}

void erase(ReferenceContext& context) {
  auto elements = context.datum(0).as_sequence();
  elements.erase(elements.begin() + place(context, 1, elements.size(), -1));
  context.emit(0, Datum::of_sequence(std::move(elements)));
}

void infer_length(InferContext& context) {
  sequence_element(context, 0);
  context.set_output(0, ElementType::kInt64, Shape{});
  context.set_dims(0, {context.fresh("length")});
}

void length(ReferenceContext& context) {
  context.emit(0, Tensor::scalar(static_cast<int64_t>(context.datum(0).as_sequence().size())));
}

}  // namespace

void register_sequence(OpRegistry& registry) {
  const auto add = [&](const char* op, std::vector<Role> operands, TypesSince since, auto infer,
                       auto reference, int optional_inputs = 0, int repeats = 0) {
    registry.add({.op = op,
                  .operands = std::move(operands),
                  .optional_inputs = optional_inputs,
                  .repeats = repeats,
                  .traits = kDataMovement,
                  .since = since,
                  .infer = infer,
                  .reference = reference});
  };
  constexpr Role kData = Role::kData, kIndices = Role::kIndices;
  add("SequenceConstruct", {kData}, kNoNarrowFloats, infer_construct, construct, 0, 1);
  add("SequenceAt", {kData, kIndices}, {0, 11}, infer_at, at);
  add("SequenceInsert", {kData, kData, kIndices}, kNoNarrowFloats, infer_insert, insert, 1);
  add("SequenceErase", {kData, kIndices}, kNoNarrowFloats, infer_erase, erase, 1);
  add("SequenceLength", {kData}, kNoNarrowFloats, infer_length, length);
  registry.add({.op = "SequenceEmpty",
                .attributes = {{"dtype", "INT"}},
                .traits = kDataMovement,
                .since = kNoNarrowFloats,
                .infer = infer_empty,
                .reference = empty});
}

}  // namespace vernier::ops
