#include "vernier/backends/simulated/simulated_backend.h"

#include <cstring>

#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/base/error.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/randomness.h"

namespace vernier::simulated {

namespace {

bool is_plain_tensor(const std::optional<Operand>& operand) {
  return !operand || (operand->layout == Layout::kPlain && operand->element != ElementType::kUndefined &&
                      operand->element != ElementType::kString);
}

bool is_tensor(const Value* value) {
  return value == nullptr || value->type.is_tensor();
}

bool has_tactics(const KernelRequest& request, const SimulatedOptions& options) {
  const bool asked =
      options.tactics || (options.fault && options.fault->kind == DeviceFault::Kind::kWrongTactic);
  const auto* def = ops::OpRegistry::instance().find(request.node);
  return asked && def != nullptr && (def->traits & ops::kContraction) != 0;
}

// Why there is no kernel; empty if there is one.
std::string refusal(const KernelRequest& request, const SimulatedOptions& options) {
  const Node& node = request.node;
  const auto* def = ops::OpRegistry::instance().find(node);
  if (ops::is_group(node)) return "the simulated device computes the nodes of a group one by one";
  if (options.lacks.contains(node.op) || options.lacks.contains(node.qualified_op()))
    return "the simulated device lacks " + node.qualified_op();
  if (def == nullptr || def->reference == nullptr) return "the operator has no reference";
  if (!node.regions.empty()) return "control flow";
  if (ops::draws_random_numbers(node)) return "random numbers are drawn on the host";
  if (request.open_sizes) return "the sizes of its outputs are known only when it has run";
  if (!request.tactic.empty() && (request.tactic != kTwice || !has_tactics(request, options)))
    return fmt::format("there is no tactic '{}'", request.tactic);
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_tensor) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), is_tensor))
    return "sequences and optionals are on the host";
  if (!std::all_of(request.inputs.begin(), request.inputs.end(), is_plain_tensor) ||
      !std::all_of(request.outputs.begin(), request.outputs.end(), is_plain_tensor))
    return "its operands are strings, or no plain tensors";
  return {};
}

// A program computes an operator on operands of these types and sizes.
std::string program_name(const KernelRequest& request, int times) {
  std::string name = fmt::format("{} {}:", request.node.qualified_op(), times);
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const auto& operand : *operands) {
      if (operand)
        name += " " + std::string(element_type_short_name(operand->element)) + dims_text(operand->dims);
      name += ",";
    }
  }
  return name;
}

}  // namespace

SimulatedBackend::SimulatedBackend(SimulatedOptions options, const std::optional<FaultSpec>& fault)
    : device_(std::make_unique<SimulatedDevice>(std::move(options))) {
  if (!fault) return;
  const auto sums = [](Fault kind, const KernelRequest&, std::string& reason) {
    reason = fmt::format("the simulated device sums exactly, and has no {}", fault_name(kind));
    return std::unique_ptr<Kernel>();
  };
  injector_ = std::make_unique<FaultInjector>(
      *fault, *device_,
      [this](const KernelRequest& request, std::string& reason) { return make_sound(request, reason); },
      sums);
}

std::unique_ptr<Kernel> SimulatedBackend::make(const KernelRequest& request, std::string& reason) const {
  return injector_ ? injector_->make(request, reason) : make_sound(request, reason);
}

std::unique_ptr<Kernel> SimulatedBackend::make_sound(const KernelRequest& request,
                                                     std::string& reason) const {
  reason = refusal(request, device_->options());
  if (!reason.empty()) return nullptr;
  const int times = request.tactic.empty() ? 1 : 2;
  const std::string name = program_name(request, times), sound = "code of " + name;
  const std::string code = device_->code_of(name, sound);
  const bool wrong = times == 2 && device_->faults().strikes(DeviceFault::Kind::kWrongTactic);
  return make_kernel(request, times, wrong || code != sound, {{name, code}});
}

void SimulatedBackend::take(const Payloads& made) const {
  device_->take(made);
}

