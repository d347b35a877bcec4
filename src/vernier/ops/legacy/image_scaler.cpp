// ImageScaler: scale * x + bias of the channel, for images [batch, channels, height, width]. An experimental
// operator of the first opsets, which ONNX removed and ONNX Runtime still runs.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_image_scaler(InferContext& context) {
  const auto& x = context.shape(0);
  if (x && x->size() != 4) throw bad_input("ImageScaler takes images of 4 axes, not {}", shape_text(*x));
  context.set_output(0, context.element(0), x);
}

void reference_image_scaler(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const double scale = context.attribute<float>("scale", 1);
  const auto bias = context.attribute<std::vector<float>>("bias", {});
  if (std::ssize(bias) != dims[1])
    throw bad_input("ImageScaler has {} biases for {} channels", bias.size(), dims[1]);
  const auto x = context.reals(0);
  const int64_t plane = dims[2] * dims[3];
  std::vector<double> y(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i)
    y[static_cast<size_t>(i)] =
        scale * x[i] + static_cast<double>(bias[static_cast<size_t>(i / plane % dims[1])]);
  context.store(0, dims, y);
}

}  // namespace

void register_image_scaler(OpRegistry& registry) {
  registry.add({.op = "ImageScaler",
                .operands = {Role::kData},
                .attributes = {{"scale", "FLOAT"}, {"bias", "FLOATS"}},
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_image_scaler,
                .reference = reference_image_scaler});
}

}  // namespace vernier::ops
