// com.microsoft DynamicTimeWarping: the path of the lowest cost from the first to the last element of a
// matrix [M, N] (or [1, M, N]), by steps down, right, or both at once: rows and columns, [2, length].
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_dynamic_time_warping(InferContext& context) {
  const auto& cost = context.shape(0);
  const bool several = cost && cost->size() == 3 && (*cost)[0].is_constant() && (*cost)[0] != Dim(1);
  if (cost && (several || cost->size() < 2 || cost->size() > 3))
    throw bad_input("{} is no matrix", shape_text(*cost));
  context.set_output(0, ElementType::kInt32, Shape{2, context.fresh("path")});
}

enum class Step : uint8_t { kBoth, kDown, kRight };

// The last step of the best path to every element. Of equal costs a step to the right is taken.
std::vector<Step> last_steps(const Elements<double>& cost, int64_t rows, int64_t columns) {
  constexpr double kUnreachable = std::numeric_limits<double>::infinity();
  std::vector<double> above(static_cast<size_t>(columns) + 1, kUnreachable);
  above[0] = 0;
  std::vector<Step> steps;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> here(above.size(), kUnreachable);
    for (size_t column = 0; column < static_cast<size_t>(columns); ++column) {
      const double both = above[column], down = above[column + 1], right = here[column];
      const Step step = both < down && both < right   ? Step::kBoth
                        : down < both && down < right ? Step::kDown
                                                      : Step::kRight;
      const double before = step == Step::kBoth ? both : step == Step::kDown ? down : right;
      here[column + 1] = before + cost[row * columns + static_cast<int64_t>(column)];
      steps.push_back(step);
    }
    above = std::move(here);
  }
  return steps;
}

void reference_dynamic_time_warping(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  if (rows < 1 || columns < 1) throw bad_input("{} has no path", dims_text(dims));
  const auto steps = last_steps(context.reals(0), rows, columns);
  std::vector<int64_t> path_rows, path_columns;
  int64_t row = rows - 1, column = columns - 1;
  while (row >= 0 && column >= 0) {
    path_rows.push_back(row);
    path_columns.push_back(column);
    // At the border only one way leads back.
    const Step step = row == 0 && column > 0   ? Step::kRight
                      : column == 0 && row > 0 ? Step::kDown
                                               : steps[static_cast<size_t>(row * columns + column)];
    if (step != Step::kRight) --row;
    if (step != Step::kDown) --column;
  }
  std::reverse(path_rows.begin(), path_rows.end());
  path_rows.insert(path_rows.end(), path_columns.rbegin(), path_columns.rend());
  context.store_ints(0, {2, static_cast<int64_t>(path_columns.size())}, path_rows);
}

}  // namespace

void register_dynamic_time_warping(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "DynamicTimeWarping",
                .operands = {Role::kData},
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_dynamic_time_warping,
                .reference = reference_dynamic_time_warping});
}

}  // namespace vernier::ops
