#include "vernier/compare/value_judge.h"

#include "vernier/base/times_bound.h"
#include "vernier/compare/evidence.h"

namespace vernier {

namespace {

constexpr size_t kMaxReasons = 8;

std::string_view kind_text(Datum::Kind kind) {
  switch (kind) {
    case Datum::Kind::kTensor: return "a tensor";
    case Datum::Kind::kSequence: return "a sequence";
    default: return "an empty optional";
  }
}

std::string at_part(const std::string& part) {
  return part.empty() ? "" : " at " + part;
}

void add_nodes(std::vector<std::string>& nodes, const std::vector<std::string>& more) {
  for (const std::string& node : more) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
}

// A map is a sequence of two vectors. The type of its value in the model is that of its values, so the keys
// are what holds integers or strings where the model says another type.
bool is_map(const Datum& datum, ElementType values) {
  if (datum.kind != Datum::Kind::kSequence || datum.sequence->size() != 2) return false;
  const Datum &keys = (*datum.sequence)[0], &entries = (*datum.sequence)[1];
  return keys.is_tensor() && entries.is_tensor() && keys.tensor.rank() == 1 &&
         keys.tensor.dims() == entries.tensor.dims() && keys.tensor.type() != values &&
         (keys.tensor.type() == ElementType::kInt64 || keys.tensor.type() == ElementType::kString);
}

}  // namespace

ValueJudge::ValueJudge(std::string value, const CompareOptions& options) : options_(options) {
  so_far_.value = std::move(value);
}

void ValueJudge::lower(Verdict verdict, std::string reason) {
  lowest_ = worst(lowest_, verdict);
  sample_verdict_ = worst(sample_verdict_, verdict);
  auto& reasons = so_far_.reasons;
  if (reasons.size() < kMaxReasons && std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
    reasons.push_back(std::move(reason));
  }
}

void ValueJudge::add(const TraceEntry* reference, const TraceEntry* actual, size_t sample) {
  sample_ = sample;
  sample_verdict_ = Verdict::kPass;
  in_sample_.reset();
  for (const TraceEntry* entry : {reference, actual}) {
    if (entry == nullptr) continue;
    so_far_.is_output |= entry->is_output;
    add_nodes(so_far_.nodes, entry->nodes);
  }
  if (may_be_compared(reference, actual)) {
    ++so_far_.samples;
    reference_declared_ = reference->declared;
    actual_declared_ = actual->declared;
    compare_data(reference->datum, actual->datum, "");
    judge_sample();
  }
  if (sample_verdict_ != Verdict::kFail) return;
  ++so_far_.failed_samples;
  constexpr size_t kMostKept = 64;
  if (so_far_.failing.size() < kMostKept) so_far_.failing.push_back(sample);
}

bool ValueJudge::may_be_compared(const TraceEntry* reference, const TraceEntry* actual) {
  if (reference == nullptr || actual == nullptr) {
    const std::string_view side = reference == nullptr ? "reference" : "actual run";
    if (so_far_.is_output)
      lower(Verdict::kFail, fmt::format("the {} has no such output", side));
    else
      lower(Verdict::kNotCompared, fmt::format("the {} does not show it", side));
    return false;
  }
  if (reference->is_output != actual->is_output) {
    lower(Verdict::kFail, "it is an output of the model on one side only");
    return false;
  }
  return true;
}

void ValueJudge::compare_data(const Datum& reference, const Datum& actual, const std::string& part) {
  if (reference.kind != actual.kind) {
    return lower(Verdict::kFail, fmt::format("expected {}, got {}{}", kind_text(reference.kind),
                                             kind_text(actual.kind), at_part(part)));
  }
  if (reference.kind == Datum::Kind::kTensor) return compare_tensors(reference.tensor, actual.tensor, part);
  if (reference.kind == Datum::Kind::kNone) return;
  static const std::vector<Datum> empty;
  const auto& expected = reference.sequence ? *reference.sequence : empty;
  const auto& got = actual.sequence ? *actual.sequence : empty;
  if (is_map(reference, reference_declared_) && is_map(actual, reference_declared_)) {
    if (!expected[0].tensor.identical(got[0].tensor))
      return lower(Verdict::kFail, fmt::format("the keys of a map differ{}", at_part(part)));
    return compare_data(expected[1], got[1], part);
  }
  if (expected.size() != got.size()) {
    lower(Verdict::kFail, fmt::format("expected a sequence of {} elements, got {}{}", expected.size(),
                                      got.size(), at_part(part)));
  }
  for (size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    compare_data(expected[i], got[i], fmt::format("{}[{}]", part, i));
  }
}

void ValueJudge::compare_tensors(const Tensor& reference, const Tensor& actual, const std::string& part) {
  if (!types_agree(reference, actual, part)) return;
  if (reference.dims() != actual.dims()) {
    const bool rank = reference.rank() != actual.rank();
    return lower(Verdict::kFail,
                 fmt::format("{} mismatch: expected {}, got {}{}", rank ? "rank" : "size",
                             dims_text(reference.dims()), dims_text(actual.dims()), at_part(part)));
  }
  so_far_.dims = reference.dims();
  if (!total_) {
    so_far_.tolerance = options_.tolerances.of(so_far_.value, judged_as(actual));
    // A quantized integer that one side left unrounded is up to half a step from the best integer. A
    // tolerance that the user gave is never loosened.
    if (is_integer(so_far_.type) && reference.type() != actual.type() && !so_far_.tolerance.by_user) {
      so_far_.tolerance.atol += 0.5;
      so_far_.tolerance.source += ", atol + 0.5: one side is not rounded to an integer";
    }
  }
  const int64_t top_k = so_far_.is_output ? options_.top_k : 0;
  if (!total_) total_.emplace(so_far_.type, so_far_.tolerance, top_k);
  if (!in_sample_) in_sample_.emplace(so_far_.type, so_far_.tolerance, top_k);
  in_sample_->add(reference, actual, sample_, part);
}

// The type of the model rules: each side must hold it. A reference may hold double instead, and an inner
// value of an engine may be any real float, since its precision is the engine's choice.
bool ValueJudge::types_agree(const Tensor& reference, const Tensor& actual, const std::string& part) {
  if (!reference.is_defined() || !actual.is_defined()) {
    lower(Verdict::kFail, fmt::format("the {} holds no data{}",
                                      reference.is_defined() ? "actual run" : "reference", at_part(part)));
    return false;
  }
  const ElementType declared =
      reference_declared_ == ElementType::kUndefined ? reference.type() : reference_declared_;
  if (so_far_.type == ElementType::kUndefined) so_far_.type = declared;
  const ElementType expected = so_far_.type;
  const bool may_widen = is_float(expected) || is_integer(expected);
  const auto holds = [&](const Tensor& tensor, bool may_hold_double) {
    return tensor.type() == expected ||
           (may_hold_double && may_widen && tensor.type() == ElementType::kDouble);
  };
  const bool own_precision = !so_far_.is_output && is_float(expected) && is_float(actual.type());
  const ElementType stated =
      actual_declared_ == ElementType::kUndefined || own_precision ? expected : actual_declared_;
  if (declared == expected && stated == expected && holds(reference, true) &&
      (own_precision || holds(actual, options_.actual_may_hold_double))) {
    return true;
  }
  const auto describe = [](ElementType type, const Tensor& tensor) {
    const std::string name(element_type_name(type == ElementType::kUndefined ? tensor.type() : type));
    const std::string stored(element_type_name(tensor.type()));
    return name == stored ? name : fmt::format("{} stored as {}", name, stored);
  };
  // The data may say otherwise than the model.
  const std::string of_model =
      declared == stated ? fmt::format("the model says {}, ", element_type_name(expected)) : "";
  lower(Verdict::kFail,
        fmt::format("type mismatch: {}the reference {}, the actual run {}{}", of_model,
                    describe(declared, reference), describe(actual_declared_, actual), at_part(part)));
  return false;
}

// An inner value that the engine holds in a narrower type is judged by what that type can give.
ElementType ValueJudge::judged_as(const Tensor& actual) const {
  const bool narrower = !so_far_.is_output && is_float(so_far_.type) &&
                        element_bits(actual.type()) < element_bits(so_far_.type);
  return narrower ? actual.type() : so_far_.type;
}

void ValueJudge::judge_sample() {
  if (!in_sample_) return;
  const Metrics sample = in_sample_->metrics();
  if (sample.elements > 0) saw_data_ = true;
  const auto random = options_.random_values.find(so_far_.value);
  if (random != options_.random_values.end()) {
    lower(Verdict::kNotCompared,
          fmt::format("random: {} draws on each side for itself, and this follows from it", random->second));
  } else if (sample.mismatching > 0) {
    judge_difference(sample);
  } else {
    judge_accepted(sample);
  }
  total_->merge(*in_sample_);
}

// Judges a sample with elements outside the tolerance. A tolerance that the user gave is the law: noise may
// explain the difference, but not excuse it.
void ValueJudge::judge_difference(const Metrics& sample) {
  if (!within_noise(sample, options_.noise_factor)) {
    if (explain_by_bound(sample)) return;
    lowest_ = sample_verdict_ = Verdict::kFail;
    return;
  }
  const NoiseFloor& floor = options_.noise_floor.at(so_far_.value);
  const std::string figures = fmt::format(
      "rounding noise moves the value by {:.3g} (relative L2) and {:.3g} at most; the difference is {:.3g} "
      "and "
      "{:.3g}",
      floor.relative_l2, floor.max_abs, sample.distances->relative_l2, sample.distances->max_abs);
  if (so_far_.tolerance.by_user) {
    lower(Verdict::kFail,
          "outside the given tolerance, though the difference is within rounding noise: " + figures);
  } else if (is_determined(sample, floor)) {
    lower(Verdict::kPass, "within rounding noise: " + figures);
  } else {
    lower(Verdict::kMistrusted, "ill-conditioned: " + figures);
  }
}

bool ValueJudge::explain_by_bound(const Metrics& sample) {
  const auto found = options_.derived_bounds.find(so_far_.value);
  if (found == options_.derived_bounds.end() || so_far_.tolerance.by_user || !sample.distances ||
      sample.nan_mismatches > 0 || sample.inf_mismatches > 0)
    return false;
  const DerivedBound& bound = found->second;
  const bool within = sample.distances->relative_l2 <= bound.relative_l2 &&
                      sample.distances->max_abs <= bound.max_abs && std::isfinite(bound.relative_l2);
  if (!within) return false;
  const std::string text = fmt::format("explained by {}: needs {:.2g}, bound {:.2g} (relative L2){}",
                                       bound.roundings, sample.distances->relative_l2, bound.relative_l2,
                                       bound.remark.empty() ? "" : "; " + bound.remark);
  if (bound.explains_everything())
    lower(Verdict::kMistrusted, "ill-conditioned: " + text);
  else
    lower(Verdict::kPass, text);
  return true;
}

void ValueJudge::judge_accepted(const Metrics& sample) {
  const auto found = options_.exceeded_bounds.find(so_far_.value);
  if (found == options_.exceeded_bounds.end() || so_far_.tolerance.by_user || !sample.distances) return;
  const DerivedBound& bound = found->second;
  lower(Verdict::kFail,
        fmt::format(
            "within the tolerance of its type, but not explainable by {}: needs {:.2g}, {} (relative L2)",
            bound.roundings, sample.distances->relative_l2,
            times_bound(sample.distances->relative_l2 / bound.relative_l2, bound.relative_l2)));
}

void ValueJudge::decided_by(const std::vector<Decision>& decisions) {
  if (sample_verdict_ != Verdict::kPass) return;
  for (const Decision& decision : decisions) {
    auto& known = so_far_.decisions;
    const auto same = std::find_if(known.begin(), known.end(),
                                   [&](const Decision& other) { return other.node == decision.node; });
    if (same == known.end())
      known.push_back(decision);
    else
      same->merge(decision);
  }
}

// A difference within noise of a value that the arithmetic determines, to what its types can give.
bool ValueJudge::is_determined(const Metrics& sample, const NoiseFloor& floor) const {
  return floor.relative_l2 <= options_.ill_conditioned ||
         (floor.relative_l2 <= options_.narrow_roundings * floor.unit_roundoff &&
          within_noise(sample, options_.narrow_noise_factor));
}

bool ValueJudge::within_noise(const Metrics& sample, double factor) const {
  const auto floor = options_.noise_floor.find(so_far_.value);
  if (floor == options_.noise_floor.end() || !sample.distances || !is_float(so_far_.type)) return false;
  if (sample.nan_mismatches > 0 || sample.inf_mismatches > 0) return false;
  const auto within = [&](double difference, double noise) {
    const double limit = factor * noise;
    return std::isfinite(limit) && difference <= limit;  // false for NaN
  };
  return within(sample.distances->relative_l2, floor->second.relative_l2) &&
         within(sample.distances->max_abs, floor->second.max_abs);
}

TensorComparison ValueJudge::result() const {
  TensorComparison result = so_far_;
  result.verdict = lowest_;
  for (const Decision& decision : so_far_.decisions) result.reasons.push_back(decision.text());
  if (total_) {
    result.metrics = total_->metrics();
    result.worst = total_->worst();
  }
  const Metrics& metrics = result.metrics;
  const auto say = [&](Verdict verdict, std::string reason) {
    result.verdict = worst(result.verdict, verdict);
    result.reasons.push_back(std::move(reason));
  };
  const auto count = [&](int64_t some, std::string_view what) {
    if (some > 0) say(lowest_, fmt::format("{} of {} elements are {}", some, metrics.elements, what));
  };
  count(metrics.nan_mismatches, "NaN on one side only");
  count(metrics.inf_mismatches, "infinite on one side only, or differ in sign");
  count(metrics.mismatching, "outside the tolerance");
  if (so_far_.samples > 0 && !saw_data_ && result.verdict != Verdict::kFail)
    say(Verdict::kNotCompared, "it is empty: there was no element to compare");
  if (saw_data_ && result.verdict == Verdict::kPass) {
    const bool may_be_constant = options_.constant_values.contains(so_far_.value);
    std::string lack = lack_of_evidence(total_->sums(), so_far_.tolerance, may_be_constant);
    if (!lack.empty()) say(Verdict::kMistrusted, std::move(lack));
  }
  return result;
}

}  // namespace vernier
