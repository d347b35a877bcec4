// B43: rows of a batch are exchanged, lost, or wrong where others are right.
#include <cmath>

#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {

namespace {

// How many samples the model gets at once; 0 if that is not known, or one.
int64_t batch_of(const Scene& scene) {
  int64_t batch = 0;
  for (const Value* input : scene.graph.inputs) {
    const Tensor* content = input->is_constant() || !scene.value ? nullptr : scene.value(*input);
    if (content == nullptr || content->rank() == 0) continue;
    const int64_t rows = content->dims()[0];
    if (batch != 0 && rows != batch) return 0;
    batch = rows;
  }
  return batch > 1 ? batch : 0;
}

struct Rows {
  std::vector<double> right, made;
  size_t count = 0, size = 0;

  double distance(size_t made_row, size_t right_row) const {
    double sum = 0;
    for (size_t i = 0; i < size; ++i) {
      const double difference = made[made_row * size + i] - right[right_row * size + i];
      sum += difference == difference ? difference * difference : HUGE_VAL;
    }
    return sum;
  }
  size_t nearest(size_t made_row) const {
    size_t best = made_row;
    for (size_t row = 0; row < count; ++row) {
      if (distance(made_row, row) < distance(made_row, best)) best = row;
    }
    return best;
  }
};

class Batch {
 public:
  Batch(const Member& member, size_t result, std::vector<Proposal>& proposals)
      : member_(member), result_(result), proposals_(proposals) {}

  void add(const std::string& what, std::vector<double> values, double handicap = 0) {
    proposals_.push_back({FailureClass(43),
                          what,
                          [&member = member_, result = result_, values = std::move(values)] {
                            Tensors results = member.outputs();
                            const Tensor& right = results[result];
                            results[result] = Tensor::from_doubles(right.type(), right.dims(), values);
                            return results;
                          },
                          {},
                          handicap,
                          true});
  }

 private:
  const Member& member_;
  size_t result_;
  std::vector<Proposal>& proposals_;
};

std::vector<double> taken(const Rows& rows, const std::vector<size_t>& order) {
  std::vector<double> values;
  for (const size_t row : order)
    values.insert(values.end(), rows.right.begin() + static_cast<ptrdiff_t>(row * rows.size),
                  rows.right.begin() + static_cast<ptrdiff_t>((row + 1) * rows.size));
  return values;
}

void propose_orders(const Rows& rows, Batch& batch) {
  std::vector<size_t> order(rows.count);
  bool in_place = true;
  for (size_t row = 0; row < rows.count; ++row) {
    order[row] = rows.nearest(row);
    in_place = in_place && order[row] == row;
  }
  if (!in_place) {
    const bool exchanged = std::set<size_t>(order.begin(), order.end()).size() == rows.count;
    batch.add(exchanged ? "the rows of the batch are exchanged" : "rows of the batch are those of others",
              taken(rows, order));
  }
  batch.add("all rows of the batch are the first one's", taken(rows, std::vector<size_t>(rows.count, 0)));
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

void propose_batch_rows(const Member& member, const Suspect& suspect, const Scene& scene,
                        std::vector<Proposal>& proposals) {
  const int64_t batch = batch_of(scene);
  if (batch == 0) return;
  for (size_t result = 0; result < member.outputs().size(); ++result) {
    const Tensor& right = member.out(result);
    const auto output = stored_output(member, result, suspect);
    if (!output || !right.is_defined() || right.rank() < 1 || right.dims()[0] != batch ||
        right.type() == ElementType::kString || !suspect.made[*output].is_defined() ||
        suspect.made[*output].dims() != right.dims())
      continue;
    const auto count = static_cast<size_t>(batch);
    const Rows rows{right.to_doubles(), suspect.made[*output].to_doubles(), count,
                    static_cast<size_t>(right.size()) / count};
    Batch into(member, result, proposals);
    propose_orders(rows, into);
    propose_parts(rows, suspect.expected[*output], into);
  }
}

}  // namespace vernier
