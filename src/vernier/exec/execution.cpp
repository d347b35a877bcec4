#include "vernier/exec/execution.h"

#include <cstring>

#include "vernier/base/threads.h"

namespace vernier {

namespace {

constexpr size_t kFewOperands = 16;

bool fits(const Datum& datum, const Operand& operand) {
  return datum.is_tensor() && datum.tensor.type() == operand.element && datum.tensor.dims() == operand.dims;
}

using Range = std::pair<const std::byte*, const std::byte*>;

Range range_of(const Tensor& tensor) {
  const auto* begin = static_cast<const std::byte*>(tensor.raw());
  return {begin, begin + tensor.byte_size()};
}

// Copies what lies in memory that the next steps may write.
void detach(Datum& datum, const std::vector<Range>& passing) {
  if (datum.kind == Datum::Kind::kSequence) {
    std::vector<Datum> elements = datum.as_sequence();
    for (Datum& element : elements) detach(element, passing);
    datum = Datum::of_sequence(std::move(elements));
  } else if (datum.is_tensor()) {
    const auto* at = static_cast<const std::byte*>(datum.tensor.raw());
    for (const Range& range : passing) {
      if (at >= range.first && at < range.second) return static_cast<void>(datum.tensor.mutable_raw());
    }
  }
}

// Throws where the caller's memory is not for what the run yields.
void require_memory(const std::string& output, const Datum& result, const OutputMemory& memory) {
  if (result.is_tensor() && result.tensor.type() == memory.element && result.tensor.dims() == memory.dims)
    return;
  const std::string made = result.is_tensor()
                               ? fmt::format("{}{}", element_type_short_name(result.tensor.type()),
                                             dims_text(result.tensor.dims()))
                               : "no tensor";
  throw bad_input("output '{}' is {}, but the memory bound to it is {}{}", output, made,
                  element_type_short_name(memory.element), dims_text(memory.dims))
      .advise("bind memory of the sizes that these inputs give, or none");
}

// The device that all steps are on, and the outputs; the host if there is none. Inputs on the host are copied
// by a step, or nobody reads them.
int only_device(const Plan& plan) {
  std::set<int> all;
  const auto add = [&](SlotId id) {
    if (id != kNoSlot) all.insert(plan.slots[static_cast<size_t>(id)].device);
  };
  for (const Step& step : plan.steps) {
    all.insert(step.stream == kCallersThread ? kHost : step.device);
    std::for_each(step.inputs.begin(), step.inputs.end(), add);
    std::for_each(step.outputs.begin(), step.outputs.end(), add);
  }
  std::for_each(plan.outputs.begin(), plan.outputs.end(), add);
  return all.size() == 1 ? *all.begin() : kHost;
}

// Each kernel takes its time, and needs no other.
void prepare_kernels(const Plan& plan) {
  std::vector<const Kernel*> waiting;
  for (const Step& step : plan.steps) {
    if (step.kernel && !step.kernel->is_prepared()) waiting.push_back(step.kernel.get());
  }
  parallel_for(static_cast<int64_t>(waiting.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) waiting[i]->prepare();
  });
}

}  // namespace

Execution::Execution(std::shared_ptr<const Plan> plan, DynamicShapeExecutor& nodes, SessionMemory& memory)
    : plan_(std::move(plan)),
      nodes_(nodes),
      session_(memory),
      bases_(plan_->devices.size()),
      events_(plan_->streams.empty() ? 0 : plan_->steps.size()),
      memory_(plan_->slots.size()),
      data_(plan_->slots.size()) {
  prepare_kernels(*plan_);
  for (size_t i = 0; i < plan_->slots.size(); ++i) {
    const Slot& slot = plan_->slots[i];
    if (slot.storage != static_cast<SlotId>(i)) continue;
    if (slot.home == Slot::Home::kConstant && slot.device == kHost) {
      data_[i] = slot.constant;
      memory_[i] = const_cast<void*>(slot.constant.raw());  // steps only read it
    }
  }
  if (!plan_->streams.empty()) {
    open_streams();
    segments_ = replay_segments(*plan_).segments;
  }
  std::set<SlotId> filled;
  for (const SlotId id : plan_->outputs) {
    const Slot& slot = plan_->slots[static_cast<size_t>(id)];
    fills_memory_.push_back(slot.home == Slot::Home::kOutput && plan_->fills_storage(id) &&
                            filled.insert(slot.storage).second);
  }
  only_device_ = only_device(*plan_);
}

