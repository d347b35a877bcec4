// B15, B24: operands or results are held as codes with scales, in eight bits or four, where the graph has
// floats: each operand alone or activations and weights together, with scales of any reach.
#include <algorithm>
#include <cmath>

#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/precision/codes.h"
#include "vernier/diagnose/hypotheses/precision/precision_loss.h"
#include "vernier/diagnose/hypotheses/precision/screening.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

// An operand in codes, and what is left of the error with it.
struct Coded {
  size_t operand = 0;
  Codes codes;
  ScaleReach reach;
  double residual = 1;

  Tensor of(const Member& member) const { return in_codes(member.in(operand), codes, reach); }
  std::string text() const { return fmt::format("held in {} with {}", codes.text(), reach.text()); }
};

// As many as are proposed of what a look at some elements finds likely.
constexpr size_t kMost = 4;
constexpr int64_t kFewest = 8;   // numbers, of which a scale and its codes say anything
constexpr double kLikely = 0.9;  // of one operand, where another one is held in codes, too
// Few engines hold in codes what is declared otherwise, and there are many codes.
constexpr double kManyCodes = 0.012;

bool computes(const Member& member) {
  const auto* def = ops::OpRegistry::instance().find(member.node());
  return def != nullptr && (def->traits & (ops::kView | ops::kControlFlow)) == 0 &&
         is_float(member.declared_result()) && member.node().regions.empty();
}

// The largest of each slice differ so much that one scale leaves some of them next to nothing.
bool ranges_differ(const Tensor& tensor) {
  constexpr double kTimes = 32;
  if (tensor.rank() < 2) return false;
  const auto values = tensor.to_doubles();
  const auto slices = static_cast<size_t>(tensor.dims()[0]);
  std::vector<double> largest(slices, 0);
  const size_t inner = values.size() / slices;
  for (size_t i = 0; i < values.size(); ++i)
    largest[i / inner] = std::max(largest[i / inner], std::abs(values[i]));
  const auto [least, most] = std::minmax_element(largest.begin(), largest.end());
  return *most > kTimes * *least;
}

FailureClass class_of(const Member& member, const Coded& coded) {
  const bool shares = !coded.reach.axis && member.is_constant(coded.operand);
  return FailureClass(shares && ranges_differ(member.in(coded.operand)) ? 24 : 15);
}

class CodedOperands {
 public:
  CodedOperands(const Member& member, const Screening& screening, std::vector<Proposal>& proposals)
      : member_(member), screening_(screening), proposals_(proposals) {}

  void propose() {
    std::vector<std::vector<Coded>> likely;
    for (size_t operand = 0; operand < 3; ++operand) likely.push_back(likely_of(operand));
    for (const auto& some : likely) {
      for (const Coded& each : some) add({each}, each.residual);
    }
    for (const Coded& activations : likely[0]) {
      for (const Coded& weights : likely[1]) add({activations, weights}, residual_of(activations, weights));
    }
    if (!member_.has(2) || !member_.is_constant(2) || member_.in(2).size() < kFewest) return;
    for (const Coded& weights : likely[1]) {  // who converts constants converts the bias, too
      const Coded bias{2, weights.codes, {}};
      add({weights, bias}, residual_of(weights, bias));
    }
  }

 private:
  std::vector<Coded> likely_of(size_t operand) const {
    std::vector<Coded> all;
    if (!member_.has(operand) || !is_real(member_.in(operand)) || member_.in(operand).size() < kFewest)
      return all;
    constexpr int64_t kLarge = 1 << 21;  // elements, of which the rarer reaches would take seconds
    const Tensor& tensor = member_.in(operand);
    for (const ScaleReach& reach : usual_reaches(tensor.dims())) {
      if (tensor.size() > kLarge && reach.block != 0 && reach.block != 32 && reach.block != 128) continue;
      for (const Codes& codes : usual_codes()) {
        Coded coded{operand, codes, reach};
        const auto values = coded.of(member_).to_doubles();
        Screening::Operands operands;
        operands[operand] = values;
        coded.residual = screening_.residual(operands);
        if (coded.residual < kLikely) all.push_back(std::move(coded));
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Coded& a, const Coded& b) { return a.residual < b.residual; });
    if (all.size() > kMost) all.resize(kMost);
    return all;
  }

