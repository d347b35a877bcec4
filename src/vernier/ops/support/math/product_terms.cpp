#include "vernier/ops/support/math/product_terms.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/matmul.h"

namespace vernier::ops {

namespace {

// Where in a tensor, whose axes are aligned at the right, a batch of the output reads its matrix.
int64_t matrix_of(int64_t batch, const Dims& output_batch, const Dims& dims) {
  int64_t at = 0, scale = 1;
  for (size_t back = 1; back <= output_batch.size(); ++back) {
    const int64_t size = output_batch[output_batch.size() - back], index = batch % size;
    batch /= size;
    if (back + 2 > dims.size()) continue;
    const int64_t own = dims[dims.size() - 2 - back];
    at += (own == 1 ? 0 : index) * scale;
    scale *= own;
  }
  return at;
}

}  // namespace

std::optional<ProductTerms> ProductTerms::of(const Node& node, const std::vector<Dims>& inputs,
                                             const Dims& output) {
  if (!node.domain.empty() || inputs.size() < 2) return std::nullopt;
  ProductTerms terms;
  terms.sums_ = element_count(output);
  if (node.op == "Conv" && output.size() >= 3) {
    terms.convolution_ = Convolution::of(node, inputs[0], inputs[1]);
    terms.terms_ = terms.convolution_->in_channels * tap_count(terms.convolution_->axes);
  } else if (node.op == "Gemm") {
    terms.set_gemm(node, inputs, output);
  } else if (node.op == "MatMul") {
    terms.set_matmul(inputs[0], inputs[1]);
  } else {
    return std::nullopt;
  }
  return terms;
}

void ProductTerms::set_gemm(const Node& node, const std::vector<Dims>& inputs, const Dims& output) {
  is_gemm_ = true;
  a_transposed_ = integer_attribute(node, "transA") != 0;
  b_transposed_ = integer_attribute(node, "transB") != 0;
  alpha_ = real_attribute(node, "alpha");
  beta_ = real_attribute(node, "beta");
  rows_ = output[0];
  columns_ = output[1];
  terms_ = inputs[0][a_transposed_ ? 0 : 1];
  if (inputs.size() > 2) third_ = inputs[2];
}

void ProductTerms::set_matmul(Dims a, Dims b) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const Dims shape = matmul_shape(a, b);
  batches_ = Dims(shape.begin(), shape.end() - 2);
  rows_ = a.end()[-2];
  columns_ = b.back();
  terms_ = a.back();
  a_ = std::move(a);
  b_ = std::move(b);
}

ProductTerms::Row ProductTerms::row_of(int64_t sum) const {
  const int64_t matrix = sum / (rows_ * columns_), m = sum / columns_ % rows_, n = sum % columns_;
  if (is_gemm_)
    return {a_transposed_ ? m : m * terms_, b_transposed_ ? n * terms_ : n, a_transposed_ ? rows_ : 1,
            b_transposed_ ? 1 : columns_};
  return {(matrix_of(matrix, batches_, a_) * rows_ + m) * terms_,
          matrix_of(matrix, batches_, b_) * terms_ * columns_ + n, 1, columns_};
}

double ProductTerms::finished(int64_t sum, double value, const double* third) const {
  if (convolution_) {
    if (third == nullptr) return value;
    return value + third[sum / output_count(convolution_->axes) % convolution_->all_out_channels()];
  }
  if (!is_gemm_) return value;
  value *= alpha_;
  if (third == nullptr) return value;
  const int64_t m = sum / columns_, n = sum % columns_;  // operand 2 is broadcast from the right
  const int64_t columns = third_.empty() ? 1 : third_.back(), rows = third_.size() < 2 ? 1 : third_[0];
  return value + beta_ * third[(rows == 1 ? 0 : m) * columns + (columns == 1 ? 0 : n)];
}

}  // namespace vernier::ops
