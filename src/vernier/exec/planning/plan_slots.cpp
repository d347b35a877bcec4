#include "vernier/exec/planning/plan_slots.h"

#include "vernier/base/error.h"
#include "vernier/exec/device/device_constants.h"

namespace vernier {

namespace {
// A value in a cache is read there, if it can be.
constexpr Layout kLayouts[] = {Layout::kCache, Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16};
}  // namespace

bool fits_cache(const Operand& made, const Operand& cache) {
  if (made.element != cache.element || made.rank() != cache.rank()) return false;
  const auto rows = static_cast<size_t>(made.rank() - 2);
  for (size_t axis = 0; axis < made.dims.size(); ++axis) {
    if (axis != rows && made.dims[axis] != cache.dims[axis]) return false;
  }
  return made.dims[rows] <= cache.capacity;
}

void set_constant(Slot& slot, const Tensor& content, const Plan& plan, const Backends& backends) {
  slot.constant = content;
  if (slot.device == kHost) return;
  Device& device = *plan.devices[static_cast<size_t>(slot.device)];
  slot.on_device = backends.constants != nullptr ? backends.constants->get(device, content)
                                                 : std::make_shared<const DeviceConstant>(device, content);
}

std::unique_ptr<Kernel> make_reorder(const Backends& backends, int device, const Operand& from,
                                     const Operand& to) {
  Operand source = from;
  if (to.layout == Layout::kCache) source.capacity = to.capacity;
  const Backend& backend =
      device == kHost ? backends.host : *backends.accelerators[static_cast<size_t>(device - 1)];
  return backend.reorder(source, to.layout);
}

std::optional<Operand> operand_of(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape) return std::nullopt;
  const auto dims = to_dims(*value.type.tensor.shape);
  if (!dims || value.type.tensor.element == ElementType::kString ||
      value.type.tensor.element == ElementType::kUndefined)
    return std::nullopt;
  return Operand{value.type.tensor.element, *dims, Layout::kPlain,
                 value.is_constant() ? &*value.constant : nullptr};
}

SlotId PlanSlots::add(const Value& value, Slot::Home home, Layout layout, int device) {
  const auto id = static_cast<SlotId>(plan_.slots.size());
  Slot slot;
  slot.value = &value;
  const auto operand = operand_of(value);
  slot.known = operand.has_value();
  if (operand) slot.operand = *operand;
  slot.operand.layout = layout;
  slot.device = device;
  slot.home = slot.known || home == Slot::Home::kInput ? home : Slot::Home::kMade;
  if (home == Slot::Home::kConstant) {
    slot.home = home;
    set_constant(slot, *value.constant, plan_, backends_);
  } else {
    slot.operand.constant = nullptr;  // an input may have a default that is not what comes
  }
  slot.storage = id;
  plan_.slots.push_back(std::move(slot));
  slots_[{&value, layout, device}] = id;
  return id;
}

SlotId PlanSlots::add_cache(const Value& input, const MemoryBinding& binding) {
  const SlotId id = add(input, Slot::Home::kInput, Layout::kCache, binding.device);
  Operand& cache = at(id).operand;
  cache.capacity = binding.capacity;
  if (!at(id).known || cache.rank() < 2 || !fits_cache(cache, cache))
    throw bad_input("input '{}' of {}{} cannot be a cache of {} rows", input.name,
                    element_type_short_name(cache.element), dims_text(cache.dims), binding.capacity);
  return id;
}

SlotId PlanSlots::add_in_cache(const Value& value, SlotId past) {
  const SlotId id = add(value, Slot::Home::kInput, Layout::kCache, at(past).device);
  const Slot& memory = at(at(past).storage);
  const Operand& made = at(id).operand;
  if (!fits_cache(made, memory.operand))
    throw bad_input("the cache of '{}' is {}{}, which has no room for '{}' of {}{}", memory.value->name,
                    element_type_short_name(memory.operand.element), dims_text(memory.operand.memory_dims()),
                    value.name, element_type_short_name(made.element), dims_text(made.dims))
        .advise("give it more capacity, or begin anew");
  at(id).operand.capacity = memory.operand.capacity;
  at(id).storage = at(past).storage;
  return id;
}