  double residual_of(const Coded& one, const Coded& other) const {
    const auto a = one.of(member_).to_doubles(), b = other.of(member_).to_doubles();
    Screening::Operands operands;
    operands[one.operand] = a;
    operands[other.operand] = b;
    return screening_.residual(operands);
  }

  void add(const std::vector<Coded>& coded, double residual) {
    constexpr double kMostLeft = 0.5;
    if (residual > kMostLeft) return;
    std::string what;
    for (const Coded& each : coded)
      what += fmt::format("{}{} {} {}", what.empty() ? "" : ", and ", operand_name(member_, each.operand),
                          each.operand == 2 ? "is" : "are", each.text());
    proposals_.push_back({class_of(member_, coded.back()),
                          what,
                          [&member = member_, coded] {
                            Tensors inputs = member.inputs();
                            for (const Coded& each : coded) inputs[each.operand] = each.of(member);
                            return member.with_inputs(std::move(inputs));
                          },
                          {},
                          kManyCodes});
    proposals_.back().screened = residual;
  }

  const Member& member_;
  const Screening& screening_;
  std::vector<Proposal>& proposals_;
};

// Proposes codes of results, and of operands of nodes that make no sums: there the whole is as little work as
// a look.
void propose_whole(const Member& member, std::optional<size_t> operand, std::vector<Proposal>& proposals) {
  const Tensor& held = operand ? member.in(*operand) : member.out();
  if (!is_real(held) || held.size() < kFewest) return;
  for (const ScaleReach& reach : usual_reaches(held.dims())) {
    const bool is_row = reach.axis && reach.block == held.dims()[*reach.axis];
    if (reach.block != 0 && !is_row && reach.block != 32) continue;
    for (const Codes& codes : usual_codes()) {
      const std::string name = operand ? operand_name(member, *operand) : "its result";
      proposals.push_back({FailureClass(15),
                           fmt::format("{} is held in {} with {}", name, codes.text(), reach.text()),
                           [&member, operand, codes, reach] {
                             if (operand)
                               return member.with_input(*operand,
                                                        in_codes(member.in(*operand), codes, reach));
                             Tensors results = member.outputs();
                             results[0] = in_codes(results[0], codes, reach);
                             return results;
                           },
                           {},
                           kManyCodes,
                           false,
                           true});
    }
  }
}

// The nodes behind hide the sums, so only the usual codes are simulated.
void propose_unseen(const Member& member, std::vector<Proposal>& proposals) {
  const Tensor& weights = member.in(1);
  for (const Codes& codes : {Codes::integers(8), Codes::integers(4), Codes::float4()}) {
    std::vector<ScaleReach> reaches{{}};
    for (size_t axis = 0; axis < std::min<size_t>(2, weights.dims().size()); ++axis)
      reaches.push_back({axis, 0});
    for (const ScaleReach& reach : reaches) {
      const Coded coded{1, codes, reach};
      proposals.push_back({class_of(member, coded),
                           fmt::format("its weights are {}", coded.text()),
                           [&member, coded] { return member.with_input(1, coded.of(member)); },
                           {},
                           kManyCodes,
                           false,
                           true});
    }
  }
}

}  // namespace

void propose_coded_operands(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                            std::vector<Proposal>& proposals) {
  if (!computes(member)) return;
  const auto sums = PartialSums::of(member);
  const Tensor* made = made_in_place(member, 0, flagged);
  if (sums && sums->count() > 0) {
    if (made != nullptr) {
      const Screening screening(*sums, member, *made);
      CodedOperands(member, screening, proposals).propose();
    } else if (member.has(1) && member.is_constant(1) && is_real(member.in(1))) {
      propose_unseen(member, proposals);
    }
  } else if (made != nullptr) {
    constexpr int64_t kLarge = 1 << 16;  // elements: there are a hundred simulations of each
    for (size_t i = 0; i < std::min<size_t>(3, member.input_count()); ++i) {
      if (member.has(i) && member.out().size() <= kLarge) propose_whole(member, i, proposals);
    }
  }
  if (made != nullptr) propose_whole(member, std::nullopt, proposals);
}

}  // namespace vernier