std::vector<std::string> SimulatedBackend::tactics(const KernelRequest& request) const {
  return has_tactics(request, device_->options()) ? std::vector<std::string>{kTwice}
                                                  : std::vector<std::string>();
}

void SimulatedBackend::choose_layouts(KernelRequest& request) const {
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
}

std::unique_ptr<Kernel> SimulatedBackend::reorder(const Operand& /*from*/, Layout to) const {
  throw internal_error("the simulated device has no {} layout", layout_name(to));
}

std::optional<FaultSpec> SimulatedBackend::applied_fault() const {
  device_->faults().require();
  return injector_ ? std::optional(injector_->applied()) : std::nullopt;
}

namespace {

struct KernelOperand {
  ElementType element;
  Dims dims;

  size_t bytes() const { return static_cast<size_t>(element_count(dims)) * element_size(element); }
};
using KernelOperands = std::vector<std::optional<KernelOperand>>;

KernelOperands keep(const std::vector<std::optional<Operand>>& operands) {
  KernelOperands kept;
  for (const auto& operand : operands) {
    kept.emplace_back();
    if (!operand) continue;
    kept.back() = {operand->element, operand->dims};
  }
  return kept;
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
    const DeviceMemory& memory = stream->device().memory();
    stream->enqueue(name, accesses, [this, &memory, from = std::move(from), to = std::move(to)] {
      try {
        compute(memory, from, to);
      } catch (Error& error) {
        throw error.at_node(node_.name);
      }
    });
  }

 private:
  void compute(const DeviceMemory& memory, const std::vector<const void*>& from,
               const std::vector<void*>& to) const {
    // Before inputs are read: an output that lies where an input does would destroy it.
    for (size_t i = 0; i < to.size(); ++i) {
      const size_t bytes = outputs_[i] ? outputs_[i]->bytes() : 0;
      if (bytes > 0) poison({memory.at(to[i], bytes).get(), bytes});
    }
    std::vector<Tensor> operands(inputs_.size());
    std::vector<const Tensor*> inputs(inputs_.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!inputs_[i]) continue;
      operands[i] = operand(memory, *inputs_[i], from[i]);
      inputs[i] = &operands[i];
    }
    std::vector<Datum> results;
    for (int i = 0; i < times_; ++i) results = ops::evaluate(node_, inputs);
    for (size_t i = 0; i < to.size(); ++i) {
      if (outputs_[i]) store(memory, results.at(i), *outputs_[i], to[i]);
    }
    if (!wrong_ || !outputs_[0] || outputs_[0]->bytes() == 0) return;
    constexpr std::byte kOfExponent{0x40};
    memory.at(to[0], outputs_[0]->bytes()).get()[element_size(outputs_[0]->element) - 1] ^= kOfExponent;
  }

  static Tensor operand(const DeviceMemory& memory, const KernelOperand& input, const void* from) {
    if (input.bytes() == 0) return Tensor(input.element, input.dims);
    auto content = memory.at(from, input.bytes());
    return Tensor::borrow(input.element, input.dims, content.get(), content);
  }

  static void store(const DeviceMemory& memory, const Datum& result, const KernelOperand& output, void* to) {
    const Tensor& tensor = result.as_tensor();
    if (tensor.type() != output.element || tensor.dims() != output.dims)
      throw internal_error("the result is {}{}, not {}{}", element_type_short_name(tensor.type()),
                           dims_text(tensor.dims()), element_type_short_name(output.element),
                           dims_text(output.dims));
    if (output.bytes() == 0) return;
    std::memcpy(memory.at(to, output.bytes()).get(), tensor.raw(), output.bytes());
  }

  const Node& node_;  // of the plan's graph
  const KernelOperands inputs_, outputs_;
  const int times_;
  const bool wrong_;
  const Payloads payloads_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const KernelRequest& request, int times, bool wrong, Payloads payloads) {
  return std::make_unique<SimulatedKernel>(request, times, wrong, std::move(payloads));
}

}  // namespace vernier::simulated
