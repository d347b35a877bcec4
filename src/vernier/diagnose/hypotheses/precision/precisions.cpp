// B1, B2, B4 to B7, B9, B11, B13, B15: operands, each alone or together, or results are held in a narrower
// type than the graph declares. Which of these it is, precision_class.h says.
#include "vernier/diagnose/hypotheses/precision/precision_class.h"
#include "vernier/diagnose/hypotheses/precision/precision_loss.h"
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
  return {(def->traits & ops::kContraction) != 0, (def->traits & (ops::kView | ops::kControlFlow)) == 0};
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
  Proposer(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
           std::vector<Proposal>& proposals)
      : member_(member), around_(context.graph), traits_(traits_of(member.node())), proposals_(proposals) {
    sets_ = operand_sets(member, made_in_place(member, 0, flagged) != nullptr);
    for (size_t i = 0; i < std::min<size_t>(32, member.input_count()); ++i)
      constants_ |= member.is_constant(i) ? uint32_t{1} << i : 0;
    const Tensor* made = made_in_place(member, 0, flagged);
    if (made == nullptr) return;
    if (auto sums = PartialSums::of(member)) sums_.emplace(std::move(*sums));
    if (sums_ && sums_->count() > 0) screening_.emplace(*sums_, member, *made);
  }

  // All ways of holding something in the format.
  void add(const NarrowFormat& format) {
    const bool is_tf32 = format.name == NarrowFormat::tf32().name;
    const uint32_t all = all_real_operands(member_);
    for (const uint32_t set : sets_) {
      if (is_tf32 ? !traits_.multiplies : !traits_.computes) continue;
      const std::string held = set == all
                                   ? fmt::format("its operands are rounded to {}", format.text())
                                   : fmt::format("{} held in {}", text_of(member_, set), format.text());
      add({format, set, false}, held);
      if (is_tf32) continue;
      add({format, set, true},
          set == all ? fmt::format("it is computed in {}", format.text()) : held + ", as is its result");
    }
    if (!is_tf32) add({format, 0, true}, fmt::format("its result is stored in {}", format.text()));
  }

  // Whether the ends of the range of the format are met at all.
  bool meets_subnormals(const NarrowFormat& format) const {
    return any_held(
        member_, {format, PrecisionLoss::kAllOperands, true},
        [&](const Tensor& held, bool constant) { return underflows(held, format.flushing(), constant); });
  }
  bool meets_overflow(const NarrowFormat& format) const {
    return any_held(member_, {format, PrecisionLoss::kAllOperands, true},
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
    proposals_.back().penalty = penalty_of(loss);
  }

  // Where neither the least nor the largest numbers are met, float16 and TF32 round operands alike. What
  // multiplies floats as float16 would store the result so, too; but weights that are rounded while
  // activations are not have been stored so. And eight bits can look like an operand that is lost: few
  // engines compute in them what is declared otherwise.
  double penalty_of(const PrecisionLoss& loss) const {
    constexpr double kWhereAlike = 0.011;
    const NarrowFormat tf32 = NarrowFormat::tf32();
    const bool keeps_result = traits_.multiplies && loss.operands != 0 && !loss.results &&
                              member_.declared_result() == ElementType::kFloat;
    const bool is_stored = (loss.operands & ~constants_) == 0;
    const bool is_rarer = loss.format.digits == tf32.digits && (loss.format.name == tf32.name) == is_stored;
    const bool is_of_eight_bits = loss.format.digits <= NarrowFormat::float8e4m3().digits;
    if (is_of_eight_bits || (keeps_result && is_rarer)) return kWhereAlike;
    // Units for products may want one operand narrow; elsewhere few engines treat operands differently.
    constexpr double kOfSome = 0.002;
    const bool are_some = loss.operands != 0 && loss.operands != all_real_operands(member_);
    return are_some && !traits_.multiplies ? kOfSome : 0;
  }

  const Member& member_;
  const Surroundings around_;
  Traits traits_;
  std::vector<uint32_t> sets_;
  uint32_t constants_ = 0;  // the operands that are constants
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

void propose_precisions(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                        std::vector<Proposal>& proposals) {
  if (!has_floats(member) || !member.node().regions.empty()) return;
  Proposer proposer(member, flagged, context, proposals);
  const NarrowFormat half = NarrowFormat::float16(), brain = NarrowFormat::bfloat16();
  for (const NarrowFormat& format :
       {NarrowFormat::tf32(), brain, half, NarrowFormat::tf32().truncating(), brain.truncating(),
        NarrowFormat::float8e4m3().saturating(), NarrowFormat::float8e5m2()}) {
    if (is_any_wider(member, format)) proposer.add(format);
  }
  if (is_any_wider(member, half) && proposer.meets_subnormals(half)) proposer.add(half.flushing());
  if (is_any_wider(member, half) && proposer.meets_overflow(half)) proposer.add(half.saturating());
  const NarrowFormat whole = NarrowFormat::float32();
  if (proposer.meets_subnormals(whole)) proposer.add(whole.flushing());
}

}  // namespace vernier
