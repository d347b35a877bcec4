// Gather, GatherElements, GatherND, ScatterElements, ScatterND.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;
constexpr const char* kOutside = "an index is outside of its axis";

bool has_indices(const KernelRequest& request, std::string& reason) {
  const ElementType type = request.in(1).element;
  if (type == ElementType::kInt32 || type == ElementType::kInt64) return true;
  reason = "indices are int32 or int64";
  return false;
}

std::string width_text(const Operand& operand) {
  return std::string(storage_type(element_size(operand.element)));
}

size_t axis_of(const KernelRequest& request) {
  return static_cast<size_t>(
      ops::normalize_axis(ops::integer_attribute(request.node, "axis"), request.in(0).rank()));
}

Kernels make_gather(const KernelRequest& request, std::string& reason) {
  if (!has_indices(request, reason)) return nullptr;
  const Operand& x = request.in(0);
  const size_t axis = axis_of(request);
  GatherParameters parameters{};
  parameters.outer = ops::product(x.dims, 0, axis);
  parameters.length = x.dims[axis];
  parameters.inner = ops::product(x.dims, axis + 1, x.dims.size());
  parameters.count = request.in(1).size();
  if (x.size() == 0) {
    reason = "there is nothing to gather";
    return nullptr;
  }
  auto kernel = std::make_unique<CudaKernel>(request, "gather");
  kernel->launch(
      kernel_source("gather",
                    {{"T", width_text(x)}, {"INDEX", std::string(device_type(request.in(1).element))}}),
      grid_over(request.out().size()), parameters,
      {{&GatherParameters::x, CudaKernel::input(0)}, {&GatherParameters::indices, CudaKernel::input(1)}},
      {{&GatherParameters::y, CudaKernel::output()}});
  kernel->report_faults(offsetof(GatherParameters, faults), offsetof(GatherParameters, fault), kOutside);
  return kernel;
}

// How an update meets what is there, by the attribute reduction; empty for one that no kernel has.
std::string meeting(const std::string& reduction, const Operand& operand) {
  if (reduction == "none") return "update";
  const auto type = device_type(operand.element);
  if (type.empty() || operand.element == ElementType::kBool) return "";
  const std::string pair = "wide(to), wide(update)";
  static const std::map<std::string, const char*> folds = {
      {"add", "Sum"}, {"mul", "Product"}, {"max", "Maximum"}, {"min", "Minimum"}};
  const auto fold = folds.find(reduction);
  return fold == folds.end() ? "" : fmt::format("narrow<{}>({}::of({}))", type, fold->second, pair);
}

std::string reduction_of(const Node& node) {
  return node.op == "Scatter" ? "none" : ops::text_attribute(node, "reduction");
}

std::string element_text(const Operand& operand, const std::string& reduction) {
  return reduction == "none" ? width_text(operand) : std::string(device_type(operand.element));
}

// Each update is rounded when it is stored.
NumericsContract sequential_contract(ElementType type) {
  if (!is_float(type)) return {};
  return {
      .computed = type, .accumulated = type, .stored = type, .order = NumericsContract::Order::kSequential};
}

// Sets sizes and steps of the indices; for columns the axis has one element.
void place_elements(const KernelRequest& request, size_t axis, bool columns, ElementsParameters& parameters) {
  const Operand &x = request.in(0), &indices = request.in(1);
  const auto steps = element_steps(x), index_steps = element_steps(indices);
  parameters.count = 1;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    parameters.index_sizes[i] = i == axis && columns ? 1 : indices.dims[i];
    parameters.steps[i] = i == axis ? 0 : steps[i];
    parameters.index_steps[i] = index_steps[i];
    parameters.count *= parameters.index_sizes[i];
  }
  parameters.axis_size = x.dims[axis];
  parameters.axis_step = steps[axis];
  parameters.index_axis_size = indices.dims[axis];
  parameters.index_axis_step = index_steps[axis];
}

bool serves_elements(const KernelRequest& request, size_t axis, std::string& reason) {
  const Dims &x = request.in(0).dims, &indices = request.in(1).dims;
  if (!has_indices(request, reason)) return false;
  bool fits = !x.empty() && x.size() <= kMaxRank && indices.size() == x.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = i == axis ? x[i] > 0 : indices[i] <= x[i];
  if (!fits) reason = "the indices reach beyond the data";
  return fits;
}

Kernels make_gather_elements(const KernelRequest& request, std::string& reason) {
  if (request.in(0).dims.empty()) {
    reason = "a scalar has no axis";
    return nullptr;
  }
  const size_t axis = axis_of(request);
  if (!serves_elements(request, axis, reason)) return nullptr;
  ElementsParameters parameters{};
  place_elements(request, axis, false, parameters);
  auto kernel = std::make_unique<CudaKernel>(request, "gather-elements");
  kernel->launch(
      kernel_source("elements", {{"SCATTER", "0"},
                                 {"T", width_text(request.in(0))},
                                 {"RANK", std::to_string(request.in(0).dims.size())},
                                 {"INDEX", std::string(device_type(request.in(1).element))}}),
      grid_over(parameters.count), parameters,
      {{&ElementsParameters::x, CudaKernel::input(0)}, {&ElementsParameters::indices, CudaKernel::input(1)}},
      {{&ElementsParameters::y, CudaKernel::output()}});
  kernel->report_faults(offsetof(ElementsParameters, faults), offsetof(ElementsParameters, fault), kOutside);
  return kernel;
}

// The data as they are, before what is scattered.
bool add_whole_copy(CudaKernel& kernel, const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  return add_copy(kernel, {element_size(x.element), {{x.size(), 1, 1}}, 0, 0}, CudaKernel::input(0),
                  CudaKernel::output(), reason);
}

