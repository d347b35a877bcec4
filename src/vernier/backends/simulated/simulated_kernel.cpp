#include <array>
#include <bit>

#include "vernier/backends/simulated/simulated_backend.h"
#include "vernier/base/error.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/support/math/product_terms.h"
#include "vernier/ops/tf32.h"

namespace vernier::simulated {

namespace {

struct KernelOperand {
  ElementType element;
  Dims dims, memory_dims;  // these with all rows that a cache has room for
  bool in_cache = false;

  bool is_dense() const { return dims == memory_dims; }
  size_t bytes() const { return static_cast<size_t>(element_count(memory_dims)) * element_size(element); }
};
using KernelOperands = std::vector<std::optional<KernelOperand>>;

KernelOperands keep(const std::vector<std::optional<Operand>>& operands) {
  KernelOperands kept;
  for (const auto& operand : operands) {
    kept.emplace_back();
    if (!operand) continue;
    kept.back() = {operand->element, operand->dims, operand->memory_dims(),
                   operand->layout == Layout::kCache};
  }
  return kept;
}

// Calls `move` with where the rows of each […] lie densely, where they lie in memory, and their bytes.
void for_each_block(const KernelOperand& operand, const std::function<void(size_t, size_t, size_t)>& move) {
  const auto block_of = [&](const Dims& dims) {
    return static_cast<size_t>(dims[dims.size() - 2] * dims.back()) * element_size(operand.element);
  };
  const size_t dense = block_of(operand.dims), step = block_of(operand.memory_dims);
  const size_t count = step == 0 ? 0 : operand.bytes() / step;
  for (size_t i = 0; i < count; ++i) move(i * dense, i * step, dense);
}

Tensor loaded(const DeviceMemory& memory, const KernelOperand& input, const void* from) {
  if (input.bytes() == 0) return Tensor(input.element, input.dims);
  auto content = memory.at(from, input.bytes());
  if (input.is_dense()) return Tensor::borrow(input.element, input.dims, content.get(), content);
  Tensor dense(input.element, input.dims);
  auto* to = static_cast<std::byte*>(dense.mutable_raw());
  for_each_block(input, [&](size_t at, size_t lies, size_t bytes) {
    std::copy_n(content.get() + lies, bytes, to + at);
  });
  return dense;
}

void store(const DeviceMemory& memory, const Tensor& tensor, const KernelOperand& output, void* to) {
  if (output.bytes() == 0) return;
  const auto content = memory.at(to, output.bytes());
  const auto* from = static_cast<const std::byte*>(tensor.raw());
  if (output.is_dense()) {
    std::copy_n(from, output.bytes(), content.get());
    return;
  }
  for_each_block(output, [&](size_t at, size_t lies, size_t bytes) {
    std::copy_n(from + at, bytes, content.get() + lies);
  });
}

// Whether factors, operands 0 and 1, are rounded to TF32.
bool rounds_to_tf32(const KernelRequest& request) {
  if (!ops::may_round_to_tf32(request.node) || !request.wants(0)) return false;
  std::vector<Dims> sizes;
  for (const auto& input : request.inputs) {
    if (input && input->element != ElementType::kFloat) return false;
    sizes.push_back(input ? input->dims : Dims());
  }
  return ops::ProductTerms::of(request.node, sizes, request.out().dims).has_value();
}

// Drops the bits that TF32 does not have, as matrix units may: no GPU is farther from the plan, which rounds
// to nearest.
Tensor truncated_to_tf32(const Tensor& tensor) {
  constexpr uint32_t kKept = 0xffffe000;
  Tensor result = tensor;
  for (float& value : result.mutable_values<float>())
    value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & kKept);
  return result;
}

class SimulatedKernel : public Kernel {
 public:
  SimulatedKernel(const KernelRequest& request, int times, bool wrong, Payloads payloads)
      : node_(request.node),
        inputs_(keep(request.inputs)),
        outputs_(keep(request.outputs)),
        times_(times),
        wrong_(wrong),
        payloads_(std::move(payloads)) {
    name = "simulated:" + node_.op;
    contract.computed = ElementType::kDouble;
    if (rounds_to_tf32(request)) contract.operands = OperandFormat::tf32();
    const auto first = std::find_if(outputs_.begin(), outputs_.end(), [](const auto& at) { return !!at; });
    if (first != outputs_.end()) contract.stored = (*first)->element;
  }

  void add_payloads(Payloads& to) const override { to.insert(payloads_.begin(), payloads_.end()); }
  // Constants, too: what an accelerator computes with lies in its own memory.
  bool reads(size_t input) const override { return input < inputs_.size() && inputs_[input].has_value(); }

