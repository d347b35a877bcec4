// Collects the places at which a decision differs. Internal to run; see ties.h.
#pragma once

#include <cmath>
#include <optional>

#include "vernier/run/ties.h"

namespace vernier {

class TieRecord {
 public:
  explicit TieRecord(const Node& node) {
    found_.node = node.name;
    found_.op = node.op;
  }

  // The reference took `chosen` and the actual side `other`, whose difference may have moved by `error`.
  // Values that are equal on both sides are no tie, for the standard says which of them comes first.
  void add(double chosen, double other, double error) {
    if (!(error > 0)) return refuse();
    add_allowed(chosen, other, error);
  }
  // The same where the standard leaves open what becomes of equal values.
  void add_allowed(double chosen, double other, double error) {
    const double margin = std::abs(chosen - other);
    if (!(margin <= error) || !std::isfinite(error)) return refuse();
    if (known_ && margin <= found_.margin) return;
    known_ = true;
    found_.chosen = chosen;
    found_.other = other;
    found_.margin = margin;
    found_.error = error;
  }
  void refuse() { clear_ = true; }
  bool refused() const { return clear_; }
  void count(int64_t rows) { found_.rows_swapped += rows; }

  std::optional<Decision> result() const {
    if (clear_ || !known_ || found_.rows_swapped == 0) return std::nullopt;
    return found_;
  }

 private:
  Decision found_;
  bool known_ = false, clear_ = false;
};

// For NonMaxSuppression.
void find_suppression_ties(const Node& node, const std::vector<std::optional<DecisionInput>>& operands,
                           const Tensor& reference, const Tensor& actual, TieRecord& record);

}  // namespace vernier
