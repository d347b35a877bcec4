#include "vernier/ops/support/nn/channels_last.h"

namespace vernier::ops {

namespace {

// [n, rows, columns] -> [n, columns, rows]
std::vector<double> transposed(std::span<const double> values, int64_t batch, int64_t rows, int64_t columns) {
  std::vector<double> result(values.size());
  for (int64_t n = 0; n < batch; ++n) {
    const double* from = values.data() + n * rows * columns;
    double* to = result.data() + n * rows * columns;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column)
        to[column * rows + row] = from[row * columns + column];
    }
  }
  return result;
}

}  // namespace

std::vector<double> to_channels_first(std::span<const double> values, const Dims& dims) {
  if (values.empty()) return {};
  return transposed(values, dims[0], static_cast<int64_t>(values.size()) / (dims[0] * dims.back()),
                    dims.back());
}

std::vector<double> to_channels_last(std::span<const double> values, const Dims& dims) {
  if (values.empty()) return {};
  return transposed(values, dims[0], dims[1], static_cast<int64_t>(values.size()) / (dims[0] * dims[1]));
}

void infer_channels_last(InferContext& context, void (*infer)(InferContext&)) {
  ValueInfo image = context.info(0);
  auto& shape = image.type.tensor.shape;
  if (shape && shape->size() < 3) throw bad_input("{} is no image", shape_text(*shape));
  if (shape) shape = channels_first(*shape);
  image.constant.reset();
  std::vector<const ValueInfo*> inputs{&image};
  for (size_t i = 1; i < context.input_count(); ++i)
    inputs.push_back(context.has(i) ? &context.info(i) : nullptr);
  InferContext rotated(context.node(), std::move(inputs));
  infer(rotated);
  auto result = rotated.outputs()[0].type;
  if (result.tensor.shape) result.tensor.shape = channels_last(*result.tensor.shape);
  context.set_type(0, std::move(result));
}

}  // namespace vernier::ops
