#include "vernier/report/report.h"

#include <cmath>

#include "vernier/report/text_table.h"

namespace vernier {

Verdict Report::verdict() const {
  Verdict result = comparisons.empty() ? Verdict::kNotCompared : Verdict::kPass;
  for (const ComparisonResult& comparison : comparisons) result = worst(result, comparison.verdict);
  return result;
}

namespace {

constexpr size_t kNameWidth = 40, kTextWidth = 200;

std::string number(double value) {
  return fmt::format("{:.3g}", value);
}

// Never rounds a similarity below 1 up to 1.
std::string cosine_text(const Distances& distances) {
  const bool rounds_up = distances.cosine >= 0.999999995 && distances.max_abs > 0;
  return rounds_up ? ">0.9999999" : fmt::format("{:.7f}", distances.cosine);
}

// Rounded up, so that the number as printed is enough.
std::string enough(double value) {
  if (!(value > 0) || std::isinf(value)) return number(value);
  const double step = std::pow(10.0, std::floor(std::log10(value)) - 2);
  if (!(step > 0)) return fmt::format("{}", value);
  double steps = std::ceil(value / step);
  while (std::stod(number(steps * step)) < value) ++steps;
  return number(steps * step);
}

std::string percent(const std::optional<double>& fraction) {
  if (!fraction) return "-";
  // 99.96 % must not read as agreement of all.
  const double tenths = std::floor(*fraction * 1000) / 10;
  return fmt::format("{:.1f}%", tenths);
}

std::string join(const std::vector<std::string>& texts, std::string_view separator) {
  return fmt::format("{}", fmt::join(texts, separator));
}

class TextReport {
 public:
  explicit TextReport(const ReportTextOptions& options) : options_(options) {}

  std::string text(const Report& report) {
    if (options_.preamble) {
      add_settings("options", report.options);
      add_settings("environment", report.environment);
    }
    for (const auto& [input, source] : report.drawn)
      line("random input {}: {}", printable(input, kNameWidth), printable(source, kTextWidth));
    if (!report.drawn.empty()) add_list("sample:", report.samples);
    add_list("note:", report.notes);
    add_list("size not taken:", report.withdrawn);
    for (const ComparisonResult& comparison : report.comparisons) add_comparison(comparison);
    for (const std::string& failure : report.failures) line("! {}", failure);
    for (const auto& [value, floor] : report.noise) {
      line("noise: {} moves by {} (relative L2) under rounding noise", printable(value, kNameWidth),
           number(floor));
    }
    for (const AccuracyLine& each : report.accuracies) {
      line("top-1 accuracy of {}: {:.2f} % ({}/{})", printable(each.runner, kNameWidth),
           100.0 * static_cast<double>(each.right) / static_cast<double>(std::max<int64_t>(each.rows, 1)),
           each.right, each.rows);
    }
    line("verdict: {}{}", verdict(report.verdict()),
         report.comparisons.empty() ? " (there is no comparison)" : "");
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string verdict(Verdict verdict) const {
    std::string name(verdict_name(verdict));
    if (!options_.colour) return name;
    const int colour = verdict == Verdict::kPass ? 32 : verdict == Verdict::kFail ? 31 : 33;
    return fmt::format("\x1b[{}m{}\x1b[0m", colour, name);
  }

  void add_settings(std::string_view title, const std::map<std::string, std::string>& settings) {
    if (settings.empty()) return;
    line("{}", title);
    for (const auto& [key, value] : settings)
      line("  {}: {}", printable(key, kTextWidth), printable(value, kTextWidth));
    line("");
  }

  void add_list(std::string_view title, const std::vector<std::string>& items) {
    const size_t shown = std::min(items.size(), options_.max_rows);
    for (size_t i = 0; i < shown; ++i) line("{} {}", title, printable(items[i], kTextWidth));
    if (shown < items.size()) line("{} {} more", title, items.size() - shown);
  }

  void add_comparison(const ComparisonResult& comparison) {
    line("{} against {}: {}  ({} sample{}{})", printable(comparison.actual, kNameWidth),
         printable(comparison.reference, kNameWidth), verdict(comparison.verdict), comparison.samples,
         comparison.samples == 1 ? "" : "s", comparison.random_data ? ", random data alone" : "");
    for (const std::string& reason : comparison.reasons) line("  ! {}", printable(reason, kTextWidth));
    for (const std::string& note : comparison.notes) line("  note: {}", printable(note, kTextWidth));
    if (comparison.first_difference) add_first_difference(comparison.tensors[*comparison.first_difference]);
    if (!comparison.tensors.empty()) add_tensors(comparison.tensors);
    line("");
  }

  void add_first_difference(const TensorComparison& first) {
    const std::string nodes = first.nodes.empty() ? "an unnamed node" : join(first.nodes, ", ");
    line("  first difference: {}, made by {}", printable(first.value, kNameWidth),
         printable(nodes, kTextWidth));
    if (first.worst) add_worst(*first.worst);
  }

  void add_tensors(const std::vector<TensorComparison>& tensors) {
    std::vector<const TensorComparison*> order;
    order.reserve(tensors.size());
    for (const TensorComparison& tensor : tensors) order.push_back(&tensor);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      if (a->verdict != b->verdict) return a->verdict > b->verdict;
      return a->is_output && !b->is_output;
    });
    TextTable table({"verdict", "value", "type", "dims", "max abs", "mean abs", "rmse", "rel L2", "cosine",
                     "SQNR dB", "max ulp", "argmax", "top-k", "outside"},
                    4);
    const size_t shown = std::min(order.size(), options_.max_rows);
    for (size_t i = 0; i < shown; ++i) table.add(row(*order[i]));
    text_ += table.text(2);
    if (shown < order.size()) line("  … and {} more, none of them worse", order.size() - shown);
    size_t explained = 0;
    for (const TensorComparison* tensor : order) {
      // A pass of what is outside the tolerance rests on something.
      const bool needs_reasons =
          tensor->verdict != Verdict::kPass || !tensor->decisions.empty() || tensor->metrics.mismatching > 0;
      if (needs_reasons && explained++ < options_.max_details) add_details(*tensor);
    }
  }

