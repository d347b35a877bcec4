// MaxPool: the largest element of each window, and where it stands (from opset 8). Padding never wins; NaN
// does. com.microsoft NhwcMaxPool: of 8-bit images [N, spatial..., C].
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/nn/channels_last.h"
#include "vernier/ops/support/nn/pool.h"

namespace vernier::ops {

namespace {

// Positions of a plane's elements as Indices names them: row-major, or column-major where storage_order is 1.
std::vector<int64_t> plane_positions(const Dims& plane, bool column_major) {
  std::vector<int64_t> positions;
  for_each_index(plane, [&](const Dims& index) {
    int64_t position = 0;
    if (column_major) {
      for (size_t i = index.size(); i-- > 0;) position = position * plane[i] + index[i];
    } else {
      position = static_cast<int64_t>(positions.size());
    }
    positions.push_back(position);
  });
  return positions;
}

// Fills the largest value of every window and its element's number in the plane; windows of padding alone
// keep `lowest` and -1.
template <class T>
void pool_plane(const WindowAxes& axes, const T* x, T lowest, T* largest, int64_t* element) {
  const int64_t windows = output_count(axes);
  std::fill_n(largest, windows, lowest);
  std::fill_n(element, windows, int64_t{-1});
  for_each_tap(axes, [&](int64_t window, int64_t at) {
    const T value = x[at];
    const bool wins = element[window] < 0 || value > largest[window] ||
                      (value != value && largest[window] == largest[window]);
    if (!wins) return;
    largest[window] = value;
    element[window] = at;
  });
}

void reference_max_pool(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const WindowAxes axes = pool_axes(context.node(), dims);
  const int64_t plane_size = input_count(axes), windows = output_count(axes);
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) {
    const auto x = arithmetic_elements<T>(context, 0);
    const T lowest = ends_of<T>(context.out_type(0)).first;
    std::vector<T> y(static_cast<size_t>(dims[0] * dims[1] * windows));
    std::vector<int64_t> element(y.size());
    for_each_plane(dims, [&](int64_t plane) {
      pool_plane(axes, x.data() + plane * plane_size, lowest, y.data() + plane * windows,
                 element.data() + plane * windows);
    });
    store_arithmetic(context, 0, context.out_dims(0), y);
    if (!context.wants(1)) return;
    const auto positions = plane_positions(Dims(dims.begin() + 2, dims.end()),
                                           context.attribute<int64_t>("storage_order", 0) != 0);
    for (int64_t i = 0; i < static_cast<int64_t>(element.size()); ++i) {
      int64_t& at = element[static_cast<size_t>(i)];
      at = at < 0 ? 0 : i / windows * plane_size + positions[static_cast<size_t>(at)];
    }
    context.store_ints(1, context.out_dims(1), element);
  });
}

void infer_nhwc(InferContext& context) {
  infer_channels_last(context, infer_pool);
}

void nhwc_reference(ReferenceContext& context) {
  const Dims dims = channels_first(context.dims(0)), out = channels_first(context.out_dims(0));
  const WindowAxes axes = pool_axes(context.node(), dims);
  const auto x = to_channels_first(context.reals(0).span(), context.dims(0));
  const double lowest = ends_of<double>(context.out_type(0)).first;
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  std::vector<int64_t> element(y.size());
  for_each_plane(dims, [&](int64_t plane) {
    const int64_t first = plane * output_count(axes);
    pool_plane(axes, x.data() + plane * input_count(axes), lowest, y.data() + first, element.data() + first);
  });
  context.store(0, to_channels_last(y, out));
}

}  // namespace

void register_max_pool(OpRegistry& registry) {
  registry.add({.op = "MaxPool",
                .operands = {Role::kData},
                .max_outputs = 2,
                .attributes = pool_attributes({{"storage_order", "INT"}}),
                .traits = kReduction | kRoundsNothing,
                .precision = PrecisionClass::kBounded,
                .since = {22, 1},
                .infer = infer_pool,
                .reference = reference_max_pool});
  registry.add({.domain = "com.microsoft",
                .op = "NhwcMaxPool",
                .operands = {Role::kData},
                .attributes = pool_attributes({}),
                .traits = kReduction | kRoundsNothing,
                .precision = PrecisionClass::kBounded,
                .infer = infer_nhwc,
                .reference = nhwc_reference});
}

}  // namespace vernier::ops
