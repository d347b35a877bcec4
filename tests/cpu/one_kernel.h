// Makes the kernel of one node and checks it against the operator's reference.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/upper_lanes.h"
#include "ops/one_node.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/exec/scratch.h"
#include "vernier/ops/infer_graph.h"

namespace vernier::cpu {

// Bits of any kind; of bools and integers narrower than a byte, and where every element must be a number,
// small numbers.
inline Tensor random_tensor(ElementType type, Dims dims, unsigned seed, bool any_bits = true) {
  std::mt19937_64 random(seed);
  Tensor result(type, std::move(dims));
  auto* bytes = static_cast<uint8_t*>(result.mutable_raw());
  if (any_bits && type != ElementType::kBool && element_bits(type) >= 8) {
    for (size_t i = 0; i < result.byte_size(); ++i) bytes[i] = static_cast<uint8_t>(random());
    return result;
  }
  std::vector<double> values(static_cast<size_t>(result.size()));
  for (double& value : values)
    value = is_float(type) ? std::uniform_real_distribution<double>(-3, 3)(random)
                           : static_cast<double>(random() % 2);
  return Tensor::from_doubles(type, result.dims(), values);
}

struct OneKernel {
  ops::OneNode node;
  std::vector<Tensor> inputs;       // undefined: left out
  std::set<size_t> constants = {};  // inputs whose content is known when the kernel is made
  Layout layout = Layout::kPlain;   // of the inputs that are images
  double tolerance = 0;             // 0: the same bits
  std::string reason = {};          // why there is no kernel
  std::string tactic = {};          // of KernelRequest

  // Calls body(kernels, request) for the node in the layouts that the backend chooses.
  template <class Body>
  auto with_request(const Body& body) const {
    Graph graph;
    std::vector<Value*> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      values.push_back(nullptr);
      if (!inputs[i].is_defined()) continue;
      values.back() = graph.add_constant("in" + std::to_string(i), inputs[i]);  // sizes may follow from it
    }
    Node* made = graph.add_node(node.make(values, graph));
    ops::infer_types(graph);
    KernelRequest request{*made, {}, {}};
    request.tactic = tactic;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_defined()) {
        request.inputs.emplace_back(std::nullopt);
        continue;
      }
      const bool image = inputs[i].rank() >= 3 && !constants.contains(i);
      request.inputs.push_back(Operand{inputs[i].type(), inputs[i].dims(), image ? layout : Layout::kPlain,
                                       constants.contains(i) ? &inputs[i] : nullptr});
    }
    for (const Value* output : made->outputs)
      request.outputs.push_back(Operand{output->type.tensor.element, *to_dims(*output->type.tensor.shape),
                                        Layout::kPlain, nullptr});
    const CpuBackend kernels;
    kernels.choose_layouts(request);
    return body(kernels, request);
  }

  std::vector<std::string> tactics() const {
    return with_request(
        [](const CpuBackend& kernels, const KernelRequest& request) { return kernels.tactics(request); });
  }

  // The outputs, plain; nothing if there is no kernel.
  std::optional<std::vector<Tensor>> run(std::string* name = nullptr, bool in_place = false) {
    return with_request([&](const CpuBackend& kernels, KernelRequest& request) {
      return run(kernels, request, name, in_place);
    });
  }

  // Checks the kernel of this name, with one thread and with several, and in place where it says so.
  void expect(std::string_view wanted) {
    std::string name;
    const auto reference = node.run(inputs);
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      const auto outputs = run(&name);
      ASSERT_TRUE(outputs) << node.op << ": " << reason;
      // Where nothing is to be written, no kernel of a family is needed.
      const bool empty = std::all_of(reference.begin(), reference.end(),
                                     [](const Tensor& output) { return output.size() == 0; });
      EXPECT_EQ(name, empty ? "cpu:empty" : wanted);
      compare(*outputs, reference);
      if (const auto overwritten = run(nullptr, true)) compare(*overwritten, reference);
    }
  }

 private:
  std::optional<std::vector<Tensor>> run(const CpuBackend& kernels, KernelRequest& request, std::string* name,
                                         bool in_place) {
    auto kernel = kernels.make(request, reason);
    if (!kernel) {  // as a plan does
      for (auto* operands : {&request.inputs, &request.outputs}) {
        for (auto& operand : *operands) {
          if (operand) operand->layout = Layout::kPlain;
        }
      }
      kernel = kernels.make(request, reason);
    }
    if (!kernel) return std::nullopt;
    if (name != nullptr) *name = kernel->name;
    if (in_place && kernel->in_place < 0) return std::nullopt;
    return run(*kernel, request, in_place);
  }

  static Tensor laid_out(const Tensor& tensor, const Operand& from, Layout to) {
    if (from.layout == to) return tensor;
    Operand target = from;
    target.layout = to;
    Tensor result(from.element, physical_dims(from.dims, to));
    const auto kernel = CpuBackend().reorder(from, to);
    Scratch scratch;
    const void* source = tensor.raw();
    void* at = result.mutable_raw();
    kernel->run({&source, &at, scratch.at_least(kernel->scratch_bytes)});
    return to == Layout::kPlain ? result.reshaped(from.dims) : result;
  }

  std::vector<Tensor> run(const Kernel& kernel, const KernelRequest& request, bool in_place) {
    std::vector<Tensor> given(inputs.size()), results;
    std::vector<const void*> from(inputs.size(), nullptr);
    std::vector<void*> to;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_defined()) continue;
      Operand plain = request.in(i);
      plain.layout = Layout::kPlain;
      given[i] = laid_out(inputs[i], plain, request.in(i).layout);
      from[i] = given[i].raw();
    }
    for (const auto& output : request.outputs) {
      results.emplace_back(output->element, physical_dims(output->dims, output->layout));
      std::memset(results.back().mutable_raw(), 0x5A, results.back().byte_size());
      to.push_back(results.back().mutable_raw());
    }
    if (in_place) {
      const auto source = static_cast<size_t>(kernel.in_place);
      EXPECT_EQ(given[source].byte_size(), results[0].byte_size());
      if (results[0].byte_size() > 0) std::memcpy(to[0], from[source], results[0].byte_size());
      from[source] = to[0];
    }
    Scratch scratch;
    std::byte* memory = scratch.at_least(kernel.scratch_bytes);
    if (kernel.scratch_bytes > 0) std::memset(memory, 0xFF, kernel.scratch_bytes);  // NaN, if it is read
    clear_upper_lanes();
    kernel.run({from.data(), to.data(), memory});
    EXPECT_NE(were_upper_lanes_clear(), false) << kernel.name << " slows down what its caller computes next";
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = laid_out(results[i], request.out(i), Layout::kPlain);
    return results;
  }

  void compare(const std::vector<Tensor>& outputs, const std::vector<Tensor>& reference) const {
    ASSERT_EQ(outputs.size(), reference.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_EQ(outputs[i].dims(), reference[i].dims());
      if (tolerance == 0) {
        EXPECT_TRUE(outputs[i].identical(reference[i])) << node.op << " output " << i << " differs";
        continue;
      }
      const auto is = outputs[i].to_doubles(), wanted = reference[i].to_doubles();
      for (size_t k = 0; k < is.size(); ++k) {
        if (std::isfinite(wanted[k]))
          ASSERT_NEAR(is[k], wanted[k], tolerance * std::max(1.0, std::abs(wanted[k])))
              << node.op << " at " << k;
        else
          ASSERT_TRUE(is[k] == wanted[k] || (std::isnan(is[k]) && std::isnan(wanted[k])))
              << node.op << " at " << k;
      }
    }
  }
};

}  // namespace vernier::cpu
