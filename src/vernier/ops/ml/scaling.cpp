// Scaler, Normalizer, Binarizer (ai.onnx.ml): numbers to numbers of the same shape.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/ml/feature_rows.h"

namespace vernier::ops {

namespace {

void infer_float(InferContext& context) {
  context.element(0);
  context.set_output(0, ElementType::kFloat, context.shape(0));
}

// One number for each feature, one for all, or none, which is `fallback`.
class PerFeature {
 public:
  PerFeature(const ReferenceContext& context, std::string_view name, float fallback, int64_t features)
      : values_(context.attribute<std::vector<float>>(name, {})) {
    if (values_.empty()) values_.push_back(fallback);
    if (values_.size() != 1 && std::ssize(values_) != features)
      throw bad_input("'{}' has {} entries for {} features", name, values_.size(), features);
  }
  double operator[](int64_t feature) const {
    return values_[values_.size() == 1 ? 0 : static_cast<size_t>(feature)];
  }

 private:
  std::vector<float> values_;
};

void scale(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const int64_t features = dims.empty() ? 1 : dims.back();
  const PerFeature offset(context, "offset", 0, features), factor(context, "scale", 1, features);
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i)
    y[static_cast<size_t>(i)] = (x[i] - offset[i % features]) * factor[i % features];
  context.store(0, dims, y);
}

// MAX is the largest element, not the largest magnitude, and leaves NaN out.
double norm_of(const std::string& kind, std::span<const double> row) {
  const bool largest = kind == "MAX";
  double norm = largest ? std::numeric_limits<double>::lowest() : 0;
  for (const double x : row) {
    if (largest)
      norm = std::max(norm, x);
    else
      norm += kind == "L1" ? std::abs(x) : x * x;
  }
  return kind == "L2" ? std::sqrt(norm) : norm;
}

void normalize(ReferenceContext& context) {
  const auto kind = context.attribute<std::string>("norm", "MAX");
  if (kind != "MAX" && kind != "L1" && kind != "L2")
    throw bad_input("norm must be MAX, L1 or L2, not '{}'", kind);
  const FeatureRows rows = feature_rows(context);
  const auto x = context.reals(0);
  std::vector<double> y(x.span().begin(), x.span().end());
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row =
        std::span(y).subspan(static_cast<size_t>(i * rows.width), static_cast<size_t>(rows.width));
    const double norm = norm_of(kind, row);
    if (norm == 0) continue;
    for (double& value : row) value /= norm;
  }
  context.store(0, context.dims(0), y);
}

void binarize(ReferenceContext& context) {
  const double threshold = context.attribute("threshold", 0.0f);
  map_real(context, [=](double x) { return x > threshold ? 1.0 : 0.0; });
}

}  // namespace

void register_scaling(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "Scaler",
                .operands = {Role::kData},
                .attributes = {{"offset", "FLOATS"}, {"scale", "FLOATS"}},
                .traits = kPointwise,
                .infer = infer_float,
                .reference = scale});
  registry.add({.domain = "ai.onnx.ml",
                .op = "Normalizer",
                .operands = {Role::kData},
                .attributes = {{"norm", "STRING"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_float,
                .reference = normalize});
  registry.add(
      {.domain = "ai.onnx.ml",
       .op = "Binarizer",
       .operands = {Role::kData},
       .attributes = {{"threshold", "FLOAT"}},
       .traits = kPointwise,
       .infer = [](InferContext& context) { context.set_output(0, context.element(0), context.shape(0)); },
       .reference = binarize});
}

}  // namespace vernier::ops
