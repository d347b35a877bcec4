// SVMRegressor (ai.onnx.ml): a sum of kernels between the sample and support vectors. Without support vectors
// the coefficients are those of a linear model. A one-class machine tells only whether a sample belongs: 1 or
// -1.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/feature_rows.h"
#include "vernier/ops/support/ml/post_transform.h"
#include "vernier/ops/support/ml/svm_kernel.h"

namespace vernier::ops {

namespace {

void infer_svm_regressor(InferContext& context) {
  context.set_output(0, ElementType::kFloat, Shape{row_count(context), 1});
}

void reference_svm_regressor(ReferenceContext& context) {
  const FeatureRows rows = feature_rows(context);
  const auto supports = context.attribute<int64_t>("n_supports", 0);
  const auto coefficients = context.attribute<std::vector<float>>("coefficients", {}),
             rho = context.attribute<std::vector<float>>("rho", {});
  const bool linear = supports <= 0;
  // A linear model is one support vector, the coefficients, of weight 1.
  const auto vectors = linear ? coefficients : context.attribute<std::vector<float>>("support_vectors", {});
  const auto weights = linear ? std::vector<float>{1} : coefficients;
  if (rho.empty() || std::ssize(vectors) != std::ssize(weights) * rows.width ||
      (!linear && std::ssize(weights) != supports)) {
    throw bad_input("{} coefficients, {} numbers in support vectors and {} features do not fit",
                    coefficients.size(), vectors.size(), rows.width);
  }
  const SvmKernel kernel = linear ? SvmKernel() : svm_kernel_of(context.node());
  const bool one_class = context.attribute<int64_t>("one_class", 0) != 0;
  const PostTransform transform = post_transform_of(context.node());
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(rows.count));
  parallel_for(rows.count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double score = rho[0];
      for (size_t j = 0; j < weights.size(); ++j) {
        score += weights[j] * kernel(x.data() + i * rows.width,
                                     vectors.data() + static_cast<int64_t>(j) * rows.width, rows.width);
      }
      if (one_class) score = score > 0 ? 1 : -1;
      apply(transform, std::span(&score, 1));
      y[static_cast<size_t>(i)] = score;
    }
  });
  context.store(0, {rows.count, 1}, y);
}

}  // namespace

void register_svm_regressor(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "SVMRegressor",
                .operands = {Role::kData},
                .attributes = {{"coefficients", "FLOATS"},
                               {"kernel_params", "FLOATS"},
                               {"kernel_type", "STRING"},
                               {"n_supports", "INT"},
                               {"one_class", "INT"},
                               {"post_transform", "STRING"},
                               {"rho", "FLOATS"},
                               {"support_vectors", "FLOATS"}},
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_svm_regressor,
                .reference = reference_svm_regressor});
}

}  // namespace vernier::ops
