// NonMaxSuppression: for each image and class, boxes in order of falling score that overlap no chosen one by
// more than iou_threshold; equal scores in order of index. Gives [image, class, box] triples.
#include "vernier/base/threads.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/box.h"

namespace vernier::ops {

namespace {

void infer_non_max_suppression(InferContext& context) {
  for (size_t input : {0, 1}) {
    if (context.shape(input) && context.shape(input)->size() != 3)
      throw bad_input("boxes and scores must have rank 3");
  }
  const auto &boxes = context.shape(0), &scores = context.shape(1);
  if (boxes && scores &&
      !((*boxes)[0].may_equal((*scores)[0]) && (*boxes)[1].may_equal((*scores)[2]) &&
        (*boxes)[2].may_equal(4)))
    throw bad_input("scores {} for boxes {}", shape_text(*scores), shape_text(*boxes));
  context.set_output(0, ElementType::kInt64, Shape{context.fresh("selected"), 3});
}

struct Limits {
  int64_t boxes_per_class;
  double iou, score;
  bool has_score;
};

struct Candidate {
  double score;
  int64_t index;

  bool comes_before(const Candidate& other) const {
    return score > other.score || (score == other.score && index < other.index);
  }
};

std::vector<int64_t> select(const std::vector<Box>& boxes, const double* scores, const Limits& limits) {
  std::vector<Candidate> candidates;
  for (int64_t i = 0; i < static_cast<int64_t>(boxes.size()); ++i) {
    if (limits.has_score ? scores[i] > limits.score : !std::isnan(scores[i]))
      candidates.push_back({scores[i], i});
  }
  // A heap, for mostly a few of the best ones are enough.
  const auto comes_after = [](const Candidate& a, const Candidate& b) { return b.comes_before(a); };
  std::make_heap(candidates.begin(), candidates.end(), comes_after);
  std::vector<int64_t> indices;
  std::vector<Box> chosen;  // together in memory: all that are left are compared with them
  while (!candidates.empty() && static_cast<int64_t>(chosen.size()) < limits.boxes_per_class) {
    std::pop_heap(candidates.begin(), candidates.end(), comes_after);
    const Candidate candidate = candidates.back();
    candidates.pop_back();
    const Box& box = boxes[static_cast<size_t>(candidate.index)];
    const bool suppressed = std::any_of(chosen.begin(), chosen.end(),
                                        [&](const Box& other) { return box.overlap(other) > limits.iou; });
    if (suppressed) continue;
    chosen.push_back(box);
    indices.push_back(candidate.index);
  }
  return indices;
}

void reference_non_max_suppression(ReferenceContext& context) {
  const Dims &box_dims = context.dims(0), &score_dims = context.dims(1);
  if (box_dims[2] != 4 || score_dims[0] != box_dims[0] || score_dims[2] != box_dims[1]) {
    throw bad_input("boxes {} and scores {}", dims_text(box_dims), dims_text(score_dims));
  }
  const bool has_score = context.has(4) && context.in(4).size() > 0,
             has_iou = context.has(3) && context.in(3).size() > 0;
  const Limits limits{context.has(2) && context.in(2).size() > 0 ? context.integer(2, 0) : 0,
                      has_iou ? context.real(3, 0) : 0, has_score ? context.real(4, 0) : 0, has_score};
  const auto corners = context.reals(0), scores = context.reals(1);
  const bool centre = integer_attribute(context.node(), "center_point_box") != 0;
  const int64_t kinds = score_dims[1], count = box_dims[1];
  std::vector<std::vector<Box>> boxes(static_cast<size_t>(box_dims[0]));
  for (auto& of_image : boxes) of_image.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < box_dims[0] * count; ++i)
    boxes[static_cast<size_t>(i / count)].emplace_back(corners.data() + i * 4, centre);
  std::vector<std::vector<int64_t>> chosen(static_cast<size_t>(box_dims[0] * kinds));
  parallel_for(box_dims[0] * kinds, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, count)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   chosen[static_cast<size_t>(i)] =
                       select(boxes[static_cast<size_t>(i / kinds)], scores.data() + i * count, limits);
               });
  std::vector<int64_t> triples;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    for (const int64_t box : chosen[i]) triples.insert(triples.end(), {at / kinds, at % kinds, box});
  }
  context.store_ints(0, {static_cast<int64_t>(triples.size() / 3), 3}, triples);
}

}  // namespace

void register_non_max_suppression(OpRegistry& registry) {
  registry.add({.op = "NonMaxSuppression",
                .operands = {Role::kData, Role::kData, Role::kSizes, Role::kSetting, Role::kSetting},
                .optional_inputs = 3,
                .attributes = {{"center_point_box", "INT"}},
                .precision = PrecisionClass::kNeverLower,
                .since = kNoNarrowFloats,
                .infer = infer_non_max_suppression,
                .reference = reference_non_max_suppression});
}

}  // namespace vernier::ops
