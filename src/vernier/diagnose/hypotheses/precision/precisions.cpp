// B1, B2, B4 to B7, B9, B11, B13, B15: operands, constants or results are held in a narrower type than the
// graph declares. Which of these it is, precision_class.h says.
#include "vernier/diagnose/hypotheses/precision/precision_class.h"
#include "vernier/diagnose/hypotheses/precision/screening.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

struct Traits {
  bool multiplies = false, computes = false;
};

Traits traits_of(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  if (def == nullptr) return {false, node.regions.empty()};
  const bool recurrent = has_op(node, {"LSTM", "GRU", "RNN", "Attention", "Einsum"});
  return {(def->traits & ops::kContraction) != 0 || recurrent,
          (def->traits & (ops::kView | ops::kControlFlow)) == 0};
}

// Whether a tensor of the type has something to lose in the format.
bool is_wider(ElementType type, const NarrowFormat& format) {
  return is_float(type) && (unit_roundoff(type) < format.unit_roundoff() ||
                            (type == ElementType::kBFloat16 && format.min_exponent > -126));
}

bool is_any_wider(const Member& member, const NarrowFormat& format) {
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (is_wider(member.declared(i), format)) return true;
  }
  return is_wider(member.declared_result(), format);
}

class Proposer {
 public:
  Proposer(const Member& member, const Suspect& suspect, const Scene& scene, std::vector<Proposal>& proposals)
      : member_(member), around_(scene.graph), traits_(traits_of(member.node())), proposals_(proposals) {
    for (size_t i = 0; i < member.input_count(); ++i) {
      if (!member.has(i) || !is_real(member.in(i))) continue;
      (member.is_constant(i) ? reads_constants_ : reads_values_) = true;
    }
    const Tensor* made = made_in_place(member, 0, suspect);
    if (made == nullptr) return;
    if (auto sums = PartialSums::of(member)) sums_.emplace(std::move(*sums));
    if (sums_ && sums_->count() > 0) screening_.emplace(*sums_, member, *made);
  }

  // All ways of holding something in the format.
  void add(const NarrowFormat& format) {
    const bool reads = reads_constants_ || reads_values_;
    const bool tf32 = format.name == NarrowFormat::tf32().name;
    if (tf32 ? traits_.multiplies && reads : traits_.computes && reads)
      add({format, true, true, false}, fmt::format("its operands are rounded to {}", format.text()));
    if (tf32) return;
    if (reads_constants_ && reads_values_)
      add({format, false, true, false},
          fmt::format("its {} are held in {}", traits_.multiplies ? "weights" : "constants", format.text()));
    add({format, false, false, true}, fmt::format("its result is stored in {}", format.text()));
    if (reads && traits_.computes)
      add({format, true, true, true}, fmt::format("it is computed in {}", format.text()));
  }

  // Weights in four bits, of which there are so few numbers that they have scales.
  void add_float4() {
    for (size_t i = 0; traits_.multiplies && i < member_.input_count(); ++i) {
      if (!member_.is_constant(i) || !member_.has(i) || !is_real(member_.in(i)) || member_.in(i).rank() < 2)
        continue;
      for (const auto axis : {std::optional<int64_t>(), std::optional<int64_t>(0),
                              std::optional<int64_t>(member_.in(i).rank() - 1)})
        proposals_.push_back(
            {FailureClass(15),
             fmt::format(
                 "its weights are held in float4 with {}",
                 axis ? fmt::format("a scale for each slice of axis {}", *axis) : std::string("one scale")),
             [&member = member_, i, axis] { return member.with_input(i, in_float4(member.in(i), axis)); }});
    }
  }

  // Whether the ends of the range of the format are met at all.
  bool meets_subnormals(const NarrowFormat& format) const {
    return any_held(member_, {format, true, true, true}, [&](const Tensor& held, bool constant) {
      return underflows(held, format.flushing(), constant);
    });
  }
  bool meets_overflow(const NarrowFormat& format) const {
    return any_held(member_, {format, true, true, true},
                    [&](const Tensor& held, bool) { return overflows(held, format); });
  }

 private:
  void add(const PrecisionLoss& loss, std::string what) {
    constexpr double kMost = 0.6;
    const double screened = screening_ ? screening_->residual(loss) : 1;
    if (screening_ && screened > kMost) return;
    proposals_.push_back({precision_class(member_, around_, loss), std::move(what),
                          [&member = member_, loss] { return results_with(member, loss); }});
    proposals_.back().screened = screened;
    proposals_.back().handicap = handicap_of(loss);
  }

  // Where neither the least nor the largest numbers are met, float16 and TF32 round operands alike. What
  // multiplies floats as float16 would store the result so, too. And eight bits can look like an operand that
  // is lost: few engines compute in them what is declared otherwise.
  double handicap_of(const PrecisionLoss& loss) const {
    constexpr double kWhereAlike = 0.011;
    const NarrowFormat tf32 = NarrowFormat::tf32();
    const bool keeps_result = traits_.multiplies && loss.operands && !loss.results &&
                              member_.declared_result() == ElementType::kFloat;
    const bool is_like_tf32 = loss.format.digits == tf32.digits && loss.format.name != tf32.name;
    const bool is_of_eight_bits = loss.format.digits <= NarrowFormat::float8e4m3().digits;
    return is_of_eight_bits || (keeps_result && is_like_tf32) ? kWhereAlike : 0;
  }

  const Member& member_;
  const Surroundings around_;
  Traits traits_;
  bool reads_constants_ = false, reads_values_ = false;
  std::optional<PartialSums> sums_;
  std::optional<Screening> screening_;  // where the member's sums are seen
  std::vector<Proposal>& proposals_;
};

bool has_floats(const Member& member) {
  if (is_float(member.declared_result())) return true;
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (is_float(member.declared(i))) return true;
  }
  return false;
}

}  // namespace

void propose_precisions(const Member& member, const Suspect& suspect, const Scene& scene,
                        std::vector<Proposal>& proposals) {
  if (!has_floats(member) || !member.node().regions.empty()) return;
  Proposer proposer(member, suspect, scene, proposals);
  const NarrowFormat half = NarrowFormat::float16(), brain = NarrowFormat::bfloat16();
  for (const NarrowFormat& format :
       {NarrowFormat::tf32(), brain, half, NarrowFormat::tf32().truncating(), brain.truncating(),
        NarrowFormat::float8e4m3().saturating(), NarrowFormat::float8e5m2()}) {
    if (is_any_wider(member, format)) proposer.add(format);
  }
  proposer.add_float4();
  if (is_any_wider(member, half) && proposer.meets_subnormals(half)) proposer.add(half.flushing());
  if (is_any_wider(member, half) && proposer.meets_overflow(half)) proposer.add(half.saturating());
  const NarrowFormat whole = NarrowFormat::float32();
  if (proposer.meets_subnormals(whole)) proposer.add(whole.flushing());
}

}  // namespace vernier
