#include <cmath>

#include "vernier/exec/group_members.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

namespace {

// How coarse arithmetic in a type is; that of integers is exact.
double coarseness(ElementType type) {
  if (type == ElementType::kUndefined) return -1;
  return is_float(type) ? unit_roundoff(type) : 0;
}

ElementType coarser(ElementType a, ElementType b) {
  return coarseness(b) > coarseness(a) ? b : a;
}

// Measures what is lost of a factor; without a format nothing is.
double loss_of_factors(const NumericsContract& contract) {
  return contract.operands.is_defined() ? std::pow(contract.operands.unit_roundoff(), contract.terms) : 0;
}

// Accumulators in pairs err less than those in blocks, and these less than those in sequence.
bool errs_more(NumericsContract::Order a, NumericsContract::Order b) {
  const auto rank = [](NumericsContract::Order order) {
    switch (order) {
      case NumericsContract::Order::kNone: return 0;
      case NumericsContract::Order::kPairwise: return 1;
      case NumericsContract::Order::kBlocked: return 2;
      case NumericsContract::Order::kSequential: return 3;
    }
    return 0;
  };
  return rank(a) > rank(b);
}

void add(const NumericsContract& kernel, NumericsContract& whole) {
  whole.computed = coarser(whole.computed, kernel.computed);
  whole.accumulated = coarser(whole.accumulated, kernel.accumulated);
  if (errs_more(kernel.order, whole.order)) whole.order = kernel.order;
  if (kernel.stored != ElementType::kUndefined) whole.stored = kernel.stored;
  if (loss_of_factors(kernel) > loss_of_factors(whole)) {
    whole.operands = kernel.operands;
    whole.terms = kernel.terms;
  }
  whole.winograd = std::max(whole.winograd, kernel.winograd);
  const bool rounds_more = kernel.probabilities.is_defined() &&
                           (!whole.probabilities.is_defined() ||
                            kernel.probabilities.unit_roundoff() > whole.probabilities.unit_roundoff());
  if (rounds_more) whole.probabilities = kernel.probabilities;
  whole.approximate |= kernel.approximate;
  whole.by_formula |= kernel.by_formula;
  whole.deterministic &= kernel.deterministic;
}

}  // namespace

NumericsContract sequence_contract(std::span<const NumericsContract> kernels) {
  NumericsContract whole;
  for (const NumericsContract& kernel : kernels) add(kernel, whole);
  whole.rounds_between = true;
  return whole;
}

}  // namespace vernier
