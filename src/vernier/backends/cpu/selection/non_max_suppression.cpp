// NonMaxSuppression. Boxes are turned into corners only when their turn comes, which most never have.
// Overlaps are computed in double, as the operator is defined: an intersection near the threshold decides
// what is in the output.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/selection/measuring_kernel.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/box.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBoxesPerThread = 4096;

struct Candidate {
  float score;
  int32_t index;
};

// Whether a's turn comes after b's: the heap has the best in front.
bool comes_after(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && a.index > b.index);
}

// The thresholds, which are inputs, and so may differ from run to run.
struct Limits {
  int64_t boxes_per_class = 0;
  double iou = 0;
  float score = 0;
};

class NonMaxSuppression : public MeasuringKernel {
 public:
  explicit NonMaxSuppression(const KernelRequest& request)
      : MeasuringKernel(request),
        boxes_(request.in(0).dims[1]),
        classes_(request.in(1).dims[1]),
        rows_(request.in(0).dims[0] * classes_),
        centre_(ops::integer_attribute(request.node, "center_point_box") != 0),
        has_count_(is_given(request, 2)),
        has_iou_(is_given(request, 3)),
        has_score_(is_given(request, 4)) {
    name = "cpu:non_max_suppression";
    contract.computed = ElementType::kDouble;
    contract.stored = ElementType::kInt64;
    scratch_bytes = static_cast<size_t>(rows_ * boxes_) * sizeof(Candidate) +
                    static_cast<size_t>(rows_) * sizeof(int64_t);
  }

  static bool is_given(const KernelRequest& request, size_t input) {
    return request.has(input) && request.in(input).size() > 0;
  }

 protected:
  void find(const KernelArguments& arguments) const override {
    Limits limits;
    if (has_count_) limits.boxes_per_class = *static_cast<const int64_t*>(arguments.inputs[2]);
    if (has_iou_) limits.iou = *static_cast<const float*>(arguments.inputs[3]);
    if (has_score_) limits.score = *static_cast<const float*>(arguments.inputs[4]);
    parallel(rows_, std::max<int64_t>(1, kBoxesPerThread / std::max<int64_t>(1, boxes_)),
             [&](int64_t begin, int64_t end) {
               std::vector<ops::Box> chosen;
               for (int64_t row = begin; row < end; ++row) {
                 const int64_t count = gather(arguments, row, limits);
                 counts(arguments)[row] = select(arguments, row, count, limits, chosen);
               }
             });
  }

  void set_sizes(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    int64_t total = 0;
    for (int64_t row = 0; row < rows_; ++row) total += counts(arguments)[row];
    sizes[0] = {total, 3};
  }

  void write(const KernelArguments& arguments) const override {
    auto* triple = static_cast<int64_t*>(arguments.outputs[0]);
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t i = 0; i < counts(arguments)[row]; ++i, triple += 3) {
        triple[0] = row / classes_;
        triple[1] = row % classes_;
        triple[2] = candidates(arguments, row)[boxes_ - 1 - i].index;
      }
    }
  }

 private:
  int64_t* counts(const KernelArguments& arguments) const {
    return reinterpret_cast<int64_t*>(arguments.scratch);
  }
  // Gives a place for each box of a class of an image.
  Candidate* candidates(const KernelArguments& arguments, int64_t row) const {
    return reinterpret_cast<Candidate*>(counts(arguments) + rows_) + row * boxes_;
  }

  // The boxes that may be chosen, in no order. NaN is above no threshold.
  int64_t gather(const KernelArguments& arguments, int64_t row, const Limits& limits) const {
    const float* scores = static_cast<const float*>(arguments.inputs[1]) + row * boxes_;
    Candidate* to = candidates(arguments, row);
    int64_t count = 0;
    for (int64_t i = 0; i < boxes_; ++i) {
      to[count] = {scores[i], static_cast<int32_t>(i)};
      const bool is_number = scores[i] == scores[i];
      count += (has_score_ ? scores[i] > limits.score : is_number) ? 1 : 0;
    }
    return count;
  }

  // Takes the best from the heap, one by one. Those that are chosen move, in order, to the end of the same
  // memory, where as many places are free as have left the heap.
  int64_t select(const KernelArguments& arguments, int64_t row, int64_t count, const Limits& limits,
                 std::vector<ops::Box>& chosen) const {
    Candidate* heap = candidates(arguments, row);
    const float* corners = static_cast<const float*>(arguments.inputs[0]) + row / classes_ * boxes_ * 4;
    chosen.clear();
    std::make_heap(heap, heap + count, comes_after);
    while (count > 0 && static_cast<int64_t>(chosen.size()) < limits.boxes_per_class) {
      std::pop_heap(heap, heap + count, comes_after);
      const Candidate best = heap[--count];
      const float* at = corners + int64_t{best.index} * 4;
      const double values[] = {at[0], at[1], at[2], at[3]};
      const ops::Box box(values, centre_);
      if (std::any_of(chosen.begin(), chosen.end(),
                      [&](const ops::Box& other) { return box.overlap(other) > limits.iou; }))
        continue;
      chosen.push_back(box);
      heap[boxes_ - static_cast<int64_t>(chosen.size())] = best;
    }
    return static_cast<int64_t>(chosen.size());
  }

  int64_t boxes_, classes_, rows_;  // a row: the scores of a class of an image
  bool centre_, has_count_, has_iou_, has_score_;
};

std::unique_ptr<Kernel> make_non_max_suppression(const KernelRequest& request, std::string& reason) {
  const Dims &boxes = request.in(0).dims, &scores = request.in(1).dims;
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || scores[0] != boxes[0] ||
      scores[2] != boxes[1] || boxes[1] > std::numeric_limits<int32_t>::max()) {
    reason = fmt::format("boxes {} and scores {}", dims_text(boxes), dims_text(scores));
    return nullptr;
  }
  for (const size_t input : {0, 1, 2, 3, 4}) {
    if (!NonMaxSuppression::is_given(request, input)) continue;
    const ElementType wanted = input == 2 ? ElementType::kInt64 : ElementType::kFloat;
    if (request.in(input).element == wanted && (input < 2 || request.in(input).size() == 1)) continue;
    reason = "boxes that are no floats, or a limit that is not one number";
    return nullptr;
  }
  return std::make_unique<NonMaxSuppression>(request);
}

}  // namespace

void register_non_max_suppression(KernelRegistry& registry) {
  registry.add(
      {"", "NonMaxSuppression", LayoutRule::kPlain, Priority::kOwn, make_non_max_suppression, nullptr, true});
}

}  // namespace vernier::cpu
