// RotaryEmbedding of ai.onnx and com.microsoft.
#include "vernier/backends/cuda/attention/head_rows.h"
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/shared/attention/attention_operands.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cuda {

namespace {

struct Inputs {
  size_t cosines, sines, positions;
};
constexpr Inputs kOnnx{1, 2, 3}, kMicrosoft{2, 3, 1};

// The heads of x; nothing where it is not of heads that have so many pairs.
std::optional<HeadsPlace> heads_of(const KernelRequest& request, int64_t half) {
  const Operand& x = request.in(0);
  auto heads = ops::integer_attribute(request.node, "num_heads");
  if (x.rank() == 3 && heads == 0 && half > 0) heads = x.dims[2] / (2 * half);
  const auto place = place_heads(request, 0, heads);
  return place && half > 0 && place->size >= 2 * half ? place : std::nullopt;
}

template <const Inputs& inputs>
std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &cosines = request.in(inputs.cosines);
  const int64_t half = cosines.rank() < 2 ? 0 : cosines.dims.back();
  const auto place = heads_of(request, half);
  const auto turned = ops::integer_attribute(request.node, "rotary_embedding_dim");
  bool serves = place && is_attended(x.element) && (turned == 0 || turned == 2 * half) &&
                cosines.dims == request.in(inputs.sines).dims &&
                of_one_type(request, {inputs.cosines, inputs.sines});
  Rotation rotation{.cosines = CudaKernel::input(inputs.cosines),
                    .sines = CudaKernel::input(inputs.sines),
                    .half = half,
                    .angles = half == 0 ? 0 : cosines.size() / half,
                    .interleaved = ops::integer_attribute(request.node, "interleaved") != 0};
  if (serves && request.has(inputs.positions)) {
    const Operand& positions = request.in(inputs.positions);
    const bool of_first = positions.rank() == 1 && positions.size() == 1;
    rotation.positions = CudaKernel::input(inputs.positions);
    rotation.form = of_first ? Rotation::Positions::kOfFirst : Rotation::Positions::kOfEach;
    serves = positions.element == ElementType::kInt64 &&
             (of_first || positions.size() == place->batch * place->rows);
  }
  if (!serves) {
    reason = fmt::format("no rotation of {} {}", element_type_short_name(x.element), dims_text(x.dims));
    return nullptr;
  }
  auto kernel = std::make_unique<CudaKernel>(request, "rotary");
  kernel->contract = blocked_contract(ElementType::kFloat, x.element);
  kernel->contract.accumulated = ElementType::kUndefined;
  kernel->contract.order = NumericsContract::Order::kNone;
  add_head_rows(*kernel, {.element = x.element,
                          .from = *place,
                          .to = *place,
                          .x = CudaKernel::input(0),
                          .y = CudaKernel::output(),
                          .rotation = rotation});
  return kernel;
}

}  // namespace

void register_rotary_embedding(KernelRegistry& registry) {
  registry.add("", "RotaryEmbedding", make<kOnnx>);
  registry.add("com.microsoft", "RotaryEmbedding", make<kMicrosoft>);
}

}  // namespace vernier::cuda
