#include "vernier/diagnose/causes/distance.h"

#include <cmath>

namespace vernier {

namespace {

bool counts(const Tensor& tensor) {
  return tensor.is_defined() && tensor.type() != ElementType::kString && !is_complex(tensor.type());
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

double difference(double a, double b, double most, double allowed) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= allowed) return 0;
  const double between = std::abs(a - b) - (std::isfinite(allowed) ? allowed : 0);
  return between < most ? between : most;  // NaN is most
}

}  // namespace

double bounded_distance(const Tensors& results, const Tensors& other, const Tensors& right,
                        const std::vector<std::vector<double>>& allowed) {
  double sum = 0, elements = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!counts(results[i]) || !counts(other[i]) || !counts(right[i])) continue;
    if (results[i].dims() != other[i].dims()) return HUGE_VAL;
    const auto a = results[i].to_doubles(), b = other[i].to_doubles();
    const double largest = largest_of(right[i].to_doubles()), most = 10 * (largest > 0 ? largest : 1);
    // Outputs count alike, whatever their magnitude.
    const bool allows = i < allowed.size() && allowed[i].size() == a.size();
    for (size_t k = 0; k < a.size(); ++k) {
      const double part = difference(a[k], b[k], most, allows ? allowed[i][k] : 0) / most;
      sum += part * part;
    }
    elements += static_cast<double>(a.size());
  }
  return elements > 0 ? std::sqrt(sum / elements) : 0;
}

double bounded_distance(const NamedData& results, const NamedData& other, const NamedData& right) {
  Tensors a, b, c;
  for (const auto& [name, datum] : right) {
    if (!datum.is_tensor()) continue;
    const auto first = results.find(name), second = other.find(name);
    if (first == results.end() || second == other.end()) return HUGE_VAL;
    if (!first->second.is_tensor() || !second->second.is_tensor()) return HUGE_VAL;
    a.push_back(first->second.tensor);
    b.push_back(second->second.tensor);
    c.push_back(datum.tensor);
  }
  return bounded_distance(a, b, c);
}

}  // namespace vernier
