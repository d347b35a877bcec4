#include "vernier/exec/execution.h"
#include "vernier/exec/laid_out.h"
#include "vernier/exec/probing/observer.h"

namespace vernier {

const Plan& ObservedStep::plan() const {
  return execution_.plan();
}

std::vector<Datum> ObservedStep::inputs() const {
  std::vector<Datum> all;
  for (const SlotId id : step_.inputs) all.push_back(seen(id));
  return all;
}

std::vector<Datum> ObservedStep::outputs() const {
  std::vector<Datum> all;
  for (const SlotId id : step_.outputs) all.push_back(seen(id));
  return all;
}

const Value* ObservedStep::value_made(size_t output) const {
  const SlotId id = step_.outputs.at(output);
  return id == kNoSlot || step_.node == nullptr ? nullptr : plan().slots[static_cast<size_t>(id)].value;
}

std::vector<std::vector<Datum>> ObservedStep::captured() const {
  std::vector<std::vector<Datum>> all;
  if (step_.captured.empty()) return all;
  for (const auto& region : step_.node->regions) {
    all.emplace_back();
    for (const SlotId id : step_.captured.at(region.second.get())) all.back().push_back(seen(id));
  }
  return all;
}

Datum ObservedStep::seen(SlotId id) const {
  if (id == kNoSlot) return {};
  const Slot& slot = plan().slots[static_cast<size_t>(id)];
  if (slot.device != kHost) return execution_.fetched(id, step_);
  if (slot.operand.layout == Layout::kPlain) return execution_.datum(id);
  const Tensor lies =
      Tensor::borrow(slot.operand.element, slot.operand.memory_dims(), execution_.address(id), nullptr);
  return laid_out(execution_.nodes_.kernels(), lies, slot.operand, Layout::kPlain);
}

}  // namespace vernier
