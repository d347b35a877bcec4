#include "vernier/exec/planning/place_slots.h"

#include <algorithm>

#include "vernier/exec/planning/memory_plan.h"
#include "vernier/exec/planning/part_offsets.h"
#include "vernier/exec/planning/schedule.h"

namespace vernier {

namespace {

class Placer {
 public:
  explicit Placer(Plan& plan) : plan_(plan), order_(plan) {}

  void place() {
    for (const Step& step : plan_.steps) join(step);
    place_outputs();
    auto lives = lifetimes();
    release_made(lives);
    share_in_place(lives);
    place_in_arena(lives);
  }

 private:
  Slot& slot(SlotId id) { return plan_.slots[static_cast<size_t>(id)]; }

  // Lets the content of `from` lie in the memory of `to` from now on.
  void move_storage(SlotId from, SlotId to, size_t offset) {
    for (Slot& each : plan_.slots) {
      if (each.storage != from) continue;
      each.storage = to;
      each.within += offset;
    }
  }

  // Lets the inputs of a Concat be made where the output has them. The step stays: it copies what could not
  // be placed, and nothing where both places are one.
  void join(const Step& step) {
    if (!step.kernel || step.node == nullptr || !lies_in_parts(*step.node)) return;
    const SlotId whole = slot(step.outputs[0]).storage;
    if (slot(whole).operand.layout != Layout::kPlain || slot(whole).home != Slot::Home::kArena) return;
    if (slot(whole).device != kHost) return;  // its kernel may not look whether a part lies there already
    size_t offset = slot(step.outputs[0]).within;
    for (const SlotId part : step.inputs) {
      if (part == kNoSlot) continue;  // nothing is read of it
      const SlotId own = slot(part).storage;
      if (slot(own).home == Slot::Home::kArena && slot(own).operand.layout == Layout::kPlain &&
          slot(own).device == kHost && own != whole && !is_output(own) && plan_.fills_storage(part) &&
          slot(part).bytes() > 0)
        move_storage(own, whole, offset);
      offset += slot(part).bytes();
    }
  }

  bool is_output(SlotId storage) {
    return std::any_of(plan_.outputs.begin(), plan_.outputs.end(),
                       [&](SlotId id) { return slot(id).storage == storage; });
  }

  std::vector<Lifetime> lifetimes();
  void outlive_streams(std::vector<Lifetime>& lives) const;
  void place_outputs();
  void share_in_place(std::vector<Lifetime>& lives);
  void release_made(const std::vector<Lifetime>& lives);
  void place_in_arena(const std::vector<Lifetime>& lives);
  void place_in_arena(const std::vector<Lifetime>& lives, int device);
  bool read_by_stream(SlotId storage) const;
  int last_beside(size_t step) const;
  void find_peak(const std::vector<Lifetime>& placed);

  Plan& plan_;
  StepOrder order_;
};

// Each slot that owns memory lives from the step that makes it to the last that reads it or a view of it.
std::vector<Lifetime> Placer::lifetimes() {
  std::vector<Lifetime> lives(plan_.slots.size(), Lifetime{0, -1, -1});
  const auto touch = [&](SlotId id, int step) {
    if (id == kNoSlot) return;
    Lifetime& life = lives[static_cast<size_t>(slot(id).storage)];
    if (life.first < 0) life.first = step;
    life.last = std::max(life.last, step);
  };
  const int end = static_cast<int>(plan_.steps.size());
  for (int s = 0; s < end; ++s) {
    const Step& step = plan_.steps[static_cast<size_t>(s)];
    for (const SlotId id : step.outputs) touch(id, s);
    for (const SlotId id : step.inputs) touch(id, s);
    for (const auto& captured : step.captured) {
      for (const SlotId id : captured.second) touch(id, s);
    }
  }
  for (const SlotId id : plan_.outputs) touch(id, end);
  for (size_t i = 0; i < lives.size(); ++i) lives[i].bytes = plan_.slots[i].bytes();
  if (!plan_.streams.empty()) outlive_streams(lives);
  return lives;
}

// Memory is free for a later step only if all that use it have ended before that step begins: a life lasts
// until the last step that one of its users may still run beside.
void Placer::outlive_streams(std::vector<Lifetime>& lives) const {
  const auto outlive = [&](SlotId id, size_t user) {
    if (id == kNoSlot) return;
    Lifetime& life = lives[static_cast<size_t>(plan_.slots[static_cast<size_t>(id)].storage)];
    life.last = std::max(life.last, last_beside(user));
  };
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    for (const SlotId id : plan_.steps[s].inputs) outlive(id, s);
    for (const SlotId id : plan_.steps[s].outputs) outlive(id, s);
  }
}

// Places outputs of the graph straight in the caller's memory, which lies on the same device, once; a part of
// something larger is copied.
void Placer::place_outputs() {
  for (const SlotId id : plan_.outputs) {
    Slot& root = slot(slot(id).storage);
    if (root.home == Slot::Home::kArena && root.operand.layout == Layout::kPlain && plan_.fills_storage(id))
      root.home = Slot::Home::kOutput;
  }
  for (Slot& each : plan_.slots) each.home = slot(each.storage).home;
}

void Placer::share_in_place(std::vector<Lifetime>& lives) {
  for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
    const Step& step = plan_.steps[static_cast<size_t>(s)];
    if (!step.kernel || step.kernel->in_place < 0) continue;
    const SlotId from = step.inputs[static_cast<size_t>(step.kernel->in_place)], to = step.outputs[0];
    if (from == kNoSlot || to == kNoSlot || !plan_.fills_storage(from) || !plan_.fills_storage(to)) continue;
    const SlotId source = slot(from).storage, target = slot(to).storage;
    Lifetime& life = lives[static_cast<size_t>(source)];
    const Lifetime& next = lives[static_cast<size_t>(target)];
    // A kernel that gets the same memory as another input, too, may read it there after it has overwritten
    // it.
    const auto reads_source = [&](SlotId id) { return id != kNoSlot && slot(id).storage == source; };
    if (std::count_if(step.inputs.begin(), step.inputs.end(), reads_source) > 1) continue;
    if (slot(source).home != Slot::Home::kArena || slot(target).home != Slot::Home::kArena ||
        slot(source).device != slot(target).device || source == target || life.last != s || next.first != s ||
        life.bytes != next.bytes)
      continue;
    life.last = next.last;
    move_storage(target, source, 0);
  }
}

