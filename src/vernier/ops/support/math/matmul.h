// numpy.matmul: products of the last two axes, the others broadcast; a vector counts as a row on the left and
// as a column on the right, and that axis then leaves the result.
#pragma once

#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/math/gemm.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

// The shape of the product, for Shape and Dims; throws bad_input for scalars and sizes that do not meet.
template <class Size>
std::vector<Size> matmul_shape(std::vector<Size> a, std::vector<Size> b) {
  if (a.empty() || b.empty()) throw bad_input("a matrix product of a scalar");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), Size(1));
  if (column) b.push_back(Size(1));
  const Dim left = a.back(), right = b[b.size() - 2];
  if (left.is_constant() && right.is_constant() && left != right) {
    throw bad_input("the inner sizes {} and {} of a matrix product differ", left.text(), right.text());
  }
  std::vector<Size> shape =
      broadcast(std::vector<Size>(a.begin(), a.end() - 2), std::vector<Size>(b.begin(), b.end() - 2));
  if (!row) shape.push_back(a[a.size() - 2]);
  if (!column) shape.push_back(b.back());
  return shape;
}

// Sets output 0 to the shape of the product of inputs 0 and 1.
void infer_matmul(InferContext& context, ElementType result);
double matmul_flops(const Node& node, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs);

// The product; T is double, or int64_t modulo 2^64.
template <class T>
std::vector<T> matmul(std::span<const T> a, Dims a_dims, std::span<const T> b, Dims b_dims);

// An operand of a product, as arithmetic_elements() reads it: floats as factors.
template <class T>
Elements<T> product_operand(const ReferenceContext& context, size_t input) {
  if constexpr (std::is_same_v<T, double>)
    return context.factors(input);
  else
    return arithmetic_elements<T>(context, input);
}

// Calls f(T{}) with double if input 0 or 1 is stored as a float, else with int64_t, in which sums and
// products of every integer type wrap as in their own.
template <class F>
void visit_ring(const ReferenceContext& context, F&& f) {
  if (is_float(context.in(0).type()) || is_float(context.in(1).type()))
    f(double{});
  else
    f(int64_t{});
}

}  // namespace vernier::ops
