#include "vernier/reduce/symptom.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <regex>
#include <set>

namespace vernier {

namespace {

using Kind = Symptom::Kind;

constexpr const char* kLastWords = "; the last it wrote:";

double error_of(const TensorComparison& tensor) {
  const Metrics& metrics = tensor.metrics;
  const double part = metrics.elements > 0
                          ? static_cast<double>(metrics.mismatching) / static_cast<double>(metrics.elements)
                          : 1;
  if (!metrics.distances) return part;
  const double relative = metrics.distances->relative_l2;
  return std::isfinite(relative) ? std::min(1.0, relative) : 1;
}

Kind kind_of(const TensorComparison& tensor) {
  const Metrics& metrics = tensor.metrics;
  if (metrics.nan_mismatches + metrics.inf_mismatches > 0) return Kind::kNotFinite;
  return metrics.mismatching > 0 ? Kind::kWrong : Kind::kMisshapen;
}

std::string sentence_of(const ComparisonResult& comparison, const TensorComparison& worst, Kind kind,
                        double error) {
  if (kind == Kind::kMisshapen)
    return fmt::format("{}: output '{}': {}", comparison.actual, worst.value, fmt::join(worst.reasons, "; "));
  std::string text = fmt::format(
      "{}: output '{}' is wrong against {}: {} of {} elements beyond the tolerance", comparison.actual,
      worst.value, comparison.reference, worst.metrics.mismatching, worst.metrics.elements);
  if (kind == Kind::kNotFinite)
    return text + fmt::format(", NaN at {} and Inf at {} places of one side only",
                              worst.metrics.nan_mismatches, worst.metrics.inf_mismatches);
  return text + fmt::format(", relative L2 {}{:.2g}", error < 1 ? "" : "at least ", error);
}

// How a process ended: "signal 11", "exit status 3"; "" if it did not.
std::string ending_in(const std::string& message) {
  static const std::regex pattern(R"((?:killed by|crashed:|was killed:) (signal \d+)|(exit status \d+))");
  std::smatch match;
  return std::regex_search(message, match, pattern) ? match[match[1].matched ? 1 : 2].str() : "";
}

bool is_late(const std::string& message) {
  return message.find("no answer within") != std::string::npos ||
         message.find("did not end within") != std::string::npos;
}

std::string stage_in(const std::string& message) {
  static const std::regex pattern(R"(stage (\w+):)");
  std::smatch match;
  return std::regex_search(message, match, pattern) ? match[1].str() : "";
}

// Its words, without names, numbers, paths and what the process wrote before it ended.
std::set<std::string> words_of(std::string message) {
  static const std::regex names(R"('[^' ]*'|"[^"]*"|`[^`]*`|\S*/\S*|\d+)");
  message = std::regex_replace(message.substr(0, message.find(kLastWords)), names, " ");
  std::set<std::string> words;
  std::string word;
  for (const char each : message + " ") {
    if (std::isalpha(static_cast<unsigned char>(each)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

// The last line that a process wrote, as "ValueError: …"; it tells one exception from another.
std::string last_words_in(const std::string& message) {
  const size_t begin = message.find(kLastWords);
  if (begin == std::string::npos) return "";
  std::string text = message.substr(begin + std::string_view(kLastWords).size());
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  const size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

bool say_the_same(const std::string& a, const std::string& b, double part) {
  const auto left = words_of(a), right = words_of(b);
  std::vector<std::string> shared;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(shared));
  const size_t all = left.size() + right.size() - shared.size();
  return all == 0 || static_cast<double>(shared.size()) >= part * static_cast<double>(all);
}

Symptom symptom_of_failure(const std::string& message) {
  Symptom symptom;
  symptom.kind = is_late(message) ? Kind::kHang : ending_in(message).empty() ? Kind::kError : Kind::kCrash;
  symptom.error = 1;
  symptom.message = symptom.sentence = message;
  return symptom;
}

}  // namespace

std::string_view symptom_name(Kind kind) {
  constexpr std::array<std::string_view, 7> kNames = {
      "none",  "wrong values", "values that are not finite", "wrong type or sizes", "error",
      "crash", "time-out"};
  return kNames[static_cast<size_t>(kind)];
}

Symptom symptom_of(const ComparisonResult& comparison, const std::string& failure) {
  if (!failure.empty()) return symptom_of_failure(failure);
  Symptom symptom;
  if (comparison.verdict != Verdict::kFail) return symptom;
  const TensorComparison* worst = nullptr;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!tensor.is_output || tensor.verdict != Verdict::kFail) continue;
    symptom.outputs.push_back(tensor.value);
    const Kind kind = kind_of(tensor);
    const double error = error_of(tensor);
    if (worst != nullptr && std::pair(kind, error) <= std::pair(symptom.kind, symptom.error)) continue;
    worst = &tensor;
    symptom.kind = kind;
    symptom.error = error;
  }
  if (worst != nullptr) {
    symptom.sentence = sentence_of(comparison, *worst, symptom.kind, symptom.error);
    return symptom;
  }
  symptom.kind = Kind::kMisshapen;
  symptom.error = 1;
  symptom.sentence = fmt::format("{}: {}", comparison.actual, fmt::join(comparison.reasons, "; "));
  return symptom;
}

bool is_same_symptom(const Symptom& found, const Symptom& wanted) {
  if (found.kind != wanted.kind || found.kind == Kind::kNone) return false;
  switch (found.kind) {
    case Kind::kWrong: return found.error >= kComparableError * wanted.error;
    case Kind::kHang: return stage_in(found.message) == stage_in(wanted.message);
    case Kind::kCrash: {
      constexpr double kSameWords = 0.5;
      return ending_in(found.message) == ending_in(wanted.message) &&
             stage_in(found.message) == stage_in(wanted.message) &&
             say_the_same(last_words_in(found.message), last_words_in(wanted.message), kSameWords);
    }
    case Kind::kError: {
      constexpr double kSameWords = 0.7;
      return say_the_same(found.message, wanted.message, kSameWords);
    }
    default: return true;
  }
}

}  // namespace vernier
