#include "vernier/cli/polygraphy/closing_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "vernier/cli/process_end.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

constexpr size_t kLongestName = 200;

std::string quoted(const std::string& name) {
  return "'" + printable(name, kLongestName) + "'";
}

// As Python prints a list of names.
std::string list_of(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(quoted(name));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

// Inner values can only fail: what else is to be said of them counts for nothing.
bool counts(const TensorComparison& tensor) {
  return tensor.is_output || tensor.verdict == Verdict::kFail;
}

std::string output_line(const TensorComparison& output) {
  const std::string tolerance = fmt::format("(rel={}, abs={})", output.tolerance.rtol, output.tolerance.atol);
  if (output.verdict == Verdict::kPass)
    return polygraphy_line('I', fmt::format("        PASSED | Output: {} | Difference is within tolerance {}",
                                            quoted(output.value), tolerance));
  const bool is_beyond = output.verdict == Verdict::kFail && output.metrics.mismatching > 0;
  const std::string why = is_beyond                ? "Difference exceeds tolerance " + tolerance
                          : output.reasons.empty() ? std::string(verdict_name(output.verdict))
                                                   : output.reasons.front();
  return polygraphy_line(counts(output) ? 'E' : 'W',
                         fmt::format("        {} | Output: {} | {}", counts(output) ? "FAILED" : "SKIPPED",
                                     quoted(output.value), why));
}

// Samples of which every output passed. What no single sample is to blame for counts against all.
size_t passed_samples(const ComparisonResult& comparison) {
  if (comparison.verdict == Verdict::kPass) return comparison.samples;
  std::set<size_t> failing;
  size_t most = 0;  // the judge of a value names the first of its failing samples, and counts all
  bool is_of_samples = comparison.reasons.empty();
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.verdict == Verdict::kPass || !counts(tensor)) continue;
    is_of_samples = is_of_samples && tensor.failed_samples > 0;
    failing.insert(tensor.failing.begin(), tensor.failing.end());
    most = std::max(most, tensor.failed_samples);
  }
  const size_t failed = std::max(failing.size(), most);
  return is_of_samples && failed > 0 ? comparison.samples - std::min(failed, comparison.samples) : 0;
}

std::string comparison_text(const ComparisonResult& comparison) {
  const std::string pair =
      printable(comparison.actual, kLongestName) + " vs. " + printable(comparison.reference, kLongestName);
  std::string text = polygraphy_line('I', "Accuracy Comparison | " + pair);
  std::vector<std::string> matched, mismatched;
  for (const TensorComparison& tensor : comparison.tensors) {
    text += output_line(tensor);
    if (tensor.verdict == Verdict::kPass)
      matched.push_back(tensor.value);
    else if (counts(tensor))
      mismatched.push_back(tensor.value);
  }
  for (const std::string& reason : comparison.reasons)
    text += polygraphy_line('E', "    FAILED | " + printable(reason, kLongestName));
  if (comparison.verdict == Verdict::kPass)
    text += polygraphy_line('I', "    PASSED | simple | All outputs matched | Outputs: " + list_of(matched));
  else if (!mismatched.empty())
    text += polygraphy_line('E', "    FAILED | simple | Mismatched outputs: " + list_of(mismatched));
  const size_t passed = passed_samples(comparison);
  const double rate = comparison.samples == 0
                          ? 0
                          : 100.0 * static_cast<double>(passed) / static_cast<double>(comparison.samples);
  return text +
         polygraphy_line(comparison.verdict == Verdict::kPass ? 'I' : 'E',
                         fmt::format("Accuracy Summary | {} | Passed: {}/{} iterations | Pass Rate: {:.2f}%",
                                     pair, passed, comparison.samples, rate));
}

}  // namespace

std::string polygraphy_line(char severity, const std::string& text) {
  return fmt::format("[{}] {}\n", severity, text);
}

std::string polygraphy_comparison_text(const Report& report) {
  std::string text;
  for (const ComparisonResult& comparison : report.comparisons) text += comparison_text(comparison);
  return text;
}

PolygraphyClosing::PolygraphyClosing(const CommandWords& words)
    : command_(fmt::format("vernier polygraphy {}", fmt::join(words, " "))) {
  print(polygraphy_line('I', "RUNNING | Command: " + command_));
}

int PolygraphyClosing::close(int status) const {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  print(polygraphy_line(status == 0 ? 'I' : 'E',
                        fmt::format("{} | Runtime: {:.3f}s | Command: {}", status == 0 ? "PASSED" : "FAILED",
                                    seconds.count(), command_)));
  return status;
}

}  // namespace vernier
