// Errors as large as the error model expects them, in what the nodes of one run of the reference make.
#pragma once

#include <optional>

#include "vernier/diagnose/under_test/engine_under_test.h"
#include "vernier/error_analysis/expected_error.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

// Keeps what a draw has learnt of nodes for those that follow: how large the errors of a kernel are does not
// change with errors as small, and working it out takes as long as many runs of the reference.
class KnownErrors {
 public:
  // Bytes that errors of elements may take. Those of nodes for which there is no room are worked out again.
  explicit KnownErrors(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Gives the errors of a node's results when it ran for the `run`-th time in a draw; nothing if they are not
  // known, or the results have other sizes.
  std::optional<std::vector<ElementErrors>> of(const Node& node, uint64_t run,
                                               const std::vector<Datum>& results);
  void keep(const Node& node, uint64_t run, const std::vector<ElementErrors>& errors);
  size_t used() const { return used_; }  // how often errors were known

  std::map<const Node*, double> growths;  // how many times as large as expected its rounding is

 private:
  using Errors = std::vector<std::vector<float>>;  // by output and element; empty where an output is exact
  size_t most_bytes_, bytes_ = 0, used_ = 0;
  std::map<std::pair<const Node*, uint64_t>, Errors> errors_;
};

bool is_narrow_float(const Tensor& tensor);

class Perturbation {
 public:
  // More is added to what is known. All outlive this.
  Perturbation(const EngineUnderTest& tested, const ShownRun& shown, uint64_t seed, KnownErrors& known)
      : tested_(tested), shown_(shown), seed_(seed), known_(known) {}

  // The options of a run that is moved so; they refer to this. `after`, if there is one, sees what nodes make
  // then.
  InterpreterOptions applied(
      const InterpreterOptions& options,
      std::function<void(const Node&, std::span<const Datum> results)> after = nullptr);

  // Gives the unit roundoff of the widest rounding so far.
  double unit_roundoff() const { return unit_roundoff_; }
  // Elements that were moved so far.
  int64_t elements() const { return elements_; }

 private:
  void add(const Node& node, std::span<const Datum* const> operands, std::vector<Datum>& results);
  void move(const Node& node, const std::vector<ElementErrors>& expected, std::vector<Datum>& results);
  uint64_t seed_of(const Value& output);
  double growth_of(const Node& node, const std::vector<Tensor>& inputs,
                   const std::vector<ElementErrors>& expected);
  // Weights of narrow floats were rounded once, by the plan or before: wherever they are read, in the same
  // way. `content` is the weight before that, where it is known, or after.
  Tensor constant(const Value& value, const Tensor& content);
  void note(const Value& value, ElementType made);

  const EngineUnderTest& tested_;
  const ShownRun& shown_;
  uint64_t seed_;
  KnownErrors& known_;
  std::map<const Value*, uint64_t> draws_;  // so far: nodes of loops run many times
  std::map<const Node*, uint64_t> runs_;    // likewise
  int64_t elements_ = 0;
  double unit_roundoff_ = vernier::unit_roundoff(ElementType::kDouble);
};

}  // namespace vernier
