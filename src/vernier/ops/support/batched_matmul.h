// numpy.matmul in double: matrix products over broadcast batches; an argument of rank 1 is a row or a column.
#pragma once

#include <vector>

#include "vernier/tensor/tensor_type.h"

namespace vernier::ops {

// The shape of the product; throws bad_input where the shapes cannot be multiplied.
Shape matmul_shape(const Shape& a, const Shape& b);

std::vector<double> batched_matmul(const double* a, const Dims& a_dims, const double* b, const Dims& b_dims);

}  // namespace vernier::ops
