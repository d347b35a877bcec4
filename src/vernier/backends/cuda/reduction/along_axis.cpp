// Kernels that find or accumulate along one axis: ArgMax, ArgMin, CumSum, CumProd, TopK.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/shared/pointwise/program.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;
using P = RowParameters;

bool is_number(const Operand& x, std::string& reason) {
  if (!device_type(x.element).empty() && x.element != ElementType::kBool && x.rank() > 0 && x.size() > 0)
    return true;
  reason = fmt::format("no rows of {} {}", element_type_short_name(x.element), dims_text(x.dims));
  return false;
}

P rows_of(const Operand& x, int64_t axis) {
  const ops::AxisRows rows(x.dims, axis);
  P parameters{};
  parameters.outer = rows.outer;
  parameters.length = rows.length;
  parameters.inner = rows.inner;
  return parameters;
}

Kernels make_extremum(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  if (!is_number(x, reason)) return nullptr;
  const P parameters = rows_of(x, ops::integer_attribute(request.node, "axis"));
  auto kernel = std::make_unique<CudaKernel>(request, "arg-extremum");
  kernel->launch(
      kernel_source("rows",
                    {{"KIND", "ARG_EXTREMUM"},
                     {"T", std::string(device_type(x.element))},
                     {"ACC", std::string(device_type(pointwise::register_type(x.element)))},
                     {"LARGEST", request.node.op == "ArgMax" ? "1" : "0"},
                     {"LAST", ops::integer_attribute(request.node, "select_last_index") != 0 ? "1" : "0"}}),
      grid_over(parameters.outer * parameters.inner), parameters, {{&P::x, CudaKernel::input(0)}},
      {{&P::y, CudaKernel::output()}});
  return kernel;
}

// In double where the numbers are real: a sum is as long as the axis.
Kernels make_cumulative(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  if (!is_number(x, reason)) return nullptr;
  const Tensor* axis = request.has(1) ? request.in(1).constant : nullptr;
  if (axis == nullptr || axis->size() != 1) {
    reason = "the axis is known only when it runs";
    return nullptr;
  }
  const P parameters = rows_of(x, axis->to_ints()[0]);
  const ElementType computed = is_float(x.element) ? ElementType::kDouble : x.element;
  const auto flag = [&](const char* name) {
    return ops::integer_attribute(request.node, name) != 0 ? "1" : "0";
  };
  auto kernel = std::make_unique<CudaKernel>(request, "cumulative");
  if (is_float(x.element))
    kernel->contract = {computed, computed, x.element, NumericsContract::Order::kSequential};
  kernel->launch(kernel_source("rows", {{"KIND", "CUMULATIVE"},
                                        {"T", std::string(device_type(x.element))},
                                        {"ACC", std::string(device_type(computed))},
                                        {"PRODUCT", request.node.op == "CumProd" ? "1" : "0"},
                                        {"EXCLUSIVE", flag("exclusive")},
                                        {"REVERSE", flag("reverse")}}),
                 grid_over(parameters.outer * parameters.inner), parameters, {{&P::x, CudaKernel::input(0)}},
                 {{&P::y, CudaKernel::output()}});
  return kernel;
}

Kernels make_top_k(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  if (!is_number(x, reason)) return nullptr;
  const int64_t axis = ops::integer_attribute(request.node, "axis");
  P parameters = rows_of(x, axis);
  constexpr int64_t kLongest = 16384;  // each element meets all others
  if (parameters.length > kLongest || (!request.wants(0) && !request.wants(1))) {
    reason = "rows so long are sorted on the CPU";
    return nullptr;
  }
  const Operand& y = request.wants(0) ? request.out(0) : request.out(1);
  parameters.kept = y.dims[static_cast<size_t>(axis < 0 ? axis + x.rank() : axis)];
  const bool largest = request.node.version < 11 || ops::integer_attribute(request.node, "largest") != 0;
  auto kernel = std::make_unique<CudaKernel>(request, "top-k");
  kernel->launch(
      kernel_source("rows", {{"KIND", "TOP_K"},
                             {"T", std::string(device_type(x.element))},
                             {"ACC", std::string(device_type(pointwise::register_type(x.element)))},
                             {"LARGEST", largest ? "1" : "0"}}),
      grid_of_blocks(parameters.outer * parameters.inner, parameters.length), parameters,
      {{&P::x, CudaKernel::input(0)}}, {});
  if (request.wants(0)) kernel->add_pointer(offsetof(P, y), CudaKernel::output(0));
  if (request.wants(1)) kernel->add_pointer(offsetof(P, indices), CudaKernel::output(1));
  return kernel;
}

}  // namespace

void register_along_axis(KernelRegistry& registry) {
  registry.add("", "ArgMax", make_extremum);
  registry.add("", "ArgMin", make_extremum);
  registry.add("", "CumSum", make_cumulative);
  registry.add("", "CumProd", make_cumulative);
  registry.add("", "TopK", make_top_k);
}

}  // namespace vernier::cuda
