// DynamicQuantizeLinear.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"

namespace vernier::cuda {

namespace {

using P = DynamicQuantizeParameters;

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  if (request.in(0).element != ElementType::kFloat) {
    reason = fmt::format("it quantizes floats, not {}", element_type_short_name(request.in(0).element));
    return nullptr;
  }
  constexpr int64_t kMostParts = kThreads, kPart = int64_t{16} * kThreads;  // elements worth a block
  P parameters{};
  parameters.count = request.in(0).size();
  parameters.parts = static_cast<int>(std::clamp<int64_t>(tiles_of(parameters.count, kPart), 1, kMostParts));
  auto kernel = std::make_unique<CudaKernel>(request, "dynamic-quantize");
  kernel->contract = {ElementType::kFloat, ElementType::kUndefined, ElementType::kUint8};
  kernel->scratch_bytes = sizeof(float) * 2 * static_cast<size_t>(parameters.parts);
  for (const bool ranges : {true, false}) {
    const Grid grid =
        ranges ? Grid{static_cast<unsigned>(parameters.parts), 1, 1, kThreads} : grid_over(parameters.count);
    kernel->launch(kernel_source("dynamic_quantize", {{"RANGES", ranges ? "1" : "0"}}), grid, parameters,
                   {{&P::x, CudaKernel::input(0)}}, {{&P::ranges, CudaKernel::scratch()}});
  }
  constexpr size_t kPlaces[] = {offsetof(P, y), offsetof(P, scale), offsetof(P, zero)};
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (request.wants(i)) kernel->add_pointer(kPlaces[i], CudaKernel::output(i));
  }
  return kernel;
}

}  // namespace

void register_dynamic_quantize(KernelRegistry& registry) {
  registry.add("", "DynamicQuantizeLinear", make);
}

}  // namespace vernier::cuda
