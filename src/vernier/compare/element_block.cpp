#include "vernier/compare/element_block.h"

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

namespace vernier {

namespace {

template <class T>
std::complex<double> complex_at(const Tensor& tensor, int64_t index) {
  return std::complex<double>(tensor.values<T>()[static_cast<size_t>(index)]);
}

std::complex<double> read_complex(const Tensor& tensor, int64_t index) {
  return tensor.type() == ElementType::kComplex64 ? complex_at<std::complex<float>>(tensor, index)
                                                  : complex_at<std::complex<double>>(tensor, index);
}

// std::abs says Inf for (Inf, NaN); here a NaN is a NaN.
double magnitude(std::complex<double> value) {
  const bool nan = std::isnan(value.real()) || std::isnan(value.imag());
  return nan ? std::numeric_limits<double>::quiet_NaN() : std::abs(value);
}

void load_complex(ElementBlock& block, const Tensor& reference, const Tensor& actual) {
  for (int64_t i = 0; i < block.count; ++i) {
    const auto at = static_cast<size_t>(i);
    const std::complex<double> r = read_complex(reference, block.first + i),
                               a = read_complex(actual, block.first + i);
    block.reference[at] = magnitude(r);
    block.actual[at] = magnitude(a);
    block.error[at] = r == a ? 0 : magnitude(a - r);
    block.product[at] = r.real() * a.real() + r.imag() * a.imag();
  }
}

// The difference of two 64-bit integers fits 64 unsigned bits, and is not zero as double unless it is zero.
template <class T>
void exact_errors(ElementBlock& block, const Tensor& reference, const Tensor& actual) {
  const T* r = reference.values<T>().data() + block.first;
  const T* a = actual.values<T>().data() + block.first;
  for (size_t i = 0; i < static_cast<size_t>(block.count); ++i) {
    const auto high = static_cast<uint64_t>(std::max(r[i], a[i])),
               low = static_cast<uint64_t>(std::min(r[i], a[i]));
    block.error[i] = static_cast<double>(high - low);
  }
}

}  // namespace

void read_reals(const Tensor& tensor, int64_t first, std::span<double> out) {
  visit_element_type(tensor.type(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      throw internal_error("a tensor of {} has no real values", element_type_name(tensor.type()));
    } else {
      const T* from = tensor.values<T>().data() + first;
      for (size_t i = 0; i < out.size(); ++i) {
        if constexpr (requires { T::kMax; })
          out[i] = from[i].value;
        else
          out[i] = static_cast<double>(from[i]);
      }
    }
  });
}

void ElementBlock::load(const Tensor& reference_tensor, const Tensor& actual_tensor, int64_t begin,
                        int64_t length) {
  first = begin;
  count = length;
  const auto size = static_cast<size_t>(count);
  if (is_complex(reference_tensor.type())) return load_complex(*this, reference_tensor, actual_tensor);
  read_reals(reference_tensor, first, std::span(reference).first(size));
  read_reals(actual_tensor, first, std::span(actual).first(size));
  for (size_t i = 0; i < size; ++i) {
    error[i] = reference[i] == actual[i] ? 0 : std::abs(actual[i] - reference[i]);
    product[i] = reference[i] * actual[i];
  }
  const bool same_type = reference_tensor.type() == actual_tensor.type();
  if (same_type && actual_tensor.type() == ElementType::kInt64)
    exact_errors<int64_t>(*this, reference_tensor, actual_tensor);
  if (same_type && actual_tensor.type() == ElementType::kUint64)
    exact_errors<uint64_t>(*this, reference_tensor, actual_tensor);
}

}  // namespace vernier
