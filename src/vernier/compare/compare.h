// Judges what one runner yielded against a reference. Fails closed: whatever could not be compared, was not
// there, or would have looked the same had the engine been broken, is never a pass.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vernier/compare/decision.h"
#include "vernier/compare/metrics.h"
#include "vernier/compare/tolerance.h"
#include "vernier/compare/trace.h"
#include "vernier/compare/verdict.h"

namespace vernier {

// The difference between two reference runs, one of which moved every stored float by an ulp or not, at
// random.
struct NoiseFloor {
  double relative_l2 = 0, max_abs = 0;
  double unit_roundoff = 0;  // the largest of all roundings on the way to the value
};

// Bounds what the roundings that an engine promises may make of a value, and names them: "bf16".
struct DerivedBound {
  double relative_l2 = 0, max_abs = 0;
  std::string roundings;
  std::string remark;  // for people: "the kernels add nothing beyond the plan"

  // As large as the value itself: then nothing is proven.
  bool explains_everything() const { return !(relative_l2 < 1); }
};

struct CompareOptions {
  Tolerances tolerances;
  // By value. Like noise, it decides only where the user gave no tolerance: a difference within it is
  // explained by these roundings, and mistrusted where they explain everything.
  std::map<std::string, DerivedBound> derived_bounds;
  // By value: bounds that the difference is far beyond, although the tolerance of the type accepts it. It
  // fails then, since no rounding explains it; not where the user gave the tolerance.
  std::map<std::string, DerivedBound> exceeded_bounds;
  // By value: what rounding noise does to the reference itself. It decides only where the user gave no
  // tolerance; where one was given, it is named beside the failure. A difference beyond the tolerance, but
  // within noise_factor times this floor in relative L2 and in its largest element, is rounding noise: a
  // pass, or, where the floor is above ill_conditioned, mistrusted, because then the arithmetic does not
  // determine the value. Narrow types move values by percents without amplifying anything: a floor of up to
  // narrow_roundings unit roundoffs is theirs, and a difference within narrow_noise_factor times it, a pass.
  std::map<std::string, NoiseFloor> noise_floor;
  double noise_factor = 10;
  double ill_conditioned = 1e-2;
  double narrow_roundings = 32, narrow_noise_factor = 3;
  // Values that the user declares to be constant by nature: being constant, or all zero, is no reason for
  // mistrust.
  std::set<std::string> constant_values;
  // Values that depend on a random draw of which each side has its own, and the node that draws:
  // "node 'noise' (RandomNormal)". They are not compared beyond type and sizes.
  std::map<std::string, std::string> random_values;
  int64_t top_k = 5;         // of the top-k agreement of outputs that look like logits
  bool random_data = false;  // the inputs of every sample were made up
  // The actual side is a reference of Vernier too, and may hold double where the model declares another type.
  bool actual_may_hold_double = false;
};

// The judgement of one value over all samples. A sequence counts as one value: its elements' metrics add up.
struct TensorComparison {
  std::string value;
  bool is_output = false;
  Verdict verdict = Verdict::kNotCompared;
  std::vector<std::string> reasons;            // why the verdict is no pass, or what a pass rests on
  ElementType type = ElementType::kUndefined;  // that the model declares
  Dims dims;                                   // in the last sample
  Tolerance tolerance;
  Metrics metrics;
  std::optional<WorstElement> worst;  // nothing while no element differs
  std::vector<std::string>
      nodes;           // ONNX nodes that made it: the reference's, then others that the engine fused in
  size_t samples = 0;  // in which both sides showed it
  size_t failed_samples = 0;
  std::vector<size_t> failing;      // the numbers of the first of these
  std::vector<Decision> decisions;  // ties that came out otherwise, without which it would fail; by node
};

// By value, the ties that were decided in the reference as the actual side decided them.
using DecisionsOfValues = std::map<std::string, std::vector<Decision>>;

struct ComparisonResult {
  std::string reference, actual;  // the runners
  Verdict verdict = Verdict::kNotCompared;
  std::vector<std::string> reasons;  // what concerns no single value: samples missing, no outputs, …
  std::vector<std::string> notes;    // what the runners said of their runs
  size_t samples = 0;
  bool random_data = false;               // the verdict rests on random inputs alone
  std::vector<TensorComparison> tensors;  // in execution order of the reference; extra outputs last
  // Index into `tensors` of the first value, in execution order, that both sides showed and that fails.
  std::optional<size_t> first_difference;
};

class ValueJudge;

// One comparison, fed a sample at a time; memory does not grow with the number of samples.
//
// The verdict is the worst verdict over the outputs; inner values can only turn it into a failure. Values
// pair by exact name. Failures: an output missing or extra, another element type, rank or size, a sequence
// against a tensor, a name twice in a trace, a sample on one side only, a tolerance for a value that does not
// exist, NaN or Inf on one side.
class Comparison {
 public:
  enum class Side : uint8_t { kReference, kActual };

  explicit Comparison(CompareOptions options = {});
  Comparison(Comparison&&) noexcept;
  ~Comparison();

  // Traces of the same sample. A value that passes names its `decisions`.
  void add(const Trace& reference, const Trace& actual, const DecisionsOfValues& decisions = {});
  // `side` has no trace of this sample that could be compared; `why` says so to the user: "the process died".
  // A failure.
  void add_failure(Side side, size_t sample, const std::string& why);

  // Replaces CompareOptions::noise_floor for the samples that follow: noise is measured where a sample asks
  // for it.
  void set_noise_floor(std::map<std::string, NoiseFloor> noise_floor);
  // The same of CompareOptions::derived_bounds, and of exceeded_bounds.
  void set_derived_bounds(std::map<std::string, DerivedBound> bounds);
  void set_exceeded_bounds(std::map<std::string, DerivedBound> bounds);

  ComparisonResult result() const;

 private:
  ValueJudge& judge(const std::string& value);
  void note(const Trace& trace, std::string& runner);
  void fail(std::string reason);

  std::shared_ptr<CompareOptions> options_;  // the judges refer to it
  ComparisonResult so_far_;
  bool failed_ = false, same_run_ = false;
  std::vector<std::unique_ptr<ValueJudge>> judges_;  // in execution order
  std::map<std::string, size_t> index_;
};

// All samples at once, paired by sample number.
ComparisonResult compare(std::span<const Trace> reference, std::span<const Trace> actual,
                         const CompareOptions& options = {});
ComparisonResult compare(const Trace& reference, const Trace& actual, const CompareOptions& options = {});

}  // namespace vernier
