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

void ResizablePlans::add(Entry entry) {
  auto kept = std::make_shared<const Entry>(std::move(entry));
  const std::lock_guard lock(mutex_);
  entries_.push_front(std::move(kept));
  if (entries_.size() > kMost) entries_.pop_back();
}

std::shared_ptr<const ResizablePlans::Entry> ResizablePlans::nearest(const SymbolValues& symbols,
                                                                     const PlanChoices& choices,
                                                                     int threads) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->threads == threads && differences(symbols, entry->graph.symbols) <= 1 &&
           entry->choices == choices;
  });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front();
}

}  // namespace vernier
