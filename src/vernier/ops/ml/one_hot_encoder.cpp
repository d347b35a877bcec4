// OneHotEncoder (ai.onnx.ml): a new last axis with a one at the place of the element's category. An element
// of no category gives zeros, or is refused with zeros=0.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/lookup.h"

namespace vernier::ops {

namespace {

int64_t category_count(const Node& node) {
  const size_t strings = node.attribute<std::vector<std::string>>("cats_strings", {}).size();
  return static_cast<int64_t>(
      std::max(strings, node.attribute<std::vector<int64_t>>("cats_int64s", {}).size()));
}

void infer_one_hot_encoder(InferContext& context) {
  context.element(0);
  auto shape = context.shape(0);
  if (shape) shape->push_back(category_count(context.node()));
  context.set_output(0, ElementType::kFloat, std::move(shape));
}

std::vector<int64_t> categories(const ReferenceContext& context) {
  if (context.in(0).type() == ElementType::kString) {
    return find_in<std::string>(context.attribute<std::vector<std::string>>("cats_strings", {}),
                                context.in(0).values<std::string>());
  }
  const auto keys = context.attribute<std::vector<int64_t>>("cats_int64s", {});
  // Floats are cut to integers first.
  return find_in<int64_t>(
      keys,
      Tensor::from_doubles(ElementType::kInt64, context.dims(0), context.reals(0).span()).values<int64_t>());
}

void reference_one_hot_encoder(ReferenceContext& context) {
  const int64_t count = category_count(context.node());
  const bool lenient = context.attribute<int64_t>("zeros", 1) != 0;
  const auto places = categories(context);
  std::vector<double> y(places.size() * static_cast<size_t>(count));
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] != kNotFound)
      y.at(i * static_cast<size_t>(count) + static_cast<size_t>(places[i])) = 1;
    else if (!lenient)
      throw bad_input("element {} is of no category", i);
  }
  Dims out = context.dims(0);
  out.push_back(count);
  context.store(0, std::move(out), y);
}

}  // namespace

void register_one_hot_encoder(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "OneHotEncoder",
                .operands = {Role::kData},
                .attributes = {{"cats_int64s", "INTS"}, {"cats_strings", "STRINGS"}, {"zeros", "INT"}},
                .infer = infer_one_hot_encoder,
                .reference = reference_one_hot_encoder});
}

}  // namespace vernier::ops