// An arena may have grown, and moved, for another plan.
void Execution::place_arenas() {
  std::vector<std::byte*> bases;
  for (size_t device = 0; device < plan_->devices.size(); ++device)
    bases.push_back(session_.at_least(*plan_->devices[device],
                                      device == kHost ? plan_->arena_bytes : plan_->device_bytes[device]));
  if (bases == bases_) return;
  bases_ = std::move(bases);
  for (size_t i = 0; i < plan_->slots.size(); ++i) {
    const Slot& slot = plan_->slots[i];
    if (slot.storage == static_cast<SlotId>(i) && slot.home == Slot::Home::kArena)
      memory_[i] = bases_[static_cast<size_t>(slot.device)] + slot.offset;
  }
}

const void* Execution::address(SlotId id) const {
  if (id == kNoSlot) return nullptr;
  const Slot& slot = plan_->slots[static_cast<size_t>(id)];
  return static_cast<const std::byte*>(memory_[static_cast<size_t>(slot.storage)]) + slot.within;
}

// The value as a datum; memory of the arena is borrowed.
Datum Execution::datum(SlotId id) const {
  const Slot& slot = plan_->slots[static_cast<size_t>(id)];
  const auto owner = static_cast<size_t>(slot.storage);
  if (slot.home == Slot::Home::kArena || slot.home == Slot::Home::kOutput)
    return Tensor::borrow(slot.operand.element, slot.operand.dims, address(id), nullptr);
  if (owner == static_cast<size_t>(id)) return data_[owner];
  const Tensor& whole = data_[owner].as_tensor();
  if (whole.size() == element_count(slot.operand.dims)) return whole.reshaped(slot.operand.dims);
  return Tensor::borrow(slot.operand.element, slot.operand.dims, address(id),
                        std::make_shared<Tensor>(whole));
}

void Execution::set_made(SlotId id, Datum datum) {
  data_[static_cast<size_t>(id)] = std::move(datum);
  const Datum& kept = data_[static_cast<size_t>(id)];
  memory_[static_cast<size_t>(id)] = kept.is_tensor() ? const_cast<void*>(kept.tensor.raw()) : nullptr;
}

void Execution::run_kernel(const Step& step) {
  const void* few_inputs[kFewOperands];
  void* few_outputs[kFewOperands];
  std::vector<const void*> many_inputs(step.inputs.size() > kFewOperands ? step.inputs.size() : 0);
  std::vector<void*> many_outputs(step.outputs.size() > kFewOperands ? step.outputs.size() : 0);
  const void** inputs = many_inputs.empty() ? few_inputs : many_inputs.data();
  void** outputs = many_outputs.empty() ? few_outputs : many_outputs.data();
  for (size_t i = 0; i < step.inputs.size(); ++i) inputs[i] = address(step.inputs[i]);
  for (size_t i = 0; i < step.outputs.size(); ++i) outputs[i] = const_cast<void*>(address(step.outputs[i]));
  step.kernel->run(
      {inputs, outputs, bases_[static_cast<size_t>(step.device)] + step.scratch, stream_of(step)});
}

void Execution::run_node(const Step& step, const RunOptions& options) {
  std::vector<Datum> data;
  data.reserve(step.inputs.size());
  std::vector<const Datum*> inputs;
  std::vector<Range> passing;  // what a result must not keep
  const auto lend = [&](SlotId id) {
    Datum lent = datum(id);
    const Slot::Home home = plan_->slots[static_cast<size_t>(id)].home;
    if (home == Slot::Home::kArena || home == Slot::Home::kOutput) passing.push_back(range_of(lent.tensor));
    return lent;
  };
  inputs.reserve(step.inputs.size());
  for (const SlotId id : step.inputs) {
    if (id == kNoSlot) {
      inputs.push_back(nullptr);
      continue;
    }
    const Slot& slot = plan_->slots[static_cast<size_t>(id)];
    const bool is_kept =
        slot.storage == id && slot.home != Slot::Home::kArena && slot.home != Slot::Home::kOutput;
    if (!is_kept) data.push_back(lend(id));
    inputs.push_back(is_kept ? &data_[static_cast<size_t>(id)] : &data.back());
  }
  DynamicShapeExecutor::Captured captured;
  for (const auto& [region, slots] : step.captured) {
    for (const SlotId id : slots) captured[region].push_back(lend(id));
  }
  auto results = nodes_.run(*plan_, step, inputs, captured, options);
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    Datum& result = results[i];
    const Slot& slot = plan_->slots[static_cast<size_t>(step.outputs[i])];
    if (slot.known && !fits(result, slot.operand))
      throw internal_error("'{}' is not what was planned", slot.value->name).at_node(step.node->name);
    detach(result, passing);
    set_made(step.outputs[i], std::move(result));
  }
}

