// One element of a tensor, for people and reports.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>

#include "vernier/tensor/tensor.h"

namespace vernier {

using Scalar = std::variant<double, int64_t, uint64_t, bool, std::complex<double>, std::string>;

// `index` counts elements in row-major order and must lie inside the tensor.
Scalar scalar_at(const Tensor& tensor, int64_t index);
// At most nine significant digits; "nan", "inf", "-inf"; strings in quotes.
std::string scalar_text(const Scalar& scalar);

}  // namespace vernier
