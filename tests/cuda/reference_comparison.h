// A kernel on a GPU in software against the reference of its node.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "cuda/graph_requests.h"
#include "cuda/software_gpu.h"
#include "vernier/backends/cuda/contractions/faulty_sums.h"
#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/shared/caches.h"
#include "vernier/backends/shared/faults/fault_kernels.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/evaluate.h"

namespace vernier::cuda {

struct Case {
  std::string inputs, line, constants = "";
  std::map<size_t, std::vector<int64_t>> given = {};  // contents of inputs; others are drawn
  std::vector<std::string> followed = {};             // by these lines, in one group
  std::string kind = "";                              // of the group
  std::function<bool(KernelRequest&)> lay_out = {};   // where images do not lie plain
  std::optional<Fault> fault = {};                    // of the sums, as the host has it
  bool exact = false;                                 // bit for bit, but for NaN
  std::map<size_t, size_t> caches = {};               // outputs that lie behind these inputs
  std::string outputs = "%y";                         // of the graph
  bool to_a_unit = false;                             // within one in the last place
};

// Gives what the node makes; for a group, what its nodes make one by one.
inline std::vector<Tensor> evaluated(const Node& node, const std::vector<const Tensor*>& inputs) {
  if (!ops::is_group(node)) {
    std::vector<Tensor> made;
    for (const auto& each : ops::evaluate(node, inputs))
      made.push_back(node.output(made.size()) == nullptr ? Tensor() : each.as_tensor());
    return made;
  }
  std::map<const Value*, Tensor> values;
  const Graph& body = ops::body(node);
  for (size_t i = 0; i < inputs.size(); ++i) values[body.inputs[i]] = *inputs[i];
  for (const auto& member : body.nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* input : member->inputs)
      operands.push_back(input == nullptr ? nullptr : &values.at(input));
    values[member->output(0)] = evaluated(*member, operands).at(0);
  }
  std::vector<Tensor> made;
  for (const Value* output : body.outputs) made.push_back(values.at(output));
  return made;
}

// Computes on the host sums that go wrong.
inline std::vector<Tensor> wrongly_summed(Fault fault, const KernelRequest& request,
                                          const std::vector<const Tensor*>& inputs) {
  std::string reason;
  const auto kernel = make_faulty_host_sums(fault, request, reason);
  std::vector<const void*> from;
  for (const Tensor* input : inputs) from.push_back(input == nullptr ? nullptr : input->raw());
  Tensor made(request.out().element, request.out().dims);
  void* to = made.mutable_raw();
  kernel->run({from.data(), &to, nullptr});
  return {made};
}

inline Model model_of(const Case& each) {
  if (each.kind.empty()) return one_node(each.inputs, each.line, each.constants);
  std::vector<std::string> lines{each.line};
  lines.insert(lines.end(), each.followed.begin(), each.followed.end());
  return one_group(each.inputs, lines, each.kind, each.constants, each.outputs);
}

// Elements in the order of the axes as they lie in the operand's layout, or `back`. What lies between them is
// NaN.
inline Tensor arranged(const Tensor& tensor, const Operand& operand, bool back = false) {
  const Dims dims = back ? operand.dims : operand.memory_dims();
  const auto from = tensor.to_doubles();
  std::vector<double> to(static_cast<size_t>(element_count(dims)), std::nan(""));
  const auto plain = element_steps(operand.dims, Layout::kPlain), lies = element_steps(operand);
  for (size_t i = 0; i < static_cast<size_t>(operand.size()); ++i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < plain.size(); ++axis)
      at += static_cast<int64_t>(i) / plain[axis] % operand.dims[axis] * lies[axis];
    (back ? to[i] : to[static_cast<size_t>(at)]) = back ? from[static_cast<size_t>(at)] : from[i];
  }
  return Tensor::from_doubles(operand.element, dims, to);
}

// Lets outputs lie behind inputs, in memory for a few rows more.
inline void lay_out_caches(KernelRequest& request, const std::map<size_t, size_t>& caches) {
  constexpr int64_t kMore = 3;
  for (const auto& [output, input] : caches) {
    const int64_t rows = request.out(output).dims.at(request.out(output).dims.size() - 2);
    request.inputs.at(input)->layout = Layout::kCache;
    request.inputs.at(input)->capacity = request.outputs.at(output)->capacity = rows + kMore;
  }
  if (caches.empty()) return;
  KernelRegistry::instance().lay_out_caches(request.node)(request, caches_of(request));
  for (const auto& [output, input] : caches) ASSERT_TRUE(lies_behind(request, output, input));
}

inline void PrintTo(const Case& each, std::ostream* out) {
  *out << each.line;
}