Kernels make_scatter_elements(const KernelRequest& request, std::string& reason) {
  if (request.in(0).dims.empty()) {
    reason = "a scalar has no axis";
    return nullptr;
  }
  const size_t axis = axis_of(request);
  const std::string reduction = reduction_of(request.node), how = meeting(reduction, request.in(0));
  if (how.empty() || !serves_elements(request, axis, reason)) {
    if (how.empty()) reason = "its type, or its reduction";
    return nullptr;
  }
  ElementsParameters parameters{};
  place_elements(request, axis, true, parameters);
  auto kernel = std::make_unique<CudaKernel>(request, "scatter-elements");
  if (!add_whole_copy(*kernel, request, reason)) return nullptr;
  if (parameters.count * parameters.index_axis_size == 0) return kernel;
  kernel->launch(kernel_source("elements", {{"SCATTER", "1"},
                                            {"T", element_text(request.in(0), reduction)},
                                            {"OPERATOR", how},
                                            {"RANK", std::to_string(request.in(0).dims.size())},
                                            {"INDEX", std::string(device_type(request.in(1).element))}}),
                 grid_over(parameters.count), parameters,
                 {{&ElementsParameters::indices, CudaKernel::input(1)},
                  {&ElementsParameters::updates, CudaKernel::input(2)}},
                 {{&ElementsParameters::y, CudaKernel::output()}});
  kernel->report_faults(offsetof(ElementsParameters, faults), offsetof(ElementsParameters, fault), kOutside);
  if (reduction != "none") kernel->contract = sequential_contract(request.in(0).element);
  return kernel;
}

bool place_tuples(const KernelRequest& request, int64_t batch_dims, GatherNdParameters& parameters,
                  std::string& reason) {
  if (!has_indices(request, reason)) return false;
  const Dims &x = request.in(0).dims, &indices = request.in(1).dims;
  const auto batch = static_cast<size_t>(batch_dims);
  if (x.empty() || indices.empty() || request.in(0).size() == 0 || indices.back() > kMaxRank ||
      !std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(batch), indices.begin())) {
    reason = "there is nothing to index, or the batch axes differ";
    return false;
  }
  const auto steps = element_steps(request.in(0));
  const auto length = static_cast<size_t>(indices.back());
  for (size_t i = 0; i < length; ++i) {
    parameters.sizes[i] = x[batch + i];
    parameters.steps[i] = steps[batch + i];
  }
  parameters.tuple = static_cast<int>(length);
  parameters.block = ops::product(x, batch + length, x.size());
  parameters.batch_size = ops::product(x, batch, x.size());
  parameters.tuples = ops::product(indices, 0, indices.size() - 1);
  parameters.tuples_per_batch = ops::product(indices, batch, indices.size() - 1);
  return true;
}

Kernels make_gather_nd(const KernelRequest& request, std::string& reason) {
  GatherNdParameters parameters{};
  if (!place_tuples(request, ops::integer_attribute(request.node, "batch_dims"), parameters, reason))
    return nullptr;
  auto kernel = std::make_unique<CudaKernel>(request, "gather-nd");
  kernel->launch(
      kernel_source("gather_nd", {{"SCATTER", "0"},
                                  {"T", width_text(request.in(0))},
                                  {"INDEX", std::string(device_type(request.in(1).element))}}),
      grid_over(request.out().size()), parameters,
      {{&GatherNdParameters::x, CudaKernel::input(0)}, {&GatherNdParameters::indices, CudaKernel::input(1)}},
      {{&GatherNdParameters::y, CudaKernel::output()}});
  kernel->report_faults(offsetof(GatherNdParameters, faults), offsetof(GatherNdParameters, fault), kOutside);
  return kernel;
}

Kernels make_scatter_nd(const KernelRequest& request, std::string& reason) {
  const std::string reduction = reduction_of(request.node), how = meeting(reduction, request.in(0));
  GatherNdParameters parameters{};
  if (how.empty() || !place_tuples(request, 0, parameters, reason)) {
    if (how.empty()) reason = "its type, or its reduction";
    return nullptr;
  }
  constexpr int64_t kFewTuples = 4096, kWideBlock = 1024;
  if (parameters.tuples > kFewTuples && parameters.block < kWideBlock) {
    reason = "so many tuples, one after the other, would take too long";
    return nullptr;
  }
  auto kernel = std::make_unique<CudaKernel>(request, "scatter-nd");
  if (!add_whole_copy(*kernel, request, reason)) return nullptr;
  if (parameters.tuples * parameters.block == 0) return kernel;
  kernel->launch(kernel_source("gather_nd", {{"SCATTER", "1"},
                                             {"T", element_text(request.in(0), reduction)},
                                             {"OPERATOR", how},
                                             {"INDEX", std::string(device_type(request.in(1).element))}}),
                 grid_over(parameters.block), parameters,
                 {{&GatherNdParameters::indices, CudaKernel::input(1)},
                  {&GatherNdParameters::updates, CudaKernel::input(2)}},
                 {{&GatherNdParameters::y, CudaKernel::output()}});
  kernel->report_faults(offsetof(GatherNdParameters, faults), offsetof(GatherNdParameters, fault), kOutside);
  if (reduction != "none") kernel->contract = sequential_contract(request.in(0).element);
  return kernel;
}

}  // namespace

void register_gather_scatter(KernelRegistry& registry) {
  registry.add("", "Gather", make_gather);
  registry.add("", "GatherElements", make_gather_elements);
  registry.add("", "GatherND", make_gather_nd);
  registry.add("", "ScatterElements", make_scatter_elements);
  registry.add("", "Scatter", make_scatter_elements);
  registry.add("", "ScatterND", make_scatter_nd);
}

}  // namespace vernier::cuda
