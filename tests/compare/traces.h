// Traces made by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vernier/compare/compare.h"

namespace vernier {

inline Tensor floats(const std::vector<double>& values, ElementType type = ElementType::kFloat) {
  return Tensor::from_doubles(type, {static_cast<int64_t>(values.size())}, values);
}

inline TraceEntry output(std::string value, Datum datum) {
  TraceEntry entry;
  entry.value = std::move(value);
  if (datum.is_tensor()) entry.declared = datum.tensor.type();
  entry.datum = std::move(datum);
  entry.is_output = true;
  return entry;
}

inline TraceEntry inner(std::string value, Datum datum, std::vector<std::string> nodes = {}) {
  TraceEntry entry = output(std::move(value), std::move(datum));
  entry.is_output = false;
  entry.nodes = std::move(nodes);
  return entry;
}

inline Trace trace(std::string runner, std::vector<TraceEntry> entries, size_t sample = 0) {
  Trace result;
  result.run_id = runner + "#1";
  result.runner = std::move(runner);
  result.sample = sample;
  result.entries = std::move(entries);
  return result;
}

// One output `y` on both sides, judged.
inline ComparisonResult judge(Datum reference, Datum actual, const CompareOptions& options = {}) {
  return compare(trace("reference", {output("y", std::move(reference))}),
                 trace("engine", {output("y", std::move(actual))}), options);
}

inline std::string all_reasons(const ComparisonResult& result) {
  std::string text;
  for (const std::string& reason : result.reasons) text += reason + "\n";
  for (const TensorComparison& tensor : result.tensors) {
    for (const std::string& reason : tensor.reasons) text += tensor.value + ": " + reason + "\n";
  }
  return text;
}

}  // namespace vernier
