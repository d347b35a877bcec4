#include "vernier/diagnose/repeats/batch_check.h"

#include <cmath>
#include <set>

namespace vernier {

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

// Of rows against the first one.
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

std::optional<UnequalRows> rows_that_differ(const Model& model, Subject& subject, const NamedData& inputs,
                                            Stopwatch& watch) {
  const int64_t rows = rows_of(*model.graph, inputs);
  if (rows == 0) return std::nullopt;
  try {
    const NamedData equal = tiled(inputs, rows);
    const auto unlike = values_of_unlike_rows(model, equal, rows);
    if (!unlike) return std::nullopt;
    const NamedData outputs = watch.time("equal rows", 1, [&] { return subject.run(equal); });
    const bool differ = std::any_of(outputs.begin(), outputs.end(), [&](const auto& each) {
      return each.second.is_tensor() && differing_row(each.second.tensor, rows);
    });
    if (!differ) return std::nullopt;
    const ShownRun shown = watch.time("equal rows", 1, [&] { return subject.show(equal); });
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
