#include "vernier/compare/scalar.h"

#include <type_traits>

namespace vernier {

Scalar scalar_at(const Tensor& tensor, int64_t index) {
  return visit_element_type(tensor.type(), [&]<class T>(TypeTag<T>) -> Scalar {
    const T& element = tensor.values<T>()[static_cast<size_t>(index)];
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool> || std::is_same_v<T, uint64_t>) {
      return element;
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      return std::complex<double>(element);
    } else if constexpr (std::is_integral_v<T> || requires { T::kMax; }) {
      return static_cast<int64_t>(element);
    } else {
      return static_cast<double>(element);
    }
  });
}

std::string scalar_text(const Scalar& scalar) {
  return std::visit(
      []<class T>(const T& value) {
        if constexpr (std::is_same_v<T, double>)
          return fmt::format("{:.9g}", value);
        else if constexpr (std::is_same_v<T, std::string>)
          return fmt::format("'{}'", value);
        else if constexpr (std::is_same_v<T, std::complex<double>>)
          return fmt::format("{:.9g}{:+.9g}i", value.real(), value.imag());
        else
          return fmt::format("{}", value);
      },
      scalar);
}

}  // namespace vernier