SlotId PlanSlots::find(const Value& value, Layout layout, int device) const {
  const auto found = slots_.find({&value, layout, device});
  return found == slots_.end() ? kNoSlot : found->second;
}

SlotId PlanSlots::find_any(const Value& value) const {
  for (int device = kHost; device < static_cast<int>(plan_.devices.size()); ++device) {
    for (const Layout layout : kLayouts) {
      if (const SlotId found = find(value, layout, device); found != kNoSlot) return found;
    }
  }
  return kNoSlot;
}

SlotId PlanSlots::any(const Value& value) {
  if (const SlotId found = find_any(value); found != kNoSlot) return found;
  if (!value.is_constant()) throw internal_error("value '{}' is read before it is made", value.name);
  return add(value, Slot::Home::kConstant);
}

SlotId PlanSlots::in(const Value& value, Layout layout, int device) {
  if (const SlotId found = find(value, layout, device); found != kNoSlot) return found;
  SlotId from = any(value);
  // A value that never changes is there before the first run. The value around a group has the content of
  // what the group reads.
  if (device != kHost && at(from).home == Slot::Home::kConstant && at(from).storage == from &&
      at(from).operand.layout == layout) {
    const Value& holder = *at(from).value;
    return slots_[{&value, layout, device}] = &holder == &value
                                                  ? add(value, Slot::Home::kConstant, layout, device)
                                                  : in(holder, layout, device);
  }
  for (const Layout other : kLayouts) {
    const SlotId there = at(from).device == device ? kNoSlot : find(value, other, device);
    if (there != kNoSlot) from = there;
  }
  // Between devices all is plain: other layouts are changed where they lie.
  if (at(from).device != device) {
    if (at(from).operand.layout != Layout::kPlain) from = in(value, Layout::kPlain, at(from).device);
    from = copied(value, from, device);
    if (layout == Layout::kPlain) return from;
  }
  return at(from).operand.layout == layout ? from : reordered(value, from, layout);
}

// On the device where it lies.
SlotId PlanSlots::reordered(const Value& value, SlotId from, Layout layout) {
  Step step;
  step.device = at(from).device;
  step.inputs = {from};
  step.outputs = {add(value, Slot::Home::kArena, layout, step.device)};
  step.kernel = make_reorder(backends_, step.device, at(from).operand, at(step.outputs[0]).operand);
  plan_.steps.push_back(std::move(step));
  return plan_.steps.back().outputs[0];
}

SlotId PlanSlots::copied_to_cache(const Value& value, SlotId from, SlotId past) {
  Step step;
  step.device = at(past).device;
  step.inputs = {from};
  step.outputs = {add_in_cache(value, past)};
  step.kernel = make_reorder(backends_, step.device, at(from).operand, at(step.outputs[0]).operand);
  plan_.steps.push_back(std::move(step));
  return plan_.steps.back().outputs[0];
}

// Between two accelerators it goes by way of the host.
SlotId PlanSlots::copied(const Value& value, SlotId from, int device) {
  if (at(from).device != kHost && device != kHost && at(from).device != device)
    from = copied(value, from, kHost);
  Step step;
  step.copies = true;
  step.device = std::max(at(from).device, device);
  step.inputs = {from};
  step.outputs = {add(value, Slot::Home::kArena, at(from).operand.layout, device)};
  plan_.steps.push_back(std::move(step));
  return plan_.steps.back().outputs[0];
}

void PlanSlots::view(SlotId base, const Node& node, size_t output, size_t offset) {
  const SlotId made = add(*node.outputs[output], Slot::Home::kArena, Layout::kPlain, at(base).device);
  at(made).storage = at(base).storage;
  at(made).within = at(base).within + offset;
  at(made).home = at(at(base).storage).home;
  plan_.views.push_back({made, base, &node, output});
}

void PlanSlots::alias(const Value& value, const Value& other) {
  any(value);
  for (int device = kHost; device < static_cast<int>(plan_.devices.size()); ++device) {
    for (const Layout layout : kLayouts) {
      if (const SlotId found = find(value, layout, device); found != kNoSlot)
        slots_[{&other, layout, device}] = found;
    }
  }
}

}  // namespace vernier
