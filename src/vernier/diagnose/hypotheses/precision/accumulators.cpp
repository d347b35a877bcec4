// B3, B8: sums are kept in a narrow type. The order of an engine's sums is not known, so several are tried on
// some of the results, and the best is simulated on all. Where none reproduces them, errors that are as large
// as such an accumulator makes them, everywhere, are a weaker proof.
#include <algorithm>
#include <cmath>
#include <set>

#include "vernier/diagnose/hypotheses/precision/precision_class.h"
#include "vernier/diagnose/hypotheses/precision/screening.h"
#include "vernier/error_analysis/expected_error.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

namespace {

using Order = Accumulator::Order;

// `taps` terms are of one input channel.
std::vector<Accumulator> accumulators_in(const NarrowFormat& format, int64_t terms, int64_t taps) {
  std::vector<Accumulator> all{{format, Order::kSequential}, {format, Order::kPairwise}};
  static constexpr Order kOrders[] = {Order::kExactBlocks, Order::kNarrowBlocks, Order::kBlocks,
                                      Order::kStoredBlocks, Order::kAddedBlocks};
  std::set<int64_t> blocks;
  for (int64_t block = 4; block < terms && block <= 1024; block *= 2) blocks.insert(block);
  for (int64_t block = taps; taps > 1 && block < terms && block <= 1024; block *= 2) blocks.insert(block);
  for (const int64_t parts : {2, 3, 4, 6, 8}) blocks.insert((terms + parts - 1) / parts);  // split along K
  for (const int64_t block : blocks) {
    for (const Order order : kOrders) all.push_back({format, order, block});
  }
  all.push_back({format, Order::kExactBlocks, terms});  // rounded once: before a division, or a bias
  const size_t plain = all.size();
  for (size_t i = 0; i < plain; ++i) {
    Accumulator other = all[i];
    other.rounds_products = true;
    if (other.order == Order::kSequential || other.order == Order::kPairwise) all.push_back(other);
    other = all[i];
    other.rounds_operands = true;
    all.push_back(other);
  }
  return all;
}

std::vector<Accumulator> all_accumulators(const Member& member, int64_t terms) {
  std::vector<Accumulator> all;
  int64_t taps = 1;
  for (int64_t i = 2; member.is("Conv") && i < member.in(1).rank(); ++i)
    taps *= member.in(1).dims()[static_cast<size_t>(i)];
  const bool wide = unit_roundoff(member.declared_result()) < NarrowFormat::float16().unit_roundoff();
  for (const NarrowFormat& format :
       {NarrowFormat::float16(), NarrowFormat::bfloat16(), NarrowFormat::float16().saturating()}) {
    if (!wide && format.name == "bfloat16" && member.declared_result() == ElementType::kBFloat16) continue;
    const auto more = accumulators_in(format, terms, taps);
    all.insert(all.end(), more.begin(), more.end());
  }
  if (member.declared_result() == ElementType::kFloat)
    all.push_back({NarrowFormat::float32().truncating(), Order::kSequential});
  return all;
}

// A partial sum that passes the range is another failure than one that loses digits.
FailureClass class_of(const Member& member, const HypothesisContext& context, const NarrowFormat& format,
                      const Tensor& simulated) {
  const auto wrong = simulated.to_doubles(), right = member.out().to_doubles();
  bool leaves = false;
  for (size_t i = 0; i < wrong.size(); ++i) {
    leaves = leaves || (std::isfinite(right[i]) && !std::isfinite(wrong[i]));
    leaves = leaves || (format.saturates && std::abs(wrong[i] - right[i]) > format.largest / 8);
  }
  if (!leaves) return FailureClass(8);
  const Surroundings around(context.graph);
  if (is_norm_statistic(member.node(), around)) return FailureClass(1);
  if (overflows(member.out(), format)) return precision_class(member, around, {format, 0, true});
  return FailureClass(3);
}

void propose(const Member& member, const HypothesisContext& context, const Accumulator& accumulator,
             Tensor simulated, std::vector<Proposal>& proposals) {
  Tensors results = member.outputs();
  results[0] = std::move(simulated);
  proposals.push_back({class_of(member, context, accumulator.format, results[0]),
                       fmt::format("its sums are kept in {}", accumulator.text()),
                       [results = std::move(results)] { return results; }});
}

// Gives what is made, as far as an accumulator of the type explains it; nothing if its errors are not of that
// size.
std::optional<Tensor> explained(const Member& member, const Tensor& made, ElementType type) {
  NumericsContract contract;
  contract.computed = contract.accumulated = type;
  contract.stored = member.declared_result();
  contract.order = NumericsContract::Order::kSequential;
  const ElementErrors expected = ErrorModel(member.node(), member.inputs()).outputs(contract).at(0);
  auto values = expected.value.to_doubles();
  const auto actual = made.to_doubles();
  double sum = 0;
  size_t small = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(expected.at(i) > 0) || !std::isfinite(actual[i])) continue;
    const double deviation = std::abs(actual[i] - values[i]) / expected.at(i);
    constexpr double kMost = 6;
    if (deviation > kMost) continue;
    sum += deviation * deviation;
    ++small;
    values[i] = actual[i];
  }
  constexpr double kLeast = 0.2, kEnough = 0.95;
  const bool alike = small > 0 && std::sqrt(sum / static_cast<double>(small)) > kLeast;
  if (!alike || static_cast<double>(small) < kEnough * static_cast<double>(values.size()))
    return std::nullopt;
  return Tensor::from_doubles(ElementType::kDouble, made.dims(), values);
}

