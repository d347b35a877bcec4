#include <algorithm>
#include <map>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/box.h"
#include "vernier/run/tie_record.h"

namespace vernier {

namespace {

// The boxes of one image with the scores of one class.
struct Candidates {
  std::vector<ops::Box> boxes;
  std::vector<double> box_errors;  // the largest of the four numbers of each
  const double *scores, *score_errors;
  double threshold = 0;
  std::optional<double> score_threshold;
  int64_t most = 0;

  // How far the overlap of two boxes may have moved, to first order. A corner that follows from centre and
  // size moves by up to 1.5 times as far as either.
  double overlap_error(size_t a, size_t b) const {
    const double moved = 1.5 * std::max(box_errors[a], box_errors[b]);
    const ops::Box &x = boxes[a], &y = boxes[b];
    const double overlap = std::max(0.0, x.overlap(y)), joint = (x.area + y.area) / (1 + overlap);
    const double lengths = (x.right - x.left) + (x.bottom - x.top) + (y.right - y.left) + (y.bottom - y.top);
    return joint > 0 ? 2 * moved * lengths * (1 + 2 * overlap) / joint : 0;
  }
};

// Goes through the boxes that the actual side chose, in its order, and asks of each what had to hold for it.
class SuppressionCheck {
 public:
  SuppressionCheck(const Candidates& all, TieRecord& record) : all_(all), record_(record) {}

  void run(const std::vector<int64_t>& got) {
    if (static_cast<int64_t>(got.size()) > all_.most) return record_.refuse();
    for (const int64_t index : got) {
      if (index < 0 || index >= static_cast<int64_t>(all_.boxes.size()) ||
          is_chosen(static_cast<size_t>(index)))
        return record_.refuse();
      choose(static_cast<size_t>(index));
    }
    if (static_cast<int64_t>(chosen_.size()) == all_.most) return;
    for (size_t box = 0; box < all_.boxes.size(); ++box) {
      if (!is_chosen(box) && !may_be_left_out(box)) return record_.refuse();
    }
  }

 private:
  bool is_chosen(size_t box) const { return std::find(chosen_.begin(), chosen_.end(), box) != chosen_.end(); }

  void choose(size_t box) {
    if (all_.score_threshold && !(all_.scores[box] > *all_.score_threshold))
      record_.add(*all_.score_threshold, all_.scores[box], all_.score_errors[box]);
    for (const size_t other : chosen_) {
      const double overlap = all_.boxes[box].overlap(all_.boxes[other]);
      if (overlap > all_.threshold) record_.add(all_.threshold, overlap, all_.overlap_error(box, other));
    }
    for (size_t other = 0; other < all_.boxes.size() && !record_.refused(); ++other) {
      if (other == box || is_chosen(other) || !(all_.scores[other] >= all_.scores[box])) continue;
      if (all_.scores[other] == all_.scores[box] && other > box) continue;
      const double error = all_.score_errors[box] + all_.score_errors[other];
      if (is_out(other)) continue;
      if (all_.scores[other] - all_.scores[box] <= error)
        record_.add_allowed(all_.scores[other], all_.scores[box], error);
      else if (!may_be_left_out(other))
        record_.refuse();
    }
    chosen_.push_back(box);
  }

  // Whether the reference would leave it out, too, after what was chosen so far.
  bool is_out(size_t box) const {
    if (all_.score_threshold && !(all_.scores[box] > *all_.score_threshold)) return true;
    return std::any_of(chosen_.begin(), chosen_.end(), [&](size_t other) {
      return all_.boxes[box].overlap(all_.boxes[other]) > all_.threshold;
    });
  }

  // Whether it is out, or is so by a tie, which is recorded.
  bool may_be_left_out(size_t box) {
    if (is_out(box) || std::isnan(all_.scores[box])) return true;
    if (all_.score_threshold && all_.scores[box] - *all_.score_threshold <= all_.score_errors[box]) {
      record_.add(all_.scores[box], *all_.score_threshold, all_.score_errors[box]);
      return true;
    }
    for (const size_t other : chosen_) {
      const double overlap = all_.boxes[box].overlap(all_.boxes[other]),
                   error = all_.overlap_error(box, other);
      if (!(all_.threshold - overlap <= error)) continue;
      record_.add(overlap, all_.threshold, error);
      return true;
    }
    return false;
  }

  const Candidates& all_;
  TieRecord& record_;
  std::vector<size_t> chosen_;
};

using Lists = std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>>;

// Boxes by image and class; nothing where these are not in order.
std::optional<Lists> lists_of(const Tensor& triples, int64_t images, int64_t classes) {
  if (triples.rank() != 2 || triples.dims()[1] != 3) return std::nullopt;
  const auto values = triples.to_ints();
  Lists lists;
  std::pair<int64_t, int64_t> last{0, 0};
  for (size_t i = 0; i + 2 < values.size(); i += 3) {
    const std::pair<int64_t, int64_t> key{values[i], values[i + 1]};
    if (key < last || key.first >= images || key.second < 0 || key.second >= classes) return std::nullopt;
    lists[last = key].push_back(values[i + 2]);
  }
  return lists;
}

int64_t differing(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  int64_t count = static_cast<int64_t>(std::max(a.size(), b.size()));
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) count -= a[i] == b[i] ? 1 : 0;
  return count;
}

std::optional<double> number(const std::vector<std::optional<DecisionInput>>& operands, size_t input) {
  if (input >= operands.size() || !operands[input] || operands[input]->values.empty()) return std::nullopt;
  return operands[input]->values[0];
}

}  // namespace

void find_suppression_ties(const Node& node, const std::vector<std::optional<DecisionInput>>& operands,
                           const Tensor& reference, const Tensor& actual, TieRecord& record) {
  const DecisionInput &boxes = *operands.at(0), &scores = *operands.at(1);
  const int64_t images = scores.dims.at(0), classes = scores.dims.at(1), count = scores.dims.at(2);
  const auto expected = lists_of(reference, images, classes), got = lists_of(actual, images, classes);
  if (!expected || !got) return record.refuse();
  const bool centre = ops::integer_attribute(node, "center_point_box") != 0;
  for (int64_t i = 0; i < images * classes && !record.refused(); ++i) {
    const std::pair key{i / classes, i % classes};
    const auto list = [&](const Lists& lists) {
      const auto found = lists.find(key);
      return found == lists.end() ? std::vector<int64_t>() : found->second;
    };
    const auto wanted = list(*expected), chosen = list(*got);
    if (wanted == chosen) continue;
    Candidates all;
    for (int64_t box = 0; box < count; ++box) {
      const auto at = static_cast<size_t>((key.first * count + box) * 4);
      all.boxes.emplace_back(boxes.values.data() + at, centre);
      all.box_errors.push_back(*std::max_element(&boxes.errors[at], &boxes.errors[at] + 4));
    }
    all.scores = scores.values.data() + i * count;
    all.score_errors = scores.errors.data() + i * count;
    all.most = static_cast<int64_t>(number(operands, 2).value_or(0));
    all.threshold = number(operands, 3).value_or(0);
    all.score_threshold = number(operands, 4);
    SuppressionCheck(all, record).run(chosen);
    record.count(differing(wanted, chosen));
  }
}

}  // namespace vernier
