// SVMClassifier (ai.onnx.ml): a machine for each pair of classes, whose winner gets a vote; most votes win.
// The scores are those of the machines, or of the classes if prob_a and prob_b turn them to probabilities.
// Without support vectors the coefficients are those of one linear model for each class.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/classes.h"
#include "vernier/ops/support/ml/feature_rows.h"
#include "vernier/ops/support/ml/pair_machines.h"

namespace vernier::ops {

namespace {

using Floats = std::vector<float>;

Classes classes_of(const Node& node) {
  return Classes(node, "classlabels_ints");
}

bool has_vectors(const Node& node) {
  const auto sizes = node.attribute<std::vector<int64_t>>("vectors_per_class", {});
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size != 0; });
}

int64_t score_count(const Node& node, int64_t classes) {
  const bool of_pairs = has_vectors(node) && node.attribute<Floats>("prob_a", {}).empty() && classes > 2;
  return of_pairs ? classes * (classes - 1) / 2 : classes;
}

void infer_svm_classifier(InferContext& context) {
  const Classes classes = classes_of(context.node());
  infer_classifier(context, classes, score_count(context.node(), classes.count()));
}

struct Answer {
  int64_t best;
  std::vector<double> scores;
};

Answer ask(const PairMachines& machines, const double* sample, PostTransform transform) {
  auto scores = machines.scores(sample);
  const int64_t best = best_class(machines.votes(scores));
  if (machines.has_probabilities()) return {best, machines.probabilities(scores)};
  if (scores.size() > 1) return {best, std::move(scores)};
  const auto both = both_scores(scores[0], transform == PostTransform::kProbit);
  return {best, {both.begin(), both.end()}};
}

// The models of the classes share one intercept.
Answer ask_linear(const Floats& coefficients, double rho, const double* sample, int64_t features) {
  std::vector<double> scores;
  for (size_t at = 0; at < coefficients.size(); at += static_cast<size_t>(features))
    scores.push_back(SvmKernel()(sample, coefficients.data() + at, features) + rho);
  return {best_class(scores), scores};
}

using Ask = std::function<Answer(const double* sample)>;

Ask make_ask(const Node& node, int64_t classes, int64_t features, PostTransform transform) {
  if (has_vectors(node)) {
    return [machines = PairMachines(node, classes, features), transform](const double* sample) {
      return ask(machines, sample, transform);
    };
  }
  const auto coefficients = node.attribute<Floats>("coefficients", {}),
             rho = node.attribute<Floats>("rho", {});
  if (rho.empty() || features == 0 || std::ssize(coefficients) != classes * features)
    throw bad_input("{} coefficients and {} rho for {} classes of {} features", coefficients.size(),
                    rho.size(), classes, features);
  return [=](const double* sample) { return ask_linear(coefficients, rho[0], sample, features); };
}

void reference_svm_classifier(ReferenceContext& context) {
  const FeatureRows rows = feature_rows(context);
  const Classes classes = classes_of(context.node());
  const PostTransform transform = post_transform_of(context.node());
  const Ask ask = make_ask(context.node(), classes.count(), rows.width, transform);
  const int64_t columns = score_count(context.node(), classes.count());
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(rows.count * columns));
  std::vector<int64_t> best(static_cast<size_t>(rows.count));
  parallel_for(rows.count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Answer answer = ask(x.data() + i * rows.width);
      best[static_cast<size_t>(i)] = answer.best;
      apply(transform, std::span(answer.scores));
      std::copy(answer.scores.begin(), answer.scores.end(), y.begin() + i * columns);
    }
  });
  classes.store_labels(context, best);
  context.store(1, {rows.count, columns}, y);
}

}  // namespace

void register_svm_classifier(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "SVMClassifier",
                .operands = {Role::kData},
                .max_outputs = 2,
                .attributes = {{"classlabels_ints", "INTS"},
                               {"classlabels_strings", "STRINGS"},
                               {"coefficients", "FLOATS"},
                               {"kernel_params", "FLOATS"},
                               {"kernel_type", "STRING"},
                               {"post_transform", "STRING"},
                               {"prob_a", "FLOATS"},
                               {"prob_b", "FLOATS"},
                               {"rho", "FLOATS"},
                               {"support_vectors", "FLOATS"},
                               {"vectors_per_class", "INTS"}},
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_svm_classifier,
                .reference = reference_svm_classifier});
}

}  // namespace vernier::ops
