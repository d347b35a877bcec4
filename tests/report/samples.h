// A report in which everything that a report can say occurs.
#pragma once

#include <complex>
#include <limits>

#include "vernier/report/report.h"

namespace vernier {

inline TraceEntry entry(std::string value, Datum datum, bool is_output, std::vector<std::string> nodes = {}) {
  TraceEntry result;
  result.value = std::move(value);
  result.declared = datum.is_tensor() ? datum.tensor.type() : ElementType::kUndefined;
  result.datum = std::move(datum);
  result.is_output = is_output;
  result.nodes = std::move(nodes);
  return result;
}

inline Tensor reals(Dims dims, std::vector<double> values, ElementType type = ElementType::kFloat) {
  return Tensor::from_doubles(type, std::move(dims), values);
}

inline Trace run_of(const std::string& runner, std::vector<TraceEntry> entries) {
  Trace trace;
  trace.runner = trace.run_id = runner;
  trace.entries = std::move(entries);
  return trace;
}

inline ComparisonResult passing_comparison() {
  const std::vector<TraceEntry> entries{entry("logits", reals({1, 3}, {1, 2, 3}), true, {"Gemm_4"})};
  return compare(run_of("reference", entries), run_of("engine", entries));
}

inline ComparisonResult tied_comparison() {
  const std::vector<TraceEntry> entries{entry("boxes", reals({1, 3}, {1, 2, 3}), true, {"Gather_9"})};
  Comparison comparison;
  comparison.add(run_of("reference", entries), run_of("engine", entries),
                 {{"boxes", {{"TopK_7", "TopK", 0.731, 0.7309, 1.2e-7, 2.3e-7, 2}}}});
  return comparison.result();
}

inline ComparisonResult failing_comparison() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   inf = std::numeric_limits<double>::infinity();
  using Complex = std::complex<float>;
  const auto words = [](const char* word) {
    return Tensor::from<std::string>(ElementType::kString, {1}, {word});
  };
  const auto waves = [](Complex wave) { return Tensor::from<Complex>(ElementType::kComplex64, {1}, {wave}); };
  const auto tokens = [](uint64_t token) {
    return Tensor::from<uint64_t>(ElementType::kUint64, {1}, {token});
  };
  Trace reference =
      run_of("reference",
             {entry("conv", reals({2}, {1, 2}), false, {"Conv_0"}), entry("fused", reals({1}, {1}), false),
              entry("logits", reals({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), true, {"Gemm_4"}),
              entry("nans", reals({2}, {inf, 1}), true), entry("word \xff\x1b[31m", words("a"), true),
              entry("wave", waves({1, 2}), true), entry("token", tokens(~uint64_t{0}), true),
              entry("flag", Tensor::from<bool>(ElementType::kBool, {1}, {true}), true),
              entry("list", Datum::of_sequence({Datum(reals({1}, {1}))}), true),
              entry("gone", reals({1}, {1}), true), entry("empty", reals({0}, {}), true),
              entry("zero", reals({1}, {0}), true)});
  Trace actual = reference;
  actual.runner = actual.run_id = "engine";
  actual.notes = {"taps added outputs to the graph"};
  actual.entries[0].datum = reals({2}, {1, 3});
  actual.entries[0].nodes = {"Conv_0", "Relu_1"};
  actual.entries[2].datum = reals({1, 8}, {1, 2, 3, 4, 5, 6, 8, 7});
  actual.entries[3].datum = reals({2}, {-inf, nan});
  actual.entries[4].datum = words("b");
  actual.entries[5].datum = waves({1, 3});
  actual.entries[6].datum = tokens(1);
  actual.entries[8].datum = reals({1}, {1});
  actual.entries.erase(actual.entries.begin() + 9);  // "gone"
  actual.entries.erase(actual.entries.begin() + 1);  // "fused"
  CompareOptions options;
  options.random_data = true;
  options.tolerances.atol.parse("logits:1e-3");
  return compare(reference, actual, options);
}

inline Report sample_report() {
  return {.command = "run",
          .options = {{"--atol", "logits:1e-3"}, {"--seed", "1"}},
          .environment = {{"cpu", "Xeon"}, {"model", "0123abcd"}},
          .comparisons = {passing_comparison(), failing_comparison(), tied_comparison()}};
}

}  // namespace vernier
