// ZipMap (ai.onnx.ml): a map from class to score for each row of scores. Classifiers that scikit-learn
// trained end in it.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/feature_rows.h"
#include "vernier/ops/support/ml/map_datum.h"

namespace vernier::ops {

namespace {

// The keys of all maps, as the columns have them.
Tensor labels_of(const Node& node) {
  const auto strings = node.attribute<std::vector<std::string>>("classlabels_strings", {});
  const auto ints = node.attribute<std::vector<int64_t>>("classlabels_int64s", {});
  if (strings.empty() == ints.empty())
    throw bad_input("ZipMap needs labels that are either strings or integers");
  return strings.empty() ? Tensor::from<int64_t>(ElementType::kInt64, {std::ssize(ints)}, ints)
                         : Tensor::from<std::string>(ElementType::kString, {std::ssize(strings)}, strings);
}

void infer_zip_map(InferContext& context) {
  const auto value = ValueType::of(context.element(0), Shape{});
  context.set_type(0, ValueType::sequence(ValueType::map(labels_of(context.node()).type(), value)));
}

void reference_zip_map(ReferenceContext& context) {
  const FeatureRows rows = feature_rows(context);
  const Tensor labels = labels_of(context.node());
  if (labels.size() != rows.width)
    throw bad_input("{} labels for {} columns of scores", labels.size(), rows.width);
  auto places = places_by_key(labels);
  const Tensor keys = take(labels, places);
  std::vector<Datum> maps;
  for (int64_t row = 0; row < rows.count; ++row) {
    maps.push_back(Datum::of_sequence({keys, take(context.in(0), places)}));
    for (int64_t& place : places) place += rows.width;
  }
  context.emit(0, Datum::of_sequence(std::move(maps)));
}

}  // namespace

void register_zip_map(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "ZipMap",
                .operands = {Role::kData},
                .attributes = {{"classlabels_int64s", "INTS"}, {"classlabels_strings", "STRINGS"}},
                .traits = kDataMovement,
                .infer = infer_zip_map,
                .reference = reference_zip_map});
}

}  // namespace vernier::ops
