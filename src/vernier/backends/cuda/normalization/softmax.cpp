// Softmax, LogSoftmax and Hardmax along any axis.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/shared/pointwise/program.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

RowParameters rows_of(const Node& node, const Dims& dims) {
  RowParameters rows{};
  rows.outer = rows.length = rows.inner = 1;
  const bool flattens = ops::softmax_flattens(node);
  const int64_t rank = std::max<int64_t>(1, static_cast<int64_t>(dims.size()));
  const auto axis = static_cast<size_t>(ops::normalize_axis(ops::softmax_axis(node), rank));
  if (dims.empty()) return rows;
  rows.outer = ops::product(dims, 0, axis);
  rows.length = flattens ? ops::product(dims, axis, dims.size()) : dims[axis];
  rows.inner = flattens ? 1 : ops::product(dims, axis + 1, dims.size());
  return rows;
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const auto type = device_type(x.element);
  if (!is_float(x.element) || type.empty() || request.out().element != x.element) {
    reason = fmt::format("no {} of {}", request.node.op, element_type_short_name(x.element));
    return nullptr;
  }
  const std::string& op = request.node.op;
  const ElementType computed = pointwise::register_type(x.element);
  auto kernel = std::make_unique<CudaKernel>(request, "softmax");
  kernel->contract = blocked_contract(computed, x.element);
  kernel->contract.accumulated = ElementType::kDouble;
  kernel->contract.approximate = op != "Hardmax";
  const RowParameters rows = rows_of(request.node, x.dims);
  kernel->launch(kernel_source("softmax", {{"T", std::string(type)},
                                           {"ACC", std::string(device_type(computed))},
                                           {"KIND", op == "Softmax"   ? "SOFTMAX"
                                                    : op == "Hardmax" ? "HARDMAX"
                                                                      : "LOG_SOFTMAX"}}),
                 grid_of_blocks(rows.outer * rows.inner, rows.length), rows,
                 {{&RowParameters::x, CudaKernel::input(0)}}, {{&RowParameters::y, CudaKernel::output()}});
  return kernel;
}

}  // namespace

void register_softmax(KernelRegistry& registry) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) registry.add("", op, make);
}

}  // namespace vernier::cuda
