// Errors as large as the error model expects them, in what the nodes of one run of the reference make.
#pragma once

#include "vernier/diagnose/subjects/subject.h"
#include "vernier/error_analysis/expected_error.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

// By node: how many times as large as expected its rounding is.
using Growths = std::map<const Node*, double>;

bool is_narrow_float(const Tensor& tensor);

class Perturbation {
 public:
  // `growths` are those that are known already; more are added. All outlive this.
  Perturbation(const Subject& subject, const ShownRun& shown, uint64_t seed, Growths& growths)
      : subject_(subject), shown_(shown), seed_(seed), growths_(growths) {}

  // The options of a run that is moved so; they refer to this. `after`, if there is one, sees what nodes make
  // then.
  InterpreterOptions applied(
      const InterpreterOptions& options,
      std::function<void(const Node&, std::span<const Datum> results)> after = nullptr);

  // Of the widest rounding so far.
  double unit_roundoff() const { return unit_roundoff_; }

 private:
  void add(const Node& node, std::span<const Datum* const> operands, std::vector<Datum>& results);
  double growth_of(const Node& node, const std::vector<Tensor>& inputs,
                   const std::vector<ElementErrors>& expected);
  // Weights of narrow floats were rounded once, by the plan or before: wherever they are read, in the same
  // way. `content` is the weight before that, where it is known, or after.
  Tensor constant(const Value& value, const Tensor& content);
  void note(const Value& value, ElementType made);

  const Subject& subject_;
  const ShownRun& shown_;
  uint64_t seed_;
  Growths& growths_;
  std::map<const Value*, uint64_t> draws_;  // so far: nodes of loops run many times
  double unit_roundoff_ = vernier::unit_roundoff(ElementType::kDouble);
};

}  // namespace vernier
