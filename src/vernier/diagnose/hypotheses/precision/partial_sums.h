// The sums that a node makes, term by term, added up as an engine may do it: in a narrow format, in one order
// or another.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "vernier/diagnose/causes/member.h"
#include "vernier/diagnose/hypotheses/precision/narrow_format.h"
#include "vernier/ops/support/math/product_terms.h"

namespace vernier {

struct Accumulator {
  enum class Order : uint8_t {
    kSequential,    // one term after the other, each partial sum rounded
    kExactBlocks,   // blocks of terms are summed exactly, and each is added to an accumulator that is rounded
    kNarrowBlocks,  // blocks of terms are summed with rounding, and the sums of blocks exactly
    kBlocks,        // both with rounding
    kStoredBlocks,  // each block is summed exactly and stored, and what is stored is summed exactly
    kAddedBlocks,   // the same, but what is stored is added to an accumulator that is rounded
    kPairwise,      // two parts are summed first
  };
  NarrowFormat format;
  Order order = Order::kSequential;
  int64_t block = 0;             // terms
  bool rounds_products = false;  // before they are added
  bool rounds_operands = false;  // before they are multiplied

  double sum(std::span<const double> terms) const;
  std::string text() const;  // "float16, in blocks of 16 terms"
};

// Whether all that is wrong with a flagged node is rounding of its partial sums in float.
bool only_rounds_partial_sums(const FlaggedNode& flagged);
// How many times as large as expected errors are because partial sums are large; 1 if they are not. Only
// node, operands and expected results count. Some of the sums are looked at.
double partial_sum_growth(const FlaggedNode& flagged);

// The sums of a MatMul, Gemm, Conv, of a reduction or of a global average.
class PartialSums {
 public:
  // Nothing where the node makes no such sums. The member outlives this.
  static std::optional<PartialSums> of(const Member& member);

  int64_t count() const { return count_; }
  int64_t terms() const { return terms_; }  // of a sum, at most
  // Gives what the node makes of one sum.
  double result(int64_t sum, const Accumulator& accumulator) const;
  // The same of an exact sum, where operands 0 to 2 are these numbers; empty: they are the member's.
  using Operands = std::array<std::span<const double>, 3>;
  double exact_result(int64_t sum, const Operands& operands) const;
  Tensor results(const Accumulator& accumulator) const;
  // The root mean square of what rounding each partial sum to float makes of the sum. Where large terms of
  // one sign come first, and those of the other sign then take them away, that is much more than sums of
  // squares of the terms let expect.
  double float_rounding(int64_t sum) const;

 private:
  explicit PartialSums(const Member& member) : member_(member) {}
  bool set_products();
  bool set_reduction();
  // Rounds each factor to the format, if there is one.
  void collect(int64_t sum, const Operands& operands, const NarrowFormat* format,
               std::vector<double>& terms) const;
  double finished(int64_t sum, double value, std::span<const double> third) const;

  const Member& member_;
  int64_t count_ = 0, terms_ = 0;
  std::vector<double> a_, b_, third_;
  std::optional<ops::ProductTerms> products_;
  // A reduction has these: the places of the first term of each sum, and of all terms from there on.
  std::vector<int64_t> starts_, offsets_;
  double divisor_ = 1;
  bool squares_ = false, takes_root_ = false;
};

}  // namespace vernier
