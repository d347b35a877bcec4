// MaxPool, AveragePool and LpPool.
#include "vernier/ops/support/nn/pool.h"

#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/window_parameters.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cuda {

namespace {

// Writes the lowest element as it lies in memory.
std::string lowest_text(ElementType type) {
  if (type == ElementType::kFloat16) return "f16{0xfc00}";
  if (type == ElementType::kBFloat16) return "bf16{0xff80}";
  if (is_float(type)) return "(T)-of_bits(0x7ff0000000000000ull)";
  return fmt::format("(T)(i64){:#x}ull", static_cast<uint64_t>(integer_min(type)));
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const Node& node = request.node;
  const Operand& x = request.in(0);
  const bool is_max = node.op == "MaxPool";
  const auto type = device_type(x.element);
  if (type.empty() || x.dims.size() < 3 || x.dims.size() > 5 || (!is_max && !is_float(x.element)) ||
      x.element == ElementType::kBool || node.version < 2 ||
      (node.op == "LpPool" && node.find_attribute("p") == nullptr)) {
    reason = "no pool of its type, or of so many axes";
    return nullptr;
  }
  PoolParameters parameters{};
  set_window(ops::pool_axes(node, x.dims), parameters);
  const bool channels_last = x.layout == Layout::kChannelsLast, indices = request.wants(1);
  if (x.layout != request.out().layout || (channels_last && indices)) {
    reason = "its images lie in different layouts";
    return nullptr;
  }
  parameters.planes = channels_last ? x.dims[0] : x.dims[0] * x.dims[1];
  parameters.channels = channels_last ? x.dims[1] : 1;
  const int64_t width = pack_width(parameters.channels, x.element), packs = request.out().size() / width;
  std::string kind = is_max ? "MAXIMUM" : "POWER";
  if (node.op == "AveragePool")
    kind = ops::integer_attribute(node, "count_include_pad") != 0 ? "PADDED_AVERAGE" : "AVERAGE";
  if (is_max) parameters.column_major = static_cast<int>(ops::integer_attribute(node, "storage_order"));
  if (node.op == "LpPool") parameters.power = static_cast<double>(node.attribute<int64_t>("p", {}));
  auto kernel = std::make_unique<CudaKernel>(request, "pool");
  if (!is_max) kernel->contract = blocked_contract(ElementType::kDouble, x.element);
  Definitions definitions = {{"T", std::string(type)},
                             {"KIND", kind},
                             {"LOWEST", lowest_text(x.element)},
                             {"N", std::to_string(width)},
                             {"IDX", std::string(index_type(packs))},
                             {"INDICES", indices ? "1" : "0"}};
  define_taps(parameters, definitions);
  kernel->launch(kernel_source("pool", definitions), grid_over(packs), parameters,
                 {{&PoolParameters::x, CudaKernel::input(0)}}, {{&PoolParameters::y, CudaKernel::output()}});
  if (indices) kernel->add_pointer(offsetof(PoolParameters, indices), CudaKernel::output(1));
  return kernel;
}

void lay_out(KernelRequest& request) {
  (request.wants(1) ? lay_out_plain : lay_out_image)(request);
}

}  // namespace

void register_pool(KernelRegistry& registry) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) registry.add("", op, make, lay_out);
}

}  // namespace vernier::cuda