  std::vector<std::string> row(const TensorComparison& tensor) const {
    const Metrics& metrics = tensor.metrics;
    std::vector<std::string> cells{std::string(verdict_name(tensor.verdict)),
                                   printable(tensor.value, kNameWidth) + (tensor.is_output ? "" : " (inner)"),
                                   std::string(element_type_short_name(tensor.type)),
                                   tensor.metrics.elements > 0 ? dims_text(tensor.dims) : "-"};
    if (metrics.distances) {
      const Distances& d = *metrics.distances;
      for (double value : {d.max_abs, d.mean_abs, d.rmse, d.relative_l2}) cells.push_back(number(value));
      cells.push_back(cosine_text(d));
      cells.push_back(fmt::format("{:.1f}", d.sqnr_db));
      cells.push_back(d.max_ulp ? number(*d.max_ulp) : "-");
    } else {
      cells.insert(cells.end(), 7, "-");
    }
    cells.push_back(percent(metrics.argmax_agreement));
    cells.push_back(percent(metrics.top_k_agreement));
    cells.push_back(fmt::format("{}/{}", metrics.mismatching, metrics.elements));
    return cells;
  }

  void add_details(const TensorComparison& tensor) {
    line("  {}: {}", printable(tensor.value, kNameWidth), verdict(tensor.verdict));
    for (const std::string& reason : tensor.reasons) line("    - {}", printable(reason, kTextWidth));
    const Tolerance& tolerance = tensor.tolerance;
    if (tensor.metrics.elements == 0) return;
    line("    tolerance: |a-b| <= {} + {} * |ref| ({})", tolerance.atol, tolerance.rtol,
         printable(tolerance.source, kTextWidth));
    if (tensor.metrics.distances) {
      line("    would need: atol {} at this rtol, or rtol {} at this atol",
           enough(tensor.metrics.distances->required_atol), enough(tensor.metrics.distances->required_rtol));
    }
    if (tensor.samples > 1) line("    failed in {} of {} samples", tensor.failed_samples, tensor.samples);
    if (tensor.worst) add_worst(*tensor.worst);
    if (tensor.metrics.histogram) add_histogram(*tensor.metrics.histogram);
  }

  void add_worst(const WorstElement& worst) {
    line("    worst: {}{} of sample {}: expected {}, got {}", worst.part, dims_text(worst.index),
         worst.sample, printable(scalar_text(worst.expected), kNameWidth),
         printable(scalar_text(worst.actual), kNameWidth));
  }

  void add_histogram(const ErrorHistogram& histogram) {
    std::vector<std::string> bins;
    if (histogram.exact > 0) bins.push_back(fmt::format("0: {}", histogram.exact));
    for (size_t i = 0; i < histogram.decades.size(); ++i) {
      const int decade = ErrorHistogram::kFirstDecade + static_cast<int>(i);
      if (histogram.decades[i] > 0) bins.push_back(fmt::format("1e{}: {}", decade, histogram.decades[i]));
    }
    if (histogram.not_finite > 0) bins.push_back(fmt::format("NaN or Inf: {}", histogram.not_finite));
    if (!bins.empty()) line("    errors from: {}", join(bins, " · "));
  }

  const ReportTextOptions& options_;
  std::string text_;
};

}  // namespace

std::string report_text(const Report& report, const ReportTextOptions& options) {
  return TextReport(options).text(report);
}

}  // namespace vernier