void Placer::release_made(const std::vector<Lifetime>& lives) {
  for (size_t i = 0; i < lives.size(); ++i) {
    const bool owner = plan_.slots[i].storage == static_cast<SlotId>(i);
    if (!owner || plan_.slots[i].home != Slot::Home::kMade || lives[i].last < 0) continue;
    // Slots that a stream reads stay until the run has ended.
    if (lives[i].last < static_cast<int>(plan_.steps.size()) && !read_by_stream(static_cast<SlotId>(i)))
      plan_.steps[static_cast<size_t>(lives[i].last)].dead.push_back(static_cast<SlotId>(i));
  }
}

bool Placer::read_by_stream(SlotId storage) const {
  return std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const Step& step) {
    return step.stream != kCallersThread &&
           std::any_of(step.inputs.begin(), step.inputs.end(), [&](SlotId id) {
             return id != kNoSlot && plan_.slots[static_cast<size_t>(id)].storage == storage;
           });
  });
}

void Placer::place_in_arena(const std::vector<Lifetime>& lives) {
  plan_.device_bytes.assign(plan_.devices.size(), 0);
  for (int device = kHost; device < static_cast<int>(plan_.devices.size()); ++device)
    place_in_arena(lives, device);
}

void Placer::place_in_arena(const std::vector<Lifetime>& lives, int device) {
  std::vector<SlotId> owners;
  std::vector<Lifetime> placed;
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    const Slot& each = plan_.slots[i];
    if (each.home != Slot::Home::kArena || each.device != device || each.storage != static_cast<SlotId>(i) ||
        lives[i].first < 0)
      continue;
    owners.push_back(each.storage);
    placed.push_back(lives[i]);
  }
  std::vector<Step*> working;
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    Step& step = plan_.steps[s];
    if (!step.kernel || step.kernel->scratch_bytes == 0 || step.device != device) continue;
    working.push_back(&step);
    placed.push_back({step.kernel->scratch_bytes, static_cast<int>(s), last_beside(s)});
  }
  const MemoryPlan memory = plan_memory(placed);
  for (size_t i = 0; i < owners.size(); ++i) slot(owners[i]).offset = memory.offsets[i];
  for (size_t i = 0; i < working.size(); ++i) working[i]->scratch = memory.offsets[owners.size() + i];
  if (device != kHost) {
    plan_.device_bytes[static_cast<size_t>(device)] = memory.bytes;
    return;
  }
  plan_.arena_bytes = memory.bytes;
  find_peak(placed);
}

// The last step that `step` may still run beside.
int Placer::last_beside(size_t step) const {
  size_t later = plan_.steps.size();
  while (--later > step && order_.before(step, later)) {
  }
  return static_cast<int>(later);
}

void Placer::find_peak(const std::vector<Lifetime>& placed) {
  std::vector<size_t> alive(plan_.steps.size());
  for (const Lifetime& life : placed) {
    for (int s = life.first; s <= life.last && s < static_cast<int>(alive.size()); ++s)
      alive[static_cast<size_t>(s)] += life.bytes;
  }
  const auto most = std::max_element(alive.begin(), alive.end());
  if (most == alive.end()) return;
  plan_.peak_bytes = *most;
  plan_.peak_step = static_cast<size_t>(most - alive.begin());
}

}  // namespace

void place_slots(Plan& plan) {
  Placer(plan).place();
}

}  // namespace vernier
