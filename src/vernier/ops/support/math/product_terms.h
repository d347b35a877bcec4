// The products that each sum of a MatMul, Gemm or Conv consists of, one after the other: for whoever needs
// the order in which they are added up.
#pragma once

#include <optional>

#include "vernier/ir/graph.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::ops {

class ProductTerms {
 public:
  // `inputs` are the sizes of the operands; those of operand 2 count if it is there. Nothing for other nodes.
  static std::optional<ProductTerms> of(const Node& node, const std::vector<Dims>& inputs,
                                        const Dims& output);

  int64_t sums() const { return sums_; }    // one for each element of the output
  int64_t terms() const { return terms_; }  // of a sum; of a convolution at a border some are left out
  // Calls body(a, b) with the places of the factors in operands 0 and 1, in the order of operand 1.
  template <class Body>
  void visit(int64_t sum, const Body& body) const {
    if (convolution_) return visit_window(sum, body);
    const Row row = row_of(sum);
    for (int64_t k = 0; k < terms_; ++k) body(row.a + k * row.a_stride, row.b + k * row.b_stride);
  }
  // Gives what the node makes of an accumulator: `third` is operand 2, null if it is left out.
  double finished(int64_t sum, double value, const double* third) const;

 private:
  struct Row {
    int64_t a, b, a_stride, b_stride;
  };
  ProductTerms() = default;
  void set_gemm(const Node& node, const std::vector<Dims>& inputs, const Dims& output);
  void set_matmul(Dims a, Dims b);
  Row row_of(int64_t sum) const;
  template <class Body>
  void visit_window(int64_t sum, const Body& body) const {
    const WindowAxes& axes = convolution_->axes;
    const int64_t taps = tap_count(axes), plane = input_count(axes), windows = output_count(axes);
    const int64_t last_taps = axes.back().kernel, last_windows = axes.back().output, window = sum % windows;
    const int64_t channels = convolution_->all_out_channels(), channel = sum / windows % channels,
                  batch = sum / (windows * channels), group = channel / convolution_->out_channels;
    const int64_t image = (batch * convolution_->groups + group) * convolution_->in_channels * plane;
    for (int64_t k = 0; k < terms_; ++k) {
      const int64_t tap = k % taps, row = input_row(axes, window / last_windows, tap / last_taps),
                    column = axes.back().at(window % last_windows, tap % last_taps);
      if (row < 0 || column < 0 || column >= axes.back().input) continue;
      body(image + k / taps * plane + row * axes.back().input + column, channel * terms_ + k);
    }
  }

  int64_t sums_ = 0, terms_ = 0;
  std::optional<Convolution> convolution_;
  // A matrix product has these.
  Dims a_, b_, batches_;
  int64_t rows_ = 1, columns_ = 1;
  // Gemm has these.
  bool is_gemm_ = false, a_transposed_ = false, b_transposed_ = false;
  double alpha_ = 1, beta_ = 1;
  Dims third_;
};

}  // namespace vernier::ops
