// GridSample of images by explicit indices and weights.
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/support/resampling/grid_sampler.h"

namespace vernier {

namespace {

// Along one axis, for each place of the grid: a pixel that counts, and its weight, which is zero outside of
// the image.
struct Neighbour {
  Value *pixel, *weight;
};

class Sampling {
 public:
  Sampling(Replacement& node, const ops::GridRule& rule, int64_t height, int64_t width)
      : node_(node),
        rule_(rule),
        sizes_{width, height},  // in the order of the coordinates
        grid_(node.reshape(node.input(1), {0, -1, 2})) {}

  void write() {
    Value* pixels = node_.transpose(node_.reshape(node_.input(0), {0, 0, -1}), {0, 2, 1});
    Value* sum = nullptr;
    const auto columns = along(0);
    for (const Neighbour& row : along(1)) {
      for (const Neighbour& column : columns) {
        Value* place = node_("Add", {times(row.pixel, static_cast<double>(sizes_[0])), column.pixel});
        Value* found =
            node_("GatherND", {pixels, node_.cast(place, ElementType::kInt64)}, {{"batch_dims", int64_t{1}}});
        Value* part = node_("Mul", {found, node_("Mul", {row.weight, column.weight})});
        sum = sum == nullptr ? part : node_("Add", {sum, part});
      }
    }
    Value *image = node_("Shape", {node_.input(0)}), *grid = node_("Shape", {node_.input(1)});
    Value* made =
        node_("Concat", {node_.slice(image, 0, 0, 2), node_.slice(grid, 0, 1, 3)}, {{"axis", int64_t{0}}});
    node_("Reshape", {node_.transpose(sum, {0, 2, 1}), made});
  }

 private:
  std::vector<Neighbour> along(int64_t axis) {
    const auto size = static_cast<double>(sizes_[static_cast<size_t>(axis)]);
    Value* scaled = times(node_.slice(grid_, 2, axis, axis + 1), (rule_.align_corners ? size - 1 : size) / 2);
    Value* place = node_("Add", {scaled, node_.scalar((size - 1) / 2)});
    if (rule_.padding == ops::GridPadding::kBorder) place = within(place, size);
    if (rule_.interpolation == ops::Interpolation::kNearest) {
      Value* nearest = node_("Round", {place});
      return {{within(nearest, size), inside(nearest, size)}};
    }
    std::vector<Neighbour> neighbours;
    Value* first = node_("Floor", {place});
    for (Value* pixel : {first, node_("Add", {first, node_.scalar(1)})}) {
      Value* distance = node_("Abs", {node_("Sub", {place, pixel})});
      Value* weight = node_("Sub", {node_.scalar(1), distance});
      neighbours.push_back({within(pixel, size), node_("Mul", {weight, inside(pixel, size)})});
    }
    return neighbours;
  }
  Value* times(Value* value, double factor) { return node_("Mul", {value, node_.scalar(factor)}); }
  Value* within(Value* place, double size) {
    return node_("Min", {node_("Max", {place, node_.scalar(0)}), node_.scalar(size - 1)});
  }
  Value* inside(Value* place, double size) {
    return node_.cast(node_("Equal", {place, within(place, size)}), node_.type());
  }

  Replacement& node_;
  ops::GridRule rule_;
  int64_t sizes_[2];
  Value* grid_;  // [N, places, 2]
};

}  // namespace

bool write_sampling(Replacement& node) {
  const Node& own = node.node();
  if (own.op != "GridSample" || !is_float(node.type())) return false;
  const auto& shape = own.input(0)->type.tensor.shape;
  const auto rule = ops::GridRule::of(own);
  constexpr size_t kImage = 4;
  if (rule.interpolation == ops::Interpolation::kCubic || rule.padding == ops::GridPadding::kReflection ||
      !shape || shape->size() != kImage)
    return false;
  const auto height = (*shape)[2].constant(), width = (*shape)[3].constant();
  if (!height || !width) return false;
  Sampling(node, rule, *height, *width).write();
  return true;
}

}  // namespace vernier
