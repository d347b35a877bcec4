// Tile: the input, repeated along its axes. Opset 1 repeats one axis: inputs `tiles` and `axis`, of the
// input's type.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

// Copies along every axis from the content of inputs 1 and, in opset 1, 2; nothing if they are not known.
std::optional<std::vector<Dim>> repeats_of(const InferContext& context, size_t rank) {
  if (context.version() >= 6) {
    const auto count = list_length(context, 1);
    if (count && *count != rank) throw bad_input("{} repeats do not fit rank {}", *count, rank);
    const auto& repeats = context.dims(1);
    return repeats && repeats->size() == rank ? repeats : std::nullopt;
  }
  const auto tiles = truncated_content(context, 1), axis = truncated_content(context, 2);
  if (!tiles || !axis || !to_dims(*axis)) return std::nullopt;
  if (tiles->size() != 1 || axis->size() != 1) throw bad_input("the inputs 1 and 2 of Tile must be scalars");
  std::vector<Dim> repeats(rank, Dim(1));
  const int64_t only = normalize_axis(*axis->front().constant(), static_cast<int64_t>(rank));
  repeats[static_cast<size_t>(only)] = tiles->front();
  return repeats;
}

// A tile index and an index inside the tile for every axis: [repeats[0], dims[0], repeats[1], dims[1], …],
// where steps along a tile index stay in place.
struct Tiling {
  Dims sizes;
  Placement source;
};

Tiling tiling(const Dims& dims, const Dims& out) {
  Tiling result;
  const auto strides = strides_of(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    result.sizes.insert(result.sizes.end(), {dims[i] == 0 ? 0 : out[i] / dims[i], dims[i]});
    result.source.strides.insert(result.source.strides.end(), {0, strides[i]});
  }
  return result;
}

template <class Elements>
void tile(const Elements& from, const Dims& dims, Elements& to, const Dims& out) {
  const Tiling plan = tiling(dims, out);
  copy_placed(from, plan.source, to, dense(plan.sizes), plan.sizes);
}

void infer_tile(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return;
  const auto repeats = repeats_of(context, input->size());
  if (!repeats) return context.set_output(0, context.element(0), fresh_shape(context, input->size(), "tile"));
  Shape result;
  for (size_t i = 0; i < input->size(); ++i) result.push_back((*input)[i] * checked_size((*repeats)[i]));
  context.set_output(0, context.element(0), result);
  const auto content = content_of(context, 0);
  const auto dims = to_dims(result);
  if (!content || !dims || element_count(*dims) > kMaxFollowedElements) return;
  std::vector<Dim> tiled(static_cast<size_t>(element_count(*dims)));
  tile(content->elements, content->dims, tiled, *dims);
  context.set_dims(0, std::move(tiled));
}

void reference_tile(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const Dims dims = context.out_dims(0);
  tile(input, input.dims(), context.allocate(0, dims), dims);
}

}  // namespace

void register_tile(OpRegistry& registry) {
  registry.add({.op = "Tile",
                .operands = {Role::kData, Role::kSizes, Role::kAxes},
                .optional_inputs = 1,
                .traits = kDataMovement,
                .since = {13, 1},
                .infer = infer_tile,
                .reference = reference_tile,
                .flops = no_flops});
}

}  // namespace vernier::ops
