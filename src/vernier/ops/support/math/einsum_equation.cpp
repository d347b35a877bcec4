#include "vernier/ops/support/math/einsum_equation.h"

#include <algorithm>
#include <map>
#include <string>

#include "vernier/base/error.h"

namespace vernier::ops {

namespace {

using Labels = EinsumEquation::Labels;
constexpr std::string_view kDots = "...";

// The labels of a term whose ellipsis stands for `hidden` axes.
Labels labels_of(std::string_view term, size_t hidden) {
  Labels labels;
  bool ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char letter = term[i];
    if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')) {
      labels.push_back(letter);
    } else if (term.substr(i, kDots.size()) == kDots && !ellipsis) {
      for (size_t axis = hidden; axis-- > 0;)
        labels.push_back(EinsumEquation::kEllipsis + static_cast<int>(axis));
      ellipsis = true;
      i += kDots.size() - 1;
    } else {
      throw bad_input("the term '{}' of an Einsum equation", term);
    }
  }
  return labels;
}

Labels input_labels(std::string_view term, size_t rank) {
  const size_t letters = labels_of(term, 0).size();
  const bool open = term.find(kDots) != std::string_view::npos;
  if (letters > rank || (letters < rank && !open))
    throw bad_input("the term '{}' of Einsum for a tensor of rank {}", term, rank);
  return labels_of(term, rank - letters);
}

Labels implicit_output(const std::vector<Labels>& inputs, size_t hidden) {
  std::map<int, int> occurrences;
  for (const Labels& labels : inputs) {
    for (const int label : labels) ++occurrences[label];
  }
  Labels output = labels_of(kDots, hidden);
  for (const auto& [label, count] : occurrences) {
    if (label < EinsumEquation::kEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

void check_output(const EinsumEquation& equation) {
  for (const int label : equation.output) {
    const auto holds = [label](const Labels& labels) {
      return std::find(labels.begin(), labels.end(), label) != labels.end();
    };
    const bool known = std::any_of(equation.inputs.begin(), equation.inputs.end(), holds);
    if (!known || std::count(equation.output.begin(), equation.output.end(), label) != 1) {
      throw bad_input("the output of an Einsum equation repeats an index or has one that no input has");
    }
  }
}

}  // namespace

EinsumEquation parse_einsum(std::string_view equation, const std::vector<size_t>& ranks) {
  std::string text(equation);
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string_view terms = std::string_view(text).substr(0, arrow);
  EinsumEquation result;
  size_t hidden = 0;  // axes of the widest ellipsis
  for (size_t input = 0;; ++input) {
    const size_t comma = terms.find(',');
    if (input >= ranks.size())
      throw bad_input("the equation '{}' has more terms than Einsum has inputs", equation);
    result.inputs.push_back(input_labels(terms.substr(0, comma), ranks[input]));
    const Labels& labels = result.inputs.back();
    hidden = std::max(hidden, static_cast<size_t>(std::count_if(labels.begin(), labels.end(), [](int label) {
                        return label >= EinsumEquation::kEllipsis;
                      })));
    if (comma == std::string_view::npos) break;
    terms.remove_prefix(comma + 1);
  }
  if (result.inputs.size() != ranks.size())
    throw bad_input("the equation '{}' has fewer terms than Einsum has inputs", equation);
  result.output = arrow == std::string::npos ? implicit_output(result.inputs, hidden)
                                             : labels_of(std::string_view(text).substr(arrow + 2), hidden);
  check_output(result);
  return result;
}

}  // namespace vernier::ops