  void run(const KernelArguments& arguments) const override {
    auto* stream = dynamic_cast<SimulatedStream*>(arguments.stream);
    if (stream == nullptr) throw internal_error("'{}' runs on streams of its device only", name);
    std::vector<const void*> from(inputs_.size());
    std::vector<void*> to(outputs_.size());
    std::vector<Access> accesses;
    for (size_t i = 0; i < from.size(); ++i) {
      if (!reads(i)) continue;
      from[i] = arguments.inputs[i];
      accesses.push_back({from[i], inputs_[i]->bytes(), false});
    }
    for (size_t i = 0; i < to.size(); ++i) {
      if (!outputs_[i]) continue;
      to[i] = arguments.outputs[i];
      accesses.push_back({to[i], outputs_[i]->bytes(), true});
    }
    SimulatedDevice& device = stream->device();
    stream->enqueue(name, accesses, [this, &device, from = std::move(from), to = std::move(to)] {
      device.count_kernel(name, node_.name);
      try {
        compute(device.memory(), from, to);
      } catch (Error& error) {
        throw error.at_node(node_.name);
      }
    });
  }

 private:
  void compute(const DeviceMemory& memory, const std::vector<const void*>& from,
               const std::vector<void*>& to) const {
    // Before inputs are read: an output that lies where an input does would destroy it. Those in caches do.
    for (size_t i = 0; i < to.size(); ++i) {
      const size_t bytes = outputs_[i] && !outputs_[i]->in_cache ? outputs_[i]->bytes() : 0;
      if (bytes > 0) poison({memory.at(to[i], bytes).get(), bytes});
    }
    std::vector<Tensor> operands(inputs_.size());
    std::vector<const Tensor*> inputs(inputs_.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!inputs_[i]) continue;
      operands[i] = loaded(memory, *inputs_[i], from[i]);
      if (contract.operands.is_defined() && i < 2) operands[i] = truncated_to_tf32(operands[i]);
      inputs[i] = &operands[i];
    }
    std::vector<Datum> results;
    for (int i = 0; i < times_; ++i) results = ops::evaluate(node_, inputs);
    for (size_t i = 0; i < to.size(); ++i) {
      if (outputs_[i]) store_result(memory, results.at(i), *outputs_[i], to[i]);
    }
    if (!wrong_ || !outputs_[0] || outputs_[0]->bytes() == 0) return;
    constexpr std::byte kOfExponent{0x40};
    memory.at(to[0], outputs_[0]->bytes()).get()[element_size(outputs_[0]->element) - 1] ^= kOfExponent;
  }

  static void store_result(const DeviceMemory& memory, const Datum& result, const KernelOperand& output,
                           void* to) {
    const Tensor& tensor = result.as_tensor();
    if (tensor.type() != output.element || tensor.dims() != output.dims)
      throw internal_error("the result is {}{}, not {}{}", element_type_short_name(tensor.type()),
                           dims_text(tensor.dims()), element_type_short_name(output.element),
                           dims_text(output.dims));
    store(memory, tensor, output, to);
  }

  const Node& node_;  // of the plan's graph
  const KernelOperands inputs_, outputs_;
  const int times_;
  const bool wrong_;
  const Payloads payloads_;
};

class SimulatedReorder : public Kernel {
 public:
  SimulatedReorder(const KernelOperand& from, const KernelOperand& to) : from_(from), to_(to) {
    name = "simulated:reorder";
  }

  void run(const KernelArguments& arguments) const override {
    auto* stream = dynamic_cast<SimulatedStream*>(arguments.stream);
    if (stream == nullptr) throw internal_error("'{}' runs on streams of its device only", name);
    const void* from = arguments.inputs[0];
    void* to = arguments.outputs[0];
    const std::array<Access, 2> accesses{{{from, from_.bytes(), false}, {to, to_.bytes(), true}}};
    const DeviceMemory& memory = stream->device().memory();
    stream->enqueue(name, accesses,
                    [this, &memory, from, to] { store(memory, loaded(memory, from_, from), to_, to); });
  }

 private:
  const KernelOperand from_, to_;
};

}  // namespace

std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to) {
  const auto is_known = [](Layout layout) { return layout == Layout::kPlain || layout == Layout::kCache; };
  if (!is_known(from.layout) || !is_known(to))
    throw internal_error("the simulated device has no {} layout",
                         layout_name(is_known(to) ? from.layout : to));
  return std::make_unique<SimulatedReorder>(
      KernelOperand{from.element, from.dims, from.memory_dims()},
      KernelOperand{from.element, from.dims, physical_dims(from.dims, to, from.capacity)});
}

std::unique_ptr<Kernel> make_kernel(const KernelRequest& request, int times, bool wrong, Payloads payloads) {
  return std::make_unique<SimulatedKernel>(request, times, wrong, std::move(payloads));
}

}  // namespace vernier::simulated
