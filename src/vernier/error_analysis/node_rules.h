// How the operators pass errors on, one rule for each kind of operator. Internal to error_analysis.
#pragma once

#include <functional>
#include <span>

#include "vernier/error_analysis/expected_error.h"
#include "vernier/ops/op_def.h"

namespace vernier {

enum class ErrorRule : uint8_t {
  kCopies,     // elements are moved: so are their errors
  kSelects,    // the largest or smallest of some elements: no arithmetic
  kProducts,   // sums of products of two operands
  kPointwise,  // a function of the elements at one place
  kQuantises,  // rounds to an integer: a result may be a step off where it lies beside a tie
  kPerturbed,  // everything else: how far results move when operands do
};
ErrorRule rule_of(const Node& node);

// A node with its operands and results; `in` is null where an operand is left out.
struct AnalysedNode {
  const Node& node;
  std::vector<const ElementErrors*> in;
  std::vector<const Tensor*> out;
  const NumericsContract& contract;

  bool has(size_t input) const { return input < in.size() && in[input] != nullptr; }
  bool is_exact() const;  // all operands are
  // What the results would be with other operands (null: as they are), unrounded.
  std::vector<Tensor> evaluate(const std::vector<const Tensor*>& operands) const;
};

// Each gives the errors of the first output, or of all, before results are stored.
std::vector<std::vector<double>> copied_errors(const AnalysedNode& node);
std::vector<double> product_errors(const AnalysedNode& node, std::vector<double>& squares);
std::vector<double> pointwise_errors(const AnalysedNode& node);
std::vector<double> quantised_errors(const AnalysedNode& node);
std::vector<std::vector<double>> perturbed_errors(const AnalysedNode& node, bool computes);

// Element by element, the root of the sum of squares.
void add_independent(std::vector<double>& errors, std::span<const double> more);
// Calls body(i) for each element, by several threads.
void for_each_element(size_t count, const std::function<void(size_t)>& body);
// Unrounded results of a node: floats as double.
std::vector<Tensor> evaluate_unrounded(const Node& node, const std::vector<const Tensor*>& operands);
// The first result of a node that quantises, neither rounded nor saturated.
Tensor unrounded_codes(const Node& node, const std::vector<const Tensor*>& operands);

}  // namespace vernier
