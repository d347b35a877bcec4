// The slots of a plan while it is made: where each value lies, and the steps that bring it elsewhere.
#pragma once

#include "vernier/exec/backend.h"
#include "vernier/exec/plan.h"

namespace vernier {

// The type of a value for a kernel, if it is a tensor of known sizes.
std::optional<Operand> operand_of(const Value& value);

// The content of a constant, with the memory that it has where it lies on an accelerator.
void set_constant(Slot& slot, const Tensor& content, const Plan& plan, const Backends& backends);

// Copies an operand to where another of its sizes lies, on the same device of a plan.
std::unique_ptr<Kernel> make_reorder(const Backends& backends, int device, const Operand& from,
                                     const Operand& to);

// Whether an output may lie in the memory of a cache: it is of its type, with no more rows than that has room
// for.
bool fits_cache(const Operand& made, const Operand& cache);

class PlanSlots {
 public:
  // Changes of layout are kernels of the backends; both outlive this.
  PlanSlots(Plan& plan, const Backends& backends) : plan_(plan), backends_(backends) {}

  SlotId add(const Value& value, Slot::Home home, Layout layout = Layout::kPlain, int device = kHost);
  // The slot that the value was made in.
  SlotId any(const Value& value);
  // As any, or none: a constant that no step has read so far.
  SlotId find_any(const Value& value) const;
  // The value there, brought by steps of their own if it does not lie there yet.
  SlotId in(const Value& value, Layout layout, int device = kHost);
  SlotId plain(const Value& value) { return in(value, Layout::kPlain); }
  // An input in memory for so many rows. Both this and the next throw bad_input if there is no room.
  SlotId add_cache(const Value& input, const MemoryBinding& cache);
  // The value in the memory of that input.
  SlotId add_in_cache(const Value& value, SlotId past);
  // The same, by a step that copies it there from where it lies plain on the same device.
  SlotId copied_to_cache(const Value& value, SlotId from, SlotId past);
  // The value once more, in memory of its own on the same device.
  SlotId copied_within(const Value& value, SlotId from) { return copied(value, from, at(from).device); }
  // An output of the node is a part of what lies plain in `base`, from `offset` bytes on.
  void view(SlotId base, const Node& node, size_t output, size_t offset);
  // `other` is what `value` is.
  void alias(const Value& value, const Value& other);
  Slot& at(SlotId id) { return plan_.slots[static_cast<size_t>(id)]; }

 private:
  // A value may lie in several layouts and on several devices.
  using Key = std::tuple<const Value*, Layout, int>;
  SlotId find(const Value& value, Layout layout, int device) const;
  SlotId reordered(const Value& value, SlotId from, Layout layout);
  SlotId copied(const Value& value, SlotId from, int device);

  Plan& plan_;
  const Backends& backends_;
  std::map<Key, SlotId> slots_;
};

}  // namespace vernier
