// Plans from which those for other sizes are made.
#pragma once

#include <list>
#include <mutex>

#include "vernier/engine/sizes/ranged_graph.h"
#include "vernier/engine/sizes/tuned_sizes.h"

namespace vernier {

// Plans at sizes of their own that nobody runs any more: they take other sizes sooner than a new one is made.
// Thread-safe.
class ReturnedPlans : public std::enable_shared_from_this<ReturnedPlans> {
 public:
  struct Resized {
    ResizedNodes nodes;
    ResizablePlan plan;
    std::unique_ptr<Resized> next = nullptr;  // of those that are here
  };

  // Null if there is none.
  std::unique_ptr<Resized> take();
  // To be run; it comes back when the last pointer to it goes.
  std::shared_ptr<const Plan> lend(std::unique_ptr<Resized> resized);

  static constexpr int kMost = 2;  // that are kept

 private:
  void put_back(std::unique_ptr<Resized> resized) noexcept;

  std::mutex mutex_;
  std::unique_ptr<Resized> first_;
  int count_ = 0;
};

// Thread-safe.
class ResizablePlans {
 public:
  struct Entry {
    SizedGraph graph;
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<const TunedSizes> tuned;  // whose choices were asked for; null: none
    std::vector<MemoryBinding> bindings;
    int threads;  // that the kernels are made for
    std::shared_ptr<ReturnedPlans> returned = std::make_shared<ReturnedPlans>();
  };

  void add(Entry entry);
  // One for the same choices, bindings and threads, of whose symbols at most one has another value: with
  // more, most of the graph has other sizes, and the plan may as well be one to begin from. Null if there is
  // none.
  std::shared_ptr<const Entry> nearest(const SymbolValues& symbols, const TunedSizes* tuned,
                                       std::span<const MemoryBinding> bindings, int threads);

  // The plans that were used last are kept.
  static constexpr size_t kMost = 8;

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<const Entry>> entries_;  // used last comes first
};

}  // namespace vernier
