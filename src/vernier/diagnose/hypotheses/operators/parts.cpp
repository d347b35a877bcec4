// B42, B43: a part of a result is wrong, and the rest is right: a tile, the last elements, places along an
// axis are multiples of what they should be, moved, or those of other places. Whether it is another cause in
// a part, reproduction.cpp asks of every cause.
#include <cmath>

#include "vernier/diagnose/hypotheses/extent.h"
#include "vernier/diagnose/hypotheses/rows.h"
#include "vernier/diagnose/hypotheses/runs/batch.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {

namespace {

class Part {
 public:
  Part(const Member& member, const Tensor& made, const ElementErrors& errors,
       std::vector<Proposal>& proposals)
      : member_(member), right_(member.out().to_doubles()), made_(made.to_doubles()), proposals_(proposals) {
    std::vector<bool> wrong(right_.size());
    for (size_t i = 0; i < right_.size(); ++i)
      wrong[i] =
          !(std::abs(made_[i] - right_[i]) <= kLargestDeviation * errors.at(i)) && made_[i] != right_[i];
    extent_ = extent_of(made.dims(), wrong, std::vector<bool>(right_.size(), true));
  }

  // Along the first axis lie the samples of a batch, if there are as many.
  void propose(int64_t batch) {
    if (!extent_) return;
    is_batch_ = extent_->axis == 0 && extent_->of == batch;
    propose_multiple();
    propose_moved();
    propose_other_places();
    propose_anything();
  }

 private:
  static constexpr size_t kFewest = 4;  // elements, of which a number that is fitted says anything

  // Proposes `change(element)` in the place of the elements that are wrong.
  void add(const std::string& what, const std::function<double(size_t)>& change, double penalty) {
    auto values = right_;
    for (size_t i = 0; i < values.size(); ++i) {
      if (extent_->wrong[i]) values[i] = change(i);
    }
    proposals_.push_back({FailureClass(is_batch_ ? 43 : 42),
                          fmt::format("{} {}", extent_->text(), what),
                          [&member = member_, values = std::move(values)] {
                            Tensors results = member.outputs();
                            results[0] = Tensor::from_doubles(results[0].type(), results[0].dims(), values);
                            return results;
                          },
                          {},
                          penalty,
                          true});
  }

  void propose_multiple() {
    double products = 0, squares = 0;
    for (size_t i = 0; i < right_.size(); ++i) {
      if (!extent_->wrong[i] || !std::isfinite(made_[i])) continue;
      products += made_[i] * right_[i];
      squares += right_[i] * right_[i];
    }
    const double factor = products / squares;
    constexpr double kNothing = 1e-6;  // a part that was never written
    if (std::isfinite(factor) && std::abs(factor) > kNothing && extent_->count() >= kFewest)
      add(
          fmt::format("are {:.4g} times what they should be", factor),
          [&](size_t i) { return factor * right_[i]; }, kFittedNumber);
  }

  void propose_moved() {
    constexpr double kOffset = 0.14;  // a bias of these places is likelier
    double sum = 0;
    for (size_t i = 0; i < right_.size(); ++i) {
      if (extent_->wrong[i]) sum += made_[i] - right_[i];
    }
    const double by = sum / static_cast<double>(extent_->count());
    if (std::isfinite(by) && extent_->count() >= kFewest)
      add(
          fmt::format("are {:.4g} more than they should be", by), [&](size_t i) { return right_[i] + by; },
          kOffset);
  }

  void propose_other_places() {
    constexpr double kMostWork = 1e8, kReadOff = 0.08;
    if (!extent_->axis) return;
    const Dims& dims = member_.out().dims();
    const size_t axis = *extent_->axis;
    size_t inner = 1;
    for (size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
    const auto count = static_cast<size_t>(dims[axis]);
    Rows rows{{}, {}, count, right_.size() / count};
    if (static_cast<double>(count) * static_cast<double>(right_.size()) > kMostWork || rows.size < 2) return;
    const auto place = [&](size_t row, size_t k) { return (k / inner * count + row) * inner + k % inner; };
    for (size_t row = 0; row < count; ++row) {
      for (size_t k = 0; k < rows.size; ++k) {
        rows.right.push_back(right_[place(row, k)]);
        rows.made.push_back(made_[place(row, k)]);
      }
    }
    const auto order = rows.order();
    if (is_in_place(order)) return;
    add(
        "are those of other places",
        [&](size_t i) {
          const size_t row = i / inner % count, k = i / inner / count * inner + i % inner;
          return rows.right[order[row] * rows.size + k];
        },
        kReadOff);
  }

  // The place is known, and no more.
  void propose_anything() {
    constexpr double kNoCause = 0.27;
    add(
        "are wrong, and the others are right", [&](size_t i) { return made_[i]; }, kNoCause);
  }

  const Member& member_;
  std::vector<double> right_, made_;
  std::vector<Proposal>& proposals_;
  std::optional<CausePart> extent_;
  bool is_batch_ = false;
};

}  // namespace

void propose_parts(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                   std::vector<Proposal>& proposals) {
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr || !is_float(made->type()) || made->size() < 2 || is_complex(made->type())) return;
  Part(member, *made, flagged.expected[*stored_output(member, 0, flagged)], proposals)
      .propose(batch_of(context));
}

}  // namespace vernier
