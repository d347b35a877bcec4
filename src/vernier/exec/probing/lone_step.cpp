#include "vernier/exec/probing/lone_step.h"

#include "vernier/exec/laid_out.h"

namespace vernier {

namespace {

bool is_given(const Datum& datum) {
  return !datum.is_tensor() || datum.tensor.is_defined();
}

// Memory for the operands of one step, on the device of its kernel. Operands that share memory in the plan
// share it here, as a kernel may rely on: an output in place of an input, new rows behind those of a cache.
class LoneStep {
 public:
  LoneStep(const Plan& plan, const Step& step, const Backend& host)
      : plan_(plan),
        step_(step),
        host_(host),
        device_(*plan.devices[static_cast<size_t>(step.device)]),
        stream_(device_.stream()) {}

  void give(SlotId id, const Datum& input) {
    const Slot& slot = slot_of(id);
    const Operand& operand = slot.operand;
    if (const Slot& owner = slot_of(slot.storage); owner.home == Slot::Home::kConstant && !is_given(input)) {
      copy(owner.constant.raw(), address(slot.storage), owner.constant.byte_size());
      return;
    }
    if (!input.is_tensor() || input.tensor.type() != operand.element || input.tensor.dims() != operand.dims)
      throw bad_input("'{}' is given as another type, or in other sizes, than its step takes",
                      slot.value->name);
    Operand plain = operand;
    plain.layout = Layout::kPlain;
    const Tensor lies = laid_out(host_, input.tensor, plain, operand.layout);
    copy(lies.raw(), address(id), lies.byte_size());
  }

  void run() {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const SlotId id : step_.inputs) inputs.push_back(id == kNoSlot ? nullptr : address(id));
    for (const SlotId id : step_.outputs) outputs.push_back(id == kNoSlot ? nullptr : address(id));
    if (step_.kernel->scratch_bytes > 0) scratch_ = device_.allocate(step_.kernel->scratch_bytes);
    step_.kernel->prepare();
    step_.kernel->run({inputs.data(), outputs.data(), scratch_ ? scratch_->address() : nullptr,
                       device_.host_visible() ? nullptr : stream_.get()});
    stream_->wait_on_host(stream_->record());
  }

  Datum take(SlotId id) {
    const Operand& operand = slot_of(id).operand;
    Tensor lies(operand.element, operand.memory_dims());
    copy(address(id), lies.mutable_raw(), lies.byte_size());
    return laid_out(host_, lies, operand, Layout::kPlain);
  }

 private:
  const Slot& slot_of(SlotId id) const { return plan_.slots[static_cast<size_t>(id)]; }

  std::byte* address(SlotId id) {
    const Slot& slot = slot_of(id);
    auto& memory = memory_[slot.storage];
    if (!memory) memory = device_.allocate(slot_of(slot.storage).bytes());
    return memory->address() + slot.within;
  }

  void copy(const void* from, void* to, size_t bytes) {
    if (bytes == 0) return;
    stream_->copy(from, to, bytes);
    stream_->wait_on_host(stream_->record());
  }

  const Plan& plan_;
  const Step& step_;
  const Backend& host_;
  Device& device_;
  std::map<SlotId, std::unique_ptr<Buffer>> memory_;  // by the slot that owns it in the plan
  std::unique_ptr<Buffer> scratch_;
  std::unique_ptr<Stream> stream_;  // ends before what it works on
};

}  // namespace

std::vector<Datum> run_alone(const Plan& plan, const Step& step, const Backend& host,
                             std::span<const Datum> inputs, const std::vector<std::vector<Datum>>& captured) {
  if (inputs.size() != step.inputs.size())
    throw bad_input("a step of {} inputs was given {}", step.inputs.size(), inputs.size());
  if (step.copies) return {inputs.begin(), inputs.end()};
  if (!step.kernel) {
    std::vector<const Datum*> given;
    for (const Datum& input : inputs) given.push_back(is_given(input) ? &input : nullptr);
    DynamicShapeExecutor::Captured by_region;
    for (size_t r = 0; r < captured.size(); ++r)
      by_region[step.node->regions.at(r).second.get()] = captured[r];
    return DynamicShapeExecutor(host).run(plan, step, given, by_region);
  }
  LoneStep alone(plan, step, host);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (step.inputs[i] != kNoSlot && step.kernel->reads(i)) alone.give(step.inputs[i], inputs[i]);
  }
  alone.run();
  std::vector<Datum> outputs;
  for (const SlotId id : step.outputs) outputs.push_back(id == kNoSlot ? Datum() : alone.take(id));
  return outputs;
}

}  // namespace vernier