void Execution::prepare_outputs(std::vector<Datum>& outputs, const RunOptions& options) {
  outputs.resize(plan_->outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Slot& slot = plan_->slots[static_cast<size_t>(plan_->outputs[i])];
    if (!fills_memory_[i]) continue;
    void*& memory = memory_[static_cast<size_t>(slot.storage)];
    if (!options.memory.empty() && options.memory[i].given()) {
      const OutputMemory& bound = options.memory[i];
      outputs[i] = Tensor::borrow(slot.operand.element, slot.operand.dims, bound.data, nullptr);
      require_memory(plan_->graph->outputs[i]->name, outputs[i], bound);
      memory = bound.data;
      continue;
    }
    if (slot.device != kHost)
      throw bad_input("output '{}' lies on a device, where no memory is given for it", slot.value->name);
    if (!fits(outputs[i], slot.operand)) outputs[i] = Tensor(slot.operand.element, slot.operand.dims);
    memory = outputs[i].tensor.mutable_raw();
  }
}

void Execution::finish_outputs(std::vector<Datum>& outputs, std::span<const Datum> inputs,
                               const RunOptions& options) {
  for (size_t i = 0; i < options.cached_rows.size(); ++i) {
    if (!options.bindings[i].is_cache()) continue;
    const Dims& dims =
        plan_->slots[static_cast<size_t>(plan_->outputs[options.bindings[i].output])].operand.dims;
    options.cached_rows[i] = dims[dims.size() - 2];
  }
  std::vector<Range> passing;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (fills_memory_[i]) continue;
    const SlotId id = plan_->outputs[i];
    const Slot& slot = plan_->slots[static_cast<size_t>(id)];
    if (slot.operand.layout == Layout::kCache) {
      outputs[i] = Datum();
      continue;
    }
    Datum result = datum(id);
    if (!options.memory.empty() && options.memory[i].given()) {
      const OutputMemory& bound = options.memory[i];
      require_memory(plan_->graph->outputs[i]->name, result, bound);
      if (result.tensor.byte_size() > 0)
        std::memcpy(bound.data, result.tensor.raw(), result.tensor.byte_size());
      outputs[i] = Tensor::borrow(bound.element, bound.dims, bound.data, nullptr);
      continue;
    }
    if (slot.home == Slot::Home::kMade) {
      if (passing.empty() && !options.shares_inputs) {
        for (const Datum& input : inputs) {
          if (input.is_tensor()) passing.push_back(range_of(input.tensor));
        }
      }
      detach(result, passing);
    } else if (result.is_tensor() && slot.home != Slot::Home::kConstant &&
               !(options.shares_inputs && slot.home == Slot::Home::kInput)) {
      result.tensor.mutable_raw();  // a copy of its own
    }
    outputs[i] = std::move(result);
  }
}

void Execution::begin(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options) {
  place_arenas();
  for (size_t i = 0; i < inputs.size(); ++i) set_made(plan_->inputs[i], inputs[i]);
  prepare_outputs(outputs, options);
}

void Execution::run_steps(size_t first, size_t last, const RunOptions& options) {
  for (size_t i = first; i < last; ++i) {
    stop_if_told(options.stop);
    if (options.observer != nullptr)
      run_observed(i, options);
    else
      run_step(i, options);
    for (const SlotId id : plan_->steps[i].dead) data_[static_cast<size_t>(id)] = Datum();
  }
}

void Execution::run_step(size_t index, const RunOptions& options) {
  const Step& step = plan_->steps[index];
  Stream* stream = stream_of(step);
  wait_for_inputs(step);
  if (stream == nullptr && !plan_->streams.empty()) tell_devices(step);
  if (step.is_settled())
    enqueue(step);
  else
    run_node(step, options);
  if (step.is_awaited && stream != nullptr) events_[index] = stream->record();
}

void Execution::run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options) {
  if (!session_.goes_on_in(options.stream)) session_.settle();
  try {
    begin(inputs, outputs, options);
    if (options.stream != nullptr) follow(options);
    run_all_steps(options);
    end(options);
    finish_outputs(outputs, inputs, options);
  } catch (...) {
    drain();
    throw;
  }
  for (size_t i = 0; i < inputs.size(); ++i) data_[static_cast<size_t>(plan_->inputs[i])] = Datum();
}

}  // namespace vernier
