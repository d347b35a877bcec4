#include "vernier/page/sentences.h"

#include <fmt/ranges.h>

#include <cmath>

#include "vernier/report/text_table.h"

namespace vernier {

namespace {

std::string quoted(const std::string& name) {
  return fmt::format("'{}'", printable(name, 80));
}

// The output that is worst off, and by how much.
std::string worst_output(const ComparisonResult& comparison) {
  const TensorComparison* worst = nullptr;
  const auto error = [](const TensorComparison& tensor) {
    return tensor.metrics.distances ? tensor.metrics.distances->relative_l2 : 0;
  };
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!tensor.is_output || tensor.verdict != comparison.verdict) continue;
    if (worst == nullptr || error(tensor) > error(*worst)) worst = &tensor;
  }
  if (worst == nullptr) return comparison.reasons.empty() ? "" : ": " + printable(comparison.reasons[0], 160);
  std::string text = fmt::format(": output {}", quoted(worst->value));
  if (worst->metrics.distances) text += fmt::format(", relative L2 {:.2g}", error(*worst));
  if (worst->verdict == Verdict::kFail) return text;
  return worst->reasons.empty() ? text : text + ": " + printable(worst->reasons[0], 160);
}

std::string said_of(const ComparisonResult& comparison) {
  const std::string pair =
      fmt::format("{} and {}", printable(comparison.actual, 60), printable(comparison.reference, 60));
  switch (comparison.verdict) {
    case Verdict::kPass: return pair + " agree";
    case Verdict::kMistrusted:
      return pair + " agree, but the evidence is worth nothing" + worst_output(comparison);
    case Verdict::kNotCompared: return pair + " were not compared" + worst_output(comparison);
    case Verdict::kFail: break;
  }
  std::string text = pair + " differ" + worst_output(comparison);
  if (comparison.first_difference) {
    const TensorComparison& first = comparison.tensors[*comparison.first_difference];
    text += fmt::format("; the first value that differs is {}", quoted(first.value));
    if (!first.nodes.empty())
      text += fmt::format(", made by {}", printable(fmt::format("{}", fmt::join(first.nodes, ", ")), 120));
  }
  return text;
}

}  // namespace

std::string sentence_of(const Report& report) {
  std::vector<std::string> said;
  said.reserve(report.comparisons.size() + report.failures.size());
  for (const Verdict verdict :
       {Verdict::kFail, Verdict::kNotCompared, Verdict::kMistrusted, Verdict::kPass}) {
    for (const ComparisonResult& comparison : report.comparisons) {
      if (comparison.verdict == verdict) said.push_back(said_of(comparison));
    }
  }
  for (const std::string& failure : report.failures) said.push_back(printable(failure, 200));
  return said.empty() ? "Nothing was compared." : fmt::format("{}.", fmt::join(said, "; "));
}

std::string sentence_of(const BuildReport& report) {
  const std::string model = printable(report.model, 100);
  if (!report.certificate) return fmt::format("An engine of {} was built; nobody judged it.", model);
  const Certificate& certificate = *report.certificate;
  if (certificate.verdict == Verdict::kPass) {
    double declared = 0;
    for (const auto& output : certificate.outputs) declared = std::fmax(declared, output.declared);
    return fmt::format(
        "The engine of {} computes what its plan promises, and is off from the model by a relative L2 of "
        "{:.2g} at most.",
        model, declared);
  }
  const std::string why =
      certificate.reasons.empty()
          ? ""
          : ": " + printable(fmt::format("{}", fmt::join(certificate.reasons, "; ")), 400);
  if (certificate.verdict == Verdict::kFail)
    return fmt::format("The engine of {} does not compute what its plan promises{}.", model, why);
  return fmt::format("Whether the engine of {} computes what its plan promises is not known{}.", model, why);
}

std::string sentence_of(const BenchReport& report) {
  std::string text = fmt::format("{} runs {} in {:.4g} ms (median; 99 % within {:.4g} ms)", report.device,
                                 printable(report.model, 100), report.latency.p50, report.latency.p99);
  for (const auto& other : report.versus) {
    if (other.failure.empty())
      text += fmt::format(", {:.2f} times as fast as {} (95 %: {:.2f} to {:.2f})", other.ratio,
                          printable(other.runner, 60), other.low, other.high);
  }
  return text + ".";
}

std::string sentence_of(const TuneReport& report) {
  if (report.chosen)
    return fmt::format("The plan {} ({}) keeps the target, {}, and runs {:.2f} times as fast as {}.",
                       printable(report.chosen->plan, 100), report.chosen->types, report.target,
                       1 / report.chosen->ratio, printable(report.baseline.plan, 100));
  if (!report.closest) return fmt::format("No plan keeps the target, {}.", report.target);
  return fmt::format("No plan keeps the target, {}; the closest is {} ({}).", report.target,
                     printable(report.closest->plan, 100), report.closest->types);
}

std::string sentence_of(const EvaluationReport& report) {
  std::vector<std::string> said;
  const EvaluationOutcome& outcome = report.outcome;
  for (const auto& difference : outcome.differences) {
    const std::string pair = fmt::format("{} is {:+.3g} from {} in {}", printable(difference.runner, 60),
                                         difference.difference, printable(difference.baseline, 60),
                                         printable(outcome.metrics[difference.metric].name, 60));
    said.push_back(difference.gate ? pair + ": " + difference.gate->sentence : pair);
  }
  for (const auto& runner : outcome.runners) {
    if (runner.failures > 0)
      said.push_back(fmt::format("{} failed on {} samples", printable(runner.name, 60), runner.failures));
    if (outcome.runners.size() > 1) continue;
    for (const auto& value : runner.values)
      said.push_back(fmt::format("{} has {} {:.4g}", printable(runner.name, 60),
                                 printable(outcome.metrics[value.metric].name, 60), value.value));
  }
  return fmt::format("{}.", fmt::join(said, "; "));
}

}  // namespace vernier