inline Tensor drawn(const Operand& operand, std::mt19937& random) {
  std::vector<double> values;
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<int> integer(0, 3);
  for (int64_t i = 0; i < operand.size(); ++i)
    values.push_back(is_float(operand.element)               ? real(random)
                     : operand.element == ElementType::kBool ? integer(random) % 2
                                                             : integer(random));
  return Tensor::from_doubles(operand.element, operand.dims, values);
}

using MakeKernelOf = std::function<std::unique_ptr<CudaKernel>(const KernelRequest&, std::string& reason)>;

// The node's kernel, on operands that are drawn, against the reference. `libraries` as
// make_cuda_kernel has them; `made` sees the kernel before it runs; `make` makes it, if it is given.
inline void expect_reference(
    const Case& given_case, const SoftwareGpu& gpu, const Context& context,
    const KernelLibraries& libraries = {},
    const std::function<void(const CudaKernel&)>& made = [](const CudaKernel&) {},
    const MakeKernelOf& make = {}) {
  CudaDevice device(context);
  const Compiler compiler(gpu.nvrtc, "sm_90a");
  ProgramStore programs(context, compiler);
  const Model model = model_of(given_case);
  const Node& node = *model.graph->nodes().back();
  auto request = known_request(node);
  if (given_case.lay_out) {
    ASSERT_TRUE(given_case.lay_out(*request));
  }
  lay_out_caches(*request, given_case.caches);
  std::string reason;
  const auto kernel = make               ? make(*request, reason)
                      : given_case.fault ? make_faulty_sums(*given_case.fault, *request, reason)
                                         : make_cuda_kernel(*request, reason, libraries);
  ASSERT_NE(kernel, nullptr) << reason;
  kernel->install(device, programs);
  made(*kernel);
  std::mt19937 random(5);
  std::vector<Tensor> operands(node.inputs.size());
  std::vector<const Tensor*> inputs(node.inputs.size());
  std::vector<const void*> from(node.inputs.size());
  std::vector<std::unique_ptr<Buffer>> buffers;
  CudaStream stream(device);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!request->has(i)) continue;
    const Operand& operand = request->in(i);
    const auto given = given_case.given.find(i);
    operands[i] = operand.constant != nullptr ? *operand.constant
                  : given != given_case.given.end()
                      ? Tensor::from_ints(operand.element, operand.dims, given->second)
                      : drawn(operand, random);
    inputs[i] = &operands[i];
    const Tensor lies = operand.layout == Layout::kPlain ? operands[i] : arranged(operands[i], operand);
    buffers.push_back(device.allocate(lies.byte_size()));
    from[i] = buffers.back()->address();
    stream.copy(lies.raw(), buffers.back()->address(), lies.byte_size());
    stream.wait_on_host(stream.record());
  }
  std::vector<void*> to;
  for (size_t k = 0; k < request->outputs.size(); ++k) {
    const auto& output = request->outputs[k];
    if (!output) {
      to.push_back(nullptr);
      continue;
    }
    if (const auto cache = given_case.caches.find(k); cache != given_case.caches.end()) {
      to.push_back(const_cast<void*>(from[cache->second]));
      continue;
    }
    buffers.push_back(device.allocate(static_cast<size_t>(output->size()) * element_size(output->element)));
    to.push_back(buffers.back()->address());
    std::memset(to.back(), 0x7f, buffers.back()->bytes());
  }
  const auto scratch = device.allocate(kernel->scratch_bytes);
  kernel->run({from.data(), to.data(), scratch->address(), &stream});
  stream.wait_on_host(stream.record());
  const auto expected =
      given_case.fault ? wrongly_summed(*given_case.fault, *request, inputs) : evaluated(node, inputs);
  for (size_t k = 0; k < to.size(); ++k) {
    if (!request->wants(k)) continue;
    const Operand& output = request->out(k);
    const Tensor lies = Tensor::borrow(output.element, output.memory_dims(), to[k], nullptr);
    const Tensor got = arranged(lies, output, true);
    const auto a = got.to_doubles(), b = expected.at(k).to_doubles();
    const double tolerance = given_case.exact                           ? 0
                             : output.element == ElementType::kFloat16  ? 2e-3
                             : output.element == ElementType::kBFloat16 ? 2e-2
                             : is_float(output.element)                 ? 1e-5
                                                                        : 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(b[i])) {
        ASSERT_TRUE(std::isnan(a[i])) << "element " << i;
      } else if (std::isinf(b[i])) {
        ASSERT_EQ(a[i], b[i]) << "element " << i;
      } else {
        if (given_case.to_a_unit)
          ASSERT_LE(std::abs(float_format(output.element)->ulps(a[i] - b[i], b[i])), 1) << "element " << i;
        else
          ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i << " of output " << k;
      }
    }
  }
}

}  // namespace vernier::cuda
