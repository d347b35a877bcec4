// Every pointwise operator alone, and groups of them.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/pointwise/emit.h"
#include "vernier/backends/cuda/pointwise/layouts.h"
#include "vernier/backends/cuda/quantization/int8_table.h"
#include "vernier/backends/cuda/quantization/quantize_linear.h"
#include "vernier/backends/shared/pointwise/some_sizes.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier::cuda {

namespace {

// Each node computes in the type of its own operands; of a group with several the contract names the widest.
ElementType computed_type(const pointwise::Program& program) {
  ElementType widest = ElementType::kUndefined;
  for (const auto& each : program) {
    if (is_float(each.type) && (!is_float(widest) || element_size(each.type) > element_size(widest)))
      widest = each.type;
  }
  return widest;
}

// The operand whose elements are read before the result's are written in their place.
int in_place_of(const EmittedPointwise& emitted, const KernelRequest& request) {
  for (const PointwiseAccess& access : emitted.accesses) {
    const auto readings = std::count_if(emitted.accesses.begin(), emitted.accesses.end(),
                                        [&](const auto& other) { return other.input == access.input; });
    if (access.kind == PointwiseAccess::Kind::kDirect && readings == 1 &&
        request.in(access.input).constant == nullptr && request.outputs.size() == 1 &&
        element_size(access.element) == element_size(request.out().element))
      return static_cast<int>(access.input);
  }
  return -1;
}

std::unique_ptr<CudaKernel> kernel_of(const KernelRequest& request, const pointwise::Program& program) {
  auto kernel = std::make_unique<CudaKernel>(request, "pointwise");
  const EmittedPointwise emitted =
      add_pointwise(*kernel, request, program, [](size_t input) { return CudaKernel::input(input); });
  const ElementType computed = computed_type(program);
  if (is_float(computed)) kernel->contract = {computed, ElementType::kUndefined, request.out().element};
  kernel->contract.approximate = emitted.approximate;
  kernel->contract.rounds_between = true;
  kernel->in_place = in_place_of(emitted, request);
  return kernel;
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  for (const auto& output : request.outputs) {
    if (output && output->dims == request.out().dims) continue;
    reason = "results of different sizes";
    return nullptr;
  }
  const auto program = pointwise::lower(request, reason);
  if (!program) return nullptr;
  try {
    return kernel_of(request, *program);
  } catch (const pointwise::Refused& refused) {
    reason = refused.reason;
    return nullptr;
  }
}

// QuantizeLinear and DequantizeLinear, of types and scales that programs do not know, too.
std::unique_ptr<CudaKernel> make_quantizing(const KernelRequest& request, std::string& reason) {
  auto kernel = make(request, reason);
  return kernel ? std::move(kernel) : make_quantize_linear(request, reason);
}

// Operators of int8 that are no programs are tables.
std::unique_ptr<CudaKernel> make_of_int8(const KernelRequest& request, std::string& reason) {
  auto kernel = make(request, reason);
  return kernel ? std::move(kernel) : make_int8_table(request, reason);
}

MakeCudaKernel maker_of(const std::string& op) {
  if (op == "QuantizeLinear" || op == "DequantizeLinear") return make_quantizing;
  return op.starts_with("QLinear") ? make_of_int8 : make;
}

}  // namespace

EmittedPointwise add_pointwise(CudaKernel& kernel, const KernelRequest& request,
                               const pointwise::Program& program,
                               const std::function<CudaKernel::Place(size_t)>& place,
                               const GivenSteps& given) {
  EmittedPointwise emitted = emit_pointwise(request, program, given);
  kernel.launch(emitted.source, grid_over((request.out().size() + emitted.width - 1) / emitted.width),
                parameters_of(emitted, request), {}, {});
  add_operands(kernel, emitted, place, 0);
  return emitted;
}

void add_operands(CudaKernel& kernel, const EmittedPointwise& emitted,
                  const std::function<CudaKernel::Place(size_t)>& place, size_t at) {
  using P = PointwiseParameters;
  for (size_t i = 0; i < emitted.accesses.size(); ++i)
    kernel.add_pointer(at + offsetof(P, x) + i * sizeof(void*), place(emitted.accesses[i].input));
  for (const size_t i : emitted.outputs)
    kernel.add_pointer(at + offsetof(P, y) + i * sizeof(void*), CudaKernel::output(i));
  if (emitted.faults)
    kernel.report_faults(at + offsetof(P, faults), at + offsetof(P, fault), "an integer is divided by zero");
}

void lay_out_pointwise(KernelRequest& request) {
  Layout layout = Layout::kPlain;
  for (auto& input : request.inputs) {
    if (!input) continue;
    if (input->layout != Layout::kChannelsLast || input->rank() != request.out().rank())
      input->layout = Layout::kPlain;
    if (input->layout == Layout::kChannelsLast && input->dims == request.out().dims) layout = input->layout;
  }
  for (auto& output : request.outputs) {
    if (output) output->layout = layout;
  }
}

bool is_pointwise(const Node& node) {
  if (ops::is_group(node) || KernelRegistry::instance().lay_out(node) != lay_out_pointwise) return false;
  const auto request = pointwise::request_of_some_sizes(node);
  std::string reason;
  return request && make(*request, reason) != nullptr;
}

void register_pointwise(KernelRegistry& registry) {
  registry.add("vernier", "Group/pointwise", make, lay_out_pointwise);
  for (const ops::OpDef& def : ops::OpRegistry::instance().all()) {
    if ((def.traits & ops::kPointwise) != 0)
      registry.add(def.domain, def.op, maker_of(def.op), lay_out_pointwise);
  }
}

}  // namespace vernier::cuda
