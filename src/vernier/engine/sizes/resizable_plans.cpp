#include "vernier/engine/sizes/resizable_plans.h"

#include <algorithm>

namespace vernier {

namespace {

// Both have the symbols of one graph.
int64_t differences(const SymbolValues& a, const SymbolValues& b) {
  return std::count_if(a.begin(), a.end(), [&](const auto& symbol) {
    const auto found = b.find(symbol.first);
    return found == b.end() || found->second != symbol.second;
  });
}

}  // namespace

std::unique_ptr<ReturnedPlans::Resized> ReturnedPlans::take() {
  const std::lock_guard lock(mutex_);
  auto taken = std::move(first_);
  if (taken) {
    first_ = std::move(taken->next);
    --count_;
  }
  return taken;
}

void ReturnedPlans::put_back(std::unique_ptr<Resized> resized) noexcept {
  const std::lock_guard lock(mutex_);
  if (count_ >= kMost) return;
  resized->next = std::move(first_);
  first_ = std::move(resized);
  ++count_;
}

std::shared_ptr<const Plan> ReturnedPlans::lend(std::unique_ptr<Resized> resized) {
  const Plan* plan = &resized->plan.plan();
  return {plan, [own = resized.release(), to = shared_from_this()](const Plan*) {
            to->put_back(std::unique_ptr<Resized>(own));
          }};
}

void ResizablePlans::add(Entry entry) {
  auto kept = std::make_shared<const Entry>(std::move(entry));
  const std::lock_guard lock(mutex_);
  entries_.push_front(std::move(kept));
  if (entries_.size() > kMost) entries_.pop_back();
}

std::shared_ptr<const ResizablePlans::Entry> ResizablePlans::nearest(const SymbolValues& symbols,
                                                                     const TunedSizes* tuned,
                                                                     std::span<const MemoryBinding> bindings,
                                                                     int threads) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->threads == threads && entry->tuned.get() == tuned &&
           std::equal(bindings.begin(), bindings.end(), entry->bindings.begin(), entry->bindings.end()) &&
           differences(symbols, entry->graph.symbols) <= 1;
  });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front();
}

}  // namespace vernier
