// NegativeLogLikelihoodLoss of log-probabilities [N, C, D...] under labels [N, D...], and
// SoftmaxCrossEntropyLoss, which takes the log-softmax over C first and can give it as output 1. Losses may
// be weighted by class; labels equal to ignore_index count nothing. The mean is over the weights of the
// labels that count.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

std::string reduction_of(const Node& node) {
  auto reduction = node.attribute<std::string>("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    throw bad_input("reduction must be none, sum or mean, not '{}'", reduction);
  return reduction;
}

void infer_cross_entropy_loss(InferContext& context) {
  const ElementType element = context.element(0);
  context.element(1);
  auto shape = context.shape(0);
  if (shape && shape->size() < 2)
    throw bad_input("scores must have the axes [N, C, ...], but are {}", shape_text(*shape));
  if (shape) {
    Shape labels = *shape;
    labels.erase(labels.begin() + 1);
    require_shape(context, 1, labels);
    if (context.has(2)) require_shape(context, 2, {(*shape)[1]});
  }
  context.set_output(1, element, shape);
  if (reduction_of(context.node()) != "none") return context.set_output(0, element, Shape{});
  if (shape)
    shape->erase(shape->begin() + 1);
  else
    shape = context.shape(1);
  context.set_output(0, element, std::move(shape));
}

// Log-probabilities as [outer, classes, inner].
struct Scores {
  int64_t outer, classes, inner;
  std::vector<double> log_probability;
};

Scores scores_of(const ReferenceContext& context, bool is_log_probability) {
  const Dims& dims = context.dims(0);
  const auto x = context.reals(0);
  Scores scores{dims[0], dims[1], product(dims, 2, dims.size()), {x.span().begin(), x.span().end()}};
  if (is_log_probability || scores.classes == 0) return scores;
  for (int64_t row = 0; row < scores.outer * scores.inner; ++row) {
    double* first = scores.log_probability.data() + row / scores.inner * scores.classes * scores.inner +
                    row % scores.inner;
    double top = first[0], sum = 0;
    for (int64_t c = 1; c < scores.classes; ++c) top = std::max(top, first[c * scores.inner]);
    for (int64_t c = 0; c < scores.classes; ++c) sum += std::exp(first[c * scores.inner] - top);
    for (int64_t c = 0; c < scores.classes; ++c) first[c * scores.inner] -= top + std::log(sum);
  }
  return scores;
}

template <bool IsLogProbability>
void reference_cross_entropy_loss(ReferenceContext& context) {
  const Scores scores = scores_of(context, IsLogProbability);
  const auto labels = context.ints(1);
  Dims label_dims = context.dims(0);
  label_dims.erase(label_dims.begin() + 1);
  if (context.dims(1) != label_dims)
    throw bad_input("labels must be {}, but are {}", dims_text(label_dims), dims_text(context.dims(1)));
  const auto weights = context.has(2)
                           ? context.reals(2)
                           : Elements<double>(std::vector<double>(static_cast<size_t>(scores.classes), 1));
  if (weights.size() != scores.classes)
    throw bad_input("{} weights for {} classes", weights.size(), scores.classes);
  const Attribute* ignored = context.node().find_attribute("ignore_index");

  std::vector<double> losses(static_cast<size_t>(labels.size()));
  double sum = 0, total_weight = 0;
  for (int64_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels[i];
    if (ignored != nullptr && label == ignored->get<int64_t>()) continue;
    if (label < 0 || label >= scores.classes)
      throw bad_input("label {} is outside of {} classes", label, scores.classes);
    const int64_t at = (i / scores.inner * scores.classes + label) * scores.inner + i % scores.inner;
    const double loss = -scores.log_probability[static_cast<size_t>(at)] * weights[label];
    losses[static_cast<size_t>(i)] = loss;
    sum += loss;
    total_weight += weights[label];
  }
  const std::string reduction = reduction_of(context.node());
  if (reduction == "none")
    context.store(0, label_dims, losses);
  else
    context.store(0, {}, std::array{reduction == "mean" ? sum / total_weight : sum});
  context.store(1, context.dims(0), scores.log_probability);
}

}  // namespace

void register_cross_entropy_loss(OpRegistry& registry) {
  const std::vector<AttributeSpec> attributes = {{"ignore_index", "INT"}, {"reduction", "STRING"}};
  registry.add({.op = "NegativeLogLikelihoodLoss",
                .operands = {Role::kData, Role::kIndices, Role::kGain},
                .optional_inputs = 1,
                .attributes = attributes,
                .traits = kReduction,
                .precision = PrecisionClass::kNeverLower,
                .since = {22, 12},
                .infer = infer_cross_entropy_loss,
                .reference = reference_cross_entropy_loss<true>});
  registry.add({.op = "SoftmaxCrossEntropyLoss",
                .operands = {Role::kData, Role::kIndices, Role::kGain},
                .optional_inputs = 1,
                .max_outputs = 2,
                .attributes = attributes,
                .traits = kReduction,
                .precision = PrecisionClass::kNeverLower,
                .since = {13, 12},
                .infer = infer_cross_entropy_loss,
                .reference = reference_cross_entropy_loss<false>});
}

}  // namespace vernier::ops