void propose_unknown_order(const Member& member, const Tensor& made, std::vector<Proposal>& proposals) {
  struct Type {
    ElementType type;
    const char* text;
  };
  for (const Type& each :
       {Type{ElementType::kFloat16, "float16"}, Type{ElementType::kBFloat16, "bfloat16"}}) {
    if (unit_roundoff(member.declared_result()) >= unit_roundoff(each.type)) continue;
    // Whatever errs by so much is explained: so it counts only where nothing better is found.
    constexpr double kSize = 0.25;
    proposals.push_back({FailureClass(8),
                         fmt::format("its sums are kept in {}, in an unknown order", each.text),
                         [&member, made, type = each.type] {
                           auto results = member.outputs();
                           const auto like = explained(member, made, type);
                           if (like) results[0] = *like;
                           return results;
                         },
                         {},
                         kSize});
  }
}

// Whether numbers that are held in a narrow type, with exact sums, leave no more: that is proposed elsewhere,
// and simulating accumulators takes long.
bool is_by_storage(const Screening& screening, double residual) {
  constexpr double kAlike = 0.01;
  for (const NarrowFormat& format : {NarrowFormat::float16(), NarrowFormat::bfloat16()}) {
    for (const uint32_t operands : {uint32_t{0}, PrecisionLoss::kAllOperands}) {
      if (screening.residual(PrecisionLoss{format, operands, true}) <= residual + kAlike) return true;
    }
  }
  return false;
}

}  // namespace

void propose_accumulators(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                          std::vector<Proposal>& proposals) {
  if (!is_float(member.declared_result())) return;
  const auto sums = PartialSums::of(member);
  if (!sums || sums->terms() < 2 || sums->count() == 0) return;
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr) {
    // The nodes behind hide the sums, so all of them are simulated, in the most usual orders.
    for (const NarrowFormat& format :
         {NarrowFormat::float16(), NarrowFormat::bfloat16(), NarrowFormat::float32().truncating()}) {
      const Accumulator accumulator{format, Order::kSequential};
      propose(member, context, accumulator, sums->results(accumulator), proposals);
    }
    return;
  }
  const Screening screening(*sums, member, *made);
  const auto all = all_accumulators(member, sums->terms());
  const Accumulator* best = nullptr;
  double least = 0.5;
  for (const Accumulator& each : all) {
    const double residual = screening.residual(each);
    if (residual >= least) continue;
    least = residual;
    best = &each;
  }
  if (best != nullptr && !is_by_storage(screening, least))
    propose(member, context, *best, sums->results(*best), proposals);
  propose_unknown_order(member, *made, proposals);
}

}  // namespace vernier
