// The error that each element of a node's or a group's results is expected to have when a kernel computes
// them as its contract says: the root mean square over roundings that are independent of each other. It
// follows from the operands at hand: from the magnitudes that meet in sums (squares of products, added up by
// the reference itself), and from how each operator passes errors on.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/numeric/numerics_contract.h"

namespace vernier {

// A value with the error of each of its elements.
struct ElementErrors {
  // Floats as double, unrounded; integers and bools as they are. Where a sum reads what the contract has
  // rounded between the nodes of a group, that is rounded here, too: neighbours of nearly the same value are
  // rounded alike, and such errors add up, which no model of independent errors tells.
  Tensor value;
  std::vector<double> error;  // root mean square, by element; empty: exact. Infinite where nothing is known

  bool is_exact() const { return error.empty(); }
  double at(size_t element) const { return error.empty() ? 0 : error[element]; }
};

// Whether kernels of the contract mix the factors of a product with others, or with parts of themselves. What
// is no finite number then makes more NaN than the operators say: differences of infinities.
bool mixes_special_values(const NumericsContract& contract);

// Gives the step that a kernel may round the sums of a product to; 0 where it rounds to none.
using SumSteps = std::function<double(const Node& product)>;

class ErrorModel {
 public:
  // `inputs` are the operands of the node in their declared types, undefined where one is left out. The node
  // outlives this. Throws what the reference throws. A node with regions that is no group is not analysed:
  // throws unsupported.
  // `errors` are those that operands have already, by operand and element; empty where one is exact.
  ErrorModel(const Node& node, const std::vector<Tensor>& inputs,
             std::vector<std::vector<double>> errors = {}, SumSteps steps = nullptr)
      : ErrorModel(node, inputs, std::move(errors), std::move(steps), nullptr) {}
  ~ErrorModel();
  // The results of the node, as value() gives them, but NaN wherever a kernel of the contract may yield NaN
  // for what is a number: see mixes_special_values().
  static std::vector<Tensor> mixed_values(const Node& node, const std::vector<Tensor>& inputs,
                                          const NumericsContract& contract);

  // Gives the errors of each output that the node has, in order; undefined ones for those that are left out.
  // They are kept for each contract that was asked for.
  const std::vector<ElementErrors>& outputs(const NumericsContract& contract) const;
  // The results themselves, by output.
  const Tensor& value(size_t output) const;

 private:
  class Walk;
  using Values = std::map<const Value*, Tensor>;
  ErrorModel(const Node& node, const std::vector<Tensor>& inputs, std::vector<std::vector<double>> errors,
             SumSteps steps, const NumericsContract* mixed);
  // Adds what the node makes of the values. With `rounds_between` what lies between the nodes of a group is
  // rounded to its declared types.
  static void evaluate(const Node& node, Values& values, const NumericsContract* mixed, bool rounds_between);
  const Tensor& value_of(const Value* value) const { return values_.at(value); }

  const Node& node_;
  SumSteps steps_;
  Values values_;
  std::map<const Value*, std::vector<double>> operand_errors_;
  // Sums of squared products by node, which do not depend on a contract; made when they are first asked for.
  mutable std::map<const Node*, std::vector<double>> squares_;
  mutable std::list<std::pair<NumericsContract, std::vector<ElementErrors>>> known_;
};

}  // namespace vernier
