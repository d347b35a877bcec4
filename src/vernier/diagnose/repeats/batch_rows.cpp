#include "vernier/diagnose/repeats/batch_rows.h"

#include <cmath>
#include <cstring>

namespace vernier {

namespace {

// The tensor with row `from(i)` in place of row i.
template <class From>
Tensor with_rows(const Tensor& tensor, const From& from) {
  const auto rows = static_cast<size_t>(tensor.dims()[0]);
  if (tensor.size() == 0 || tensor.type() == ElementType::kString) return tensor;
  const size_t bytes = tensor.byte_size() / rows;
  if (bytes * rows != tensor.byte_size()) return tensor;  // elements smaller than a byte
  Tensor result(tensor.type(), tensor.dims());
  auto* to = static_cast<std::byte*>(result.mutable_raw());
  const auto* at = static_cast<const std::byte*>(tensor.raw());
  for (size_t i = 0; i < rows; ++i) std::memcpy(to + i * bytes, at + from(i, rows) * bytes, bytes);
  return result;
}

template <class From>
NamedData with_rows(const NamedData& data, const From& from) {
  NamedData result = data;
  for (auto& [name, datum] : result) {
    if (datum.is_tensor() && datum.tensor.rank() > 0) datum = with_rows(datum.tensor, from);
  }
  return result;
}

// Of two equal lists; both NaN is equal.
void keep_largest(const std::vector<double>& a, const std::vector<double>& b, double& difference,
                  double& largest) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
      if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
      continue;
    }
    const double between = std::abs(a[i] - b[i]);
    difference = std::isnan(between) ? HUGE_VAL : std::max(difference, between);
    if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
  }
}

double relative(double difference, double largest) {
  return difference == 0 ? 0 : largest > 0 ? difference / largest : HUGE_VAL;
}

bool is_number(const Datum& datum) {
  return datum.is_tensor() && datum.tensor.is_defined() && datum.tensor.type() != ElementType::kString &&
         !is_complex(datum.tensor.type());
}

}  // namespace

bool has_batch(const Model& model, const NamedData& inputs) {
  int64_t rows = 0;
  for (const auto& [name, datum] : inputs) {
    if (!datum.is_tensor() || datum.tensor.rank() == 0) return false;
    if (rows == 0) rows = datum.tensor.dims()[0];
    if (datum.tensor.dims()[0] != rows) return false;
  }
  if (rows < 2) return false;
  std::optional<Dim> batch;
  for (const Value* input : model.graph->inputs) {
    if (!inputs.contains(input->name) || !input->type.is_tensor() || !input->type.tensor.shape) return false;
    const Dim& first = input->type.tensor.shape->at(0);
    if (batch && !(*batch == first)) return false;
    batch = first;
  }
  for (const Value* output : model.graph->outputs) {
    if (!output->type.is_tensor() || !output->type.tensor.shape || output->type.tensor.shape->empty())
      return false;
    if (!batch || !(output->type.tensor.shape->at(0) == *batch)) return false;
  }
  return true;
}

NamedData all_as_first_row(const NamedData& data) {
  return with_rows(data, [](size_t, size_t) { return size_t{0}; });
}

NamedData with_rows_reversed(const NamedData& data) {
  return with_rows(data, [](size_t i, size_t rows) { return rows - 1 - i; });
}

double spread_of_rows(const NamedData& data) {
  return distance_of(all_as_first_row(data), data);
}

double distance_of(const NamedData& expected, const NamedData& actual) {
  double worst = 0;
  for (const auto& [name, datum] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end() || !is_number(datum) || !is_number(found->second)) continue;
    if (datum.tensor.dims() != found->second.tensor.dims()) return HUGE_VAL;
    double difference = 0, largest = 0;
    keep_largest(datum.tensor.to_doubles(), found->second.tensor.to_doubles(), difference, largest);
    worst = std::max(worst, relative(difference, largest));
  }
  return worst;
}

}  // namespace vernier
