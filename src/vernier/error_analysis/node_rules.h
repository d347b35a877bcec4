// How the operators pass errors on, one rule for each kind of operator. Internal to error_analysis.
#pragma once

#include <cmath>
#include <span>

#include "vernier/base/threads.h"
#include "vernier/error_analysis/expected_error.h"
#include "vernier/ops/op_def.h"

namespace vernier {

enum class ErrorRule : uint8_t {
  kCopies,     // elements are moved: so are their errors
  kSelects,    // the largest or smallest of some elements: no arithmetic
  kProducts,   // sums of products of two operands
  kPointwise,  // a function of the elements at one place
  kQuantizes,  // rounds to an integer: a result may be a step off where it lies beside a tie
  kPerturbed,  // everything else: how far results move when operands do
};
ErrorRule rule_of(const Node& node);

// A node with its operands and results; `in` is null where an operand is left out.
struct AnalysedNode {
  const Node& node;
  std::vector<const ElementErrors*> in;
  std::vector<const Tensor*> out;
  const NumericsContract& contract;
  bool keeps_exact = false;  // of exact operands, where a result needs no rounding

  bool has(size_t input) const { return input < in.size() && in[input] != nullptr; }
  bool is_exact() const;  // all operands are
  // Gives the results with other operands (null: as they are), unrounded.
  std::vector<Tensor> evaluate(const std::vector<const Tensor*>& operands) const;
};

// Each gives the errors of the first output, or of all, before results are stored.
std::vector<std::vector<double>> copied_errors(const AnalysedNode& node);
std::vector<double> product_errors(const AnalysedNode& node, std::vector<double>& squares);
// Gives the growth of an accumulator's variance where it begins with another number instead of 0, relative to
// the square of that number.
double start_variance(const AnalysedNode& product);
std::vector<double> pointwise_errors(const AnalysedNode& node);
std::vector<double> quantized_errors(const AnalysedNode& node);
// Takes out of the errors of the first output those of results that need no rounding, where all operands are
// exact: those that `type` holds.
void keep_exact_results(const AnalysedNode& node, ElementType type, std::vector<double>& errors);
std::vector<std::vector<double>> perturbed_errors(const AnalysedNode& node, bool computes);

// The elements of a tensor as double: where they lie, if it stores doubles, else converted.
class Doubles {
 public:
  explicit Doubles(Tensor tensor) : tensor_(std::move(tensor)) {
    if (tensor_.type() == ElementType::kDouble) {
      elements_ = tensor_.values<double>();
      return;
    }
    converted_ = tensor_.to_doubles();
    elements_ = converted_;
  }
  Doubles(const Doubles&) = delete;
  Doubles& operator=(const Doubles&) = delete;

  double operator[](size_t i) const { return elements_[i]; }
  size_t size() const { return elements_.size(); }
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }
  operator std::span<const double>() const { return elements_; }  // NOLINT: it is one

 private:
  Tensor tensor_;
  std::vector<double> converted_;
  std::span<const double> elements_;
};
// A copy that stores doubles.
Tensor stored_as_doubles(const Tensor& tensor);

// Element by element, the root of the sum of squares.
void add_independent(std::vector<double>& errors, std::span<const double> more);
// Calls body(i) for each element, by several threads.
template <class Body>
void for_each_element(size_t count, const Body& body) {
  constexpr int64_t kChunk = 1 << 13;
  parallel_for(static_cast<int64_t>(count), kChunk, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) body(i);
  });
}
// The root of the sum of two squares. As exact as std::hypot but where a square leaves the range of double.
inline double root_of_squares(double a, double b) {
  const double sum = a * a + b * b;
  return std::isnormal(sum) ? std::sqrt(sum) : std::hypot(a, b);
}
// Unrounded results of a node: floats as double.
std::vector<Tensor> evaluate_unrounded(const Node& node, const std::vector<const Tensor*>& operands);
// The same by a kernel that mixes special values as the contract says: NaN wherever they may have come to.
std::vector<Tensor> evaluate_mixed(const Node& node, const std::vector<const Tensor*>& operands,
                                   const NumericsContract& contract);
// The first result of a node that quantizes, neither rounded nor saturated.
Tensor unrounded_codes(const Node& node, const std::vector<const Tensor*>& operands);

}  // namespace vernier
