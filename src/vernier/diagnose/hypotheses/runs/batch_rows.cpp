// B43: rows of a batch are exchanged, lost, or wrong where others are right.
#include <cmath>
#include <numeric>
#include <set>

#include "vernier/diagnose/hypotheses/rows.h"
#include "vernier/diagnose/hypotheses/runs/batch.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {

namespace {

class Batch {
 public:
  Batch(const Member& member, size_t result, std::vector<Proposal>& proposals)
      : member_(member), result_(result), proposals_(proposals) {}

  void add(const std::string& what, std::vector<double> values, double penalty = 0) {
    proposals_.push_back({FailureClass(43),
                          what,
                          [&member = member_, result = result_, values = std::move(values)] {
                            Tensors results = member.outputs();
                            const Tensor& right = results[result];
                            results[result] = Tensor::from_doubles(right.type(), right.dims(), values);
                            return results;
                          },
                          {},
                          penalty,
                          true});
  }

 private:
  const Member& member_;
  size_t result_;
  std::vector<Proposal>& proposals_;
};

// Rows of a flag or two are like others whatever was made.
bool tell_rows_apart(const Rows& rows) {
  std::set<std::vector<double>> different;
  for (size_t row = 0; row < rows.count; ++row) different.insert(rows.taken({row}));
  return 2 * different.size() > rows.count;
}

void propose_orders(const Rows& rows, Batch& batch) {
  if (!tell_rows_apart(rows)) return;
  const auto order = rows.order();
  if (!is_in_place(order))
    batch.add(is_permutation(order) ? "the rows of the batch are exchanged"
                                    : "rows of the batch are those of others",
              rows.taken(order));
  batch.add("all rows of the batch are the first one's", rows.taken(std::vector<size_t>(rows.count, 0)));
}

// Where the batch is a part of the first axis, with heads or nodes of a graph, or nobody knows it: only an
// exchange of rows. Of rows that are a few numbers some are near to any others, so that they say nothing, but
// where all come one place too late or too early.
void propose_exchange(const Rows& rows, Batch& batch) {
  constexpr size_t kFewNumbers = 4;
  constexpr double kMostWork = 1e8, kOther = 0.05;
  if (rows.count < 2) return;
  const std::string what = "its rows, along the first axis, are exchanged";
  std::vector<size_t> turned(rows.count);
  std::iota(turned.begin(), turned.end(), 0);
  std::rotate(turned.begin(), turned.end() - 1, turned.end());
  batch.add(what, rows.taken(turned), kOther);
  std::rotate(turned.begin(), turned.begin() + static_cast<ptrdiff_t>(2 % rows.count), turned.end());
  batch.add(what, rows.taken(turned), kOther);
  const auto count = static_cast<double>(rows.count), size = static_cast<double>(rows.size);
  if (rows.size < kFewNumbers || count * count * size > kMostWork) return;
  const auto order = rows.order();
  if (!is_in_place(order) && is_permutation(order)) batch.add(what, rows.taken(order), kOther);
}

// Rows that are what they should be, but for rounding.
std::vector<bool> right_rows(const Rows& rows, const ElementErrors& errors) {
  std::vector<bool> right(rows.count, true);
  for (size_t i = 0; i < rows.made.size(); ++i) {
    if (!(std::abs(rows.made[i] - rows.right[i]) <= kLargestDeviation * errors.at(i)))
      right[i / rows.size] = false;
  }
  return right;
}

void propose_parts(const Rows& rows, const ElementErrors& errors, Batch& batch) {
  const auto right = right_rows(rows, errors);
  const auto sound = static_cast<size_t>(std::count(right.begin(), right.end(), true));
  if (sound == 0 || sound == rows.count) return;
  auto lost = rows.right, other = rows.right;
  for (size_t i = 0; i < lost.size(); ++i) {
    if (right[i / rows.size]) continue;
    lost[i] = 0;
    other[i] = rows.made[i];
  }
  constexpr double kWhich = 0.02, kNoCause = 0.25;
  batch.add("rows of the batch are zero", std::move(lost), kWhich);
  batch.add(fmt::format("{} rows of the batch are right, and {} are not", sound, rows.count - sound),
            std::move(other), kNoCause);
}

}  // namespace

int64_t batch_of(const HypothesisContext& context) {
  int64_t batch = 0;
  for (const Value* input : context.graph.inputs) {
    const Tensor* content = input->is_constant() || !context.value ? nullptr : context.value(*input);
    if (content == nullptr || content->rank() == 0) continue;
    const int64_t rows = content->dims()[0];
    if (batch != 0 && rows != batch) return 0;
    batch = rows;
  }
  return batch > 1 ? batch : 0;
}

void propose_batch_rows(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                        std::vector<Proposal>& proposals) {
  const int64_t batch = batch_of(context);
  for (size_t result = 0; result < member.outputs().size(); ++result) {
    const Tensor& right = member.out(result);
    const Tensor* made = made_in_place(member, result, flagged);
    if (made == nullptr || right.rank() < 1 || right.size() == 0 || right.type() == ElementType::kString)
      continue;
    const auto count = static_cast<size_t>(right.dims()[0]);
    const Rows rows{right.to_doubles(), made->to_doubles(), count, static_cast<size_t>(right.size()) / count};
    Batch into(member, result, proposals);
    if (right.dims()[0] != batch) {
      if (right.rank() > 1) propose_exchange(rows, into);
      continue;
    }
    propose_orders(rows, into);
    propose_parts(rows, flagged.expected[*stored_output(member, result, flagged)], into);
  }
}

}  // namespace vernier
