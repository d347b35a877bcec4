// NonMaxSuppression: for each image and class, boxes in order of falling score that overlap no chosen one by
// more than iou_threshold; equal scores in order of index. Gives [image, class, box] triples.
#include <numeric>

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer(InferContext& context) {
  for (size_t input : {0, 1}) {
    if (context.shape(input) && context.shape(input)->size() != 3)
      throw bad_input("boxes and scores must have rank 3");
  }
  context.set_output(0, ElementType::kInt64, Shape{context.fresh("selected"), 3});
}

struct Box {
  double left, top, right, bottom;

  // `corner` holds y1, x1, y2, x2 of any two opposite corners, or x, y, width, height about the centre.
  Box(const double* values, bool centre) {
    if (centre) {
      left = values[0] - values[2] / 2;
      right = values[0] + values[2] / 2;
      top = values[1] - values[3] / 2;
      bottom = values[1] + values[3] / 2;
    } else {
      std::tie(top, bottom) = std::minmax(values[0], values[2]);
      std::tie(left, right) = std::minmax(values[1], values[3]);
    }
  }
  double area() const { return (right - left) * (bottom - top); }

  // Boxes without area overlap nothing.
  bool overlaps(const Box& other, double threshold) const {
    const double width = std::min(right, other.right) - std::max(left, other.left);
    const double height = std::min(bottom, other.bottom) - std::max(top, other.top);
    if (!(width > 0 && height > 0)) return false;
    const double common = width * height;
    return common / (area() + other.area() - common) > threshold;
  }
};

struct Limits {
  int64_t boxes_per_class;
  double iou, score;
  bool has_score;
};

std::vector<int64_t> select(const std::vector<Box>& boxes, const double* scores, const Limits& limits) {
  std::vector<int64_t> order(boxes.size()), chosen;
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int64_t i) {
    return limits.has_score ? !(scores[i] > limits.score) : std::isnan(scores[i]);
  });
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (const int64_t candidate : order) {
    if (static_cast<int64_t>(chosen.size()) >= limits.boxes_per_class) break;
    const Box& box = boxes[static_cast<size_t>(candidate)];
    const bool suppressed = std::any_of(chosen.begin(), chosen.end(), [&](int64_t i) {
      return box.overlaps(boxes[static_cast<size_t>(i)], limits.iou);
    });
    if (!suppressed) chosen.push_back(candidate);
  }
  return chosen;
}

void reference(ReferenceContext& context) {
  const Dims &box_dims = context.dims(0), &score_dims = context.dims(1);
  if (box_dims[2] != 4 || score_dims[0] != box_dims[0] || score_dims[2] != box_dims[1]) {
    throw bad_input("boxes {} and scores {}", dims_text(box_dims), dims_text(score_dims));
  }
  const bool has_score = context.has(4) && context.in(4).size() > 0,
             has_iou = context.has(3) && context.in(3).size() > 0;
  const Limits limits{context.has(2) && context.in(2).size() > 0 ? context.integer(2, 0) : 0,
                      has_iou ? context.real(3, 0) : 0, has_score ? context.real(4, 0) : 0, has_score};
  const auto corners = context.reals(0), scores = context.reals(1);
  const bool centre = context.attribute<int64_t>("center_point_box", 0) != 0;
  std::vector<int64_t> triples;
  for (int64_t image = 0; image < box_dims[0]; ++image) {
    std::vector<Box> boxes;
    for (int64_t i = 0; i < box_dims[1]; ++i)
      boxes.emplace_back(corners.data() + (image * box_dims[1] + i) * 4, centre);
    for (int64_t kind = 0; kind < score_dims[1]; ++kind) {
      for (const int64_t box :
           select(boxes, scores.data() + (image * score_dims[1] + kind) * score_dims[2], limits)) {
        triples.insert(triples.end(), {image, kind, box});
      }
    }
  }
  context.store_ints(0, {static_cast<int64_t>(triples.size() / 3), 3}, triples);
}

}  // namespace

void register_non_max_suppression(OpRegistry& registry) {
  registry.add({.op = "NonMaxSuppression",
                .min_inputs = 2,
                .max_inputs = 5,
                .attributes = {{"center_point_box", "INT"}},
                .precision = PrecisionClass::kNeverLower,
                .infer = infer,
                .reference = reference});
}

}  // namespace vernier::ops
