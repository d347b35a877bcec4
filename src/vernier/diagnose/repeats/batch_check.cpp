#include "vernier/diagnose/repeats/batch_check.h"

#include <cmath>
#include <cstring>
#include <set>

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

// Compares two lists of equal length; NaN equals NaN.
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

namespace {

// The first axis of all inputs, if it is the same one and may be several rows; 0 else.
int64_t rows_of(const Graph& graph, const NamedData& inputs) {
  constexpr int64_t kRows = 4;
  int64_t rows = 0;
  bool is_free = true;
  for (const Value* input : graph.inputs) {
    const auto found = inputs.find(input->name);
    if (found == inputs.end()) continue;
    if (!found->second.is_tensor() || found->second.tensor.rank() < 1) return 0;
    const auto& shape = input->type.tensor.shape;
    is_free = is_free && shape && !shape->empty() && !shape->front().is_constant();
    const int64_t own = found->second.tensor.dims()[0];
    if (rows != 0 && own != rows) return 0;
    rows = own;
  }
  return rows > 1 ? rows : rows == 1 && is_free ? kRows : 0;
}

NamedData tiled(const NamedData& inputs, int64_t rows) {
  NamedData made;
  for (const auto& [name, datum] : inputs) {
    Dims dims = datum.tensor.dims();
    const auto size = datum.tensor.byte_size() / static_cast<size_t>(dims[0]);
    dims[0] = rows;
    Tensor tensor(datum.tensor.type(), dims);
    auto* to = static_cast<std::byte*>(tensor.mutable_raw());
    const auto* from = static_cast<const std::byte*>(datum.tensor.raw());
    for (int64_t row = 0; row < rows; ++row)
      std::copy(from, from + size, to + static_cast<size_t>(row) * size);
    made[name] = std::move(tensor);
  }
  return made;
}

struct RowDifference {
  int64_t row = 0;
  double largest = 0;
};

// Compares rows with the first one.
std::optional<RowDifference> differing_row(const Tensor& tensor, int64_t rows) {
  if (tensor.rank() < 1 || tensor.dims()[0] != rows || tensor.type() == ElementType::kString ||
      is_complex(tensor.type()) || tensor.size() == 0)
    return std::nullopt;
  const auto values = tensor.to_doubles();
  const size_t size = values.size() / static_cast<size_t>(rows);
  double squares = 0;
  for (size_t i = 0; i < size; ++i) squares += std::isfinite(values[i]) ? values[i] * values[i] : 0;
  const double rms = std::sqrt(squares / static_cast<double>(size));
  RowDifference worst;
  for (size_t i = size; i < values.size(); ++i) {
    const double a = values[i], b = values[i % size];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::isfinite(a - b) ? std::abs(a - b) / (rms > 0 ? rms : 1) : HUGE_VAL;
    if (difference > worst.largest) worst = {static_cast<int64_t>(i / size), difference};
  }
  // Kernels may take the last rows of a batch in another order; roundings grow on their way.
  const double least = is_float(tensor.type()) ? std::sqrt(unit_roundoff(tensor.type())) : 0;
  return worst.largest > least ? std::optional(worst) : std::nullopt;
}

// Inner values whose rows the model itself makes different, as numbers of rows for a Gather are. Nothing if
// it does not treat rows alike.
std::optional<std::set<std::string>> values_of_unlike_rows(const Model& model, const NamedData& inputs,
                                                           int64_t rows) {
  std::set<std::string> unlike;
  InterpreterOptions options;
  options.observe = [&](const Value& value, const Datum& datum) {
    if (datum.is_tensor() && differing_row(datum.tensor, rows)) unlike.insert(value.name);
  };
  for (const Datum& output : run_reference(model, inputs, options).outputs) {
    if (!output.is_tensor() || output.tensor.rank() < 1 || output.tensor.dims()[0] != rows ||
        differing_row(output.tensor, rows))
      return std::nullopt;
  }
  return unlike;
}

}  // namespace

std::optional<UnequalRows> rows_that_differ(const Model& model, EngineUnderTest& tested,
                                            const NamedData& inputs, Stopwatch& watch) {
  const int64_t rows = rows_of(*model.graph, inputs);
  if (rows == 0) return std::nullopt;
  try {
    const NamedData equal = tiled(inputs, rows);
    const auto unlike = values_of_unlike_rows(model, equal, rows);
    if (!unlike) return std::nullopt;
    const NamedData outputs = watch.time("equal rows", 1, [&] { return tested.run(equal); });
    const bool differ = std::any_of(outputs.begin(), outputs.end(), [&](const auto& each) {
      return each.second.is_tensor() && differing_row(each.second.tensor, rows);
    });
    if (!differ) return std::nullopt;
    const ShownRun shown = watch.time("equal rows", 1, [&] { return tested.show(equal); });
    for (const auto& node : shown.graph->nodes()) {
      for (const Value* output : node->outputs) {
        const auto found = output == nullptr ? shown.values.end() : shown.values.find(output->name);
        if (found == shown.values.end() || !found->second.is_tensor() || unlike->contains(output->name))
          continue;
        if (const auto row = differing_row(found->second.tensor, rows))
          return UnequalRows{shown.graph, node.get(), output->name, rows, row->row, row->largest};
      }
    }
  } catch (const Error&) {
    // The engine, or the model, takes no other batch.
  }
  return std::nullopt;
}

}  // namespace vernier
