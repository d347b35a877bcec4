// A kernel on a GPU in software against the reference of its node.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "cuda/graph_requests.h"
#include "cuda/software_gpu.h"
#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/ops/evaluate.h"

namespace vernier::cuda {

struct Case {
  std::string inputs, line, constants = "";
  std::map<size_t, std::vector<int64_t>> given = {};  // contents of inputs; others are drawn
};

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

// The node's kernel, on operands that are drawn, against the reference. `cublaslt` as make_cuda_kernel has
// it; `made` sees the kernel before it runs.
inline void expect_reference(
    const Case& given_case, const SoftwareGpu& gpu, const Context& context, CublasLt* cublaslt = nullptr,
    const std::function<void(const CudaKernel&)>& made = [](const CudaKernel&) {}) {
  CudaDevice device(context);
  const Compiler compiler(gpu.nvrtc, "sm_90a");
  ProgramStore programs(context, compiler);
  const Model model = one_node(given_case.inputs, given_case.line, given_case.constants);
  const Node& node = *model.graph->nodes().back();
  auto request = known_request(node);
  std::string reason;
  const auto kernel = make_cuda_kernel(*request, reason, cublaslt);
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
    buffers.push_back(device.allocate(operands[i].byte_size()));
    from[i] = buffers.back()->address();
    stream.copy(operands[i].raw(), buffers.back()->address(), operands[i].byte_size());
  }
  std::vector<void*> to;
  for (const auto& output : request->outputs) {
    buffers.push_back(device.allocate(static_cast<size_t>(output->size()) * element_size(output->element)));
    to.push_back(buffers.back()->address());
    std::memset(to.back(), 0x7f, buffers.back()->bytes());
  }
  const auto scratch = device.allocate(kernel->scratch_bytes);
  kernel->run({from.data(), to.data(), scratch->address(), &stream});
  stream.wait_on_host(stream.record());
  const auto expected = ops::evaluate(node, inputs);
  for (size_t k = 0; k < to.size(); ++k) {
    const Operand& output = request->out(k);
    const Tensor got = Tensor::borrow(output.element, output.dims, to[k], nullptr);
    const auto a = got.to_doubles(), b = expected.at(k).as_tensor().to_doubles();
    const double tolerance = output.element == ElementType::kFloat16    ? 2e-3
                             : output.element == ElementType::kBFloat16 ? 2e-2
                             : is_float(output.element)                 ? 1e-5
                                                                        : 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(b[i])) {
        ASSERT_TRUE(std::isnan(a[i])) << "element " << i;
      } else {
        ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i << " of output " << k;
      }
    }
  }
}

}  // namespace vernier::cuda
