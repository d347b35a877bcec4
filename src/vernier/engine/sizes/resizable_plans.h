// Plans from which those for other sizes are made.
#pragma once

#include <list>
#include <mutex>

#include "vernier/engine/sizes/ranged_graph.h"

namespace vernier {

// Thread-safe.
class ResizablePlans {
 public:
  struct Entry {
    SizedGraph graph;
    std::shared_ptr<const Plan> plan;
    PlanChoices choices;  // that were asked for
    int threads;          // that the kernels are made for
  };

  void add(Entry entry);
  // One for the same choices and threads, of whose symbols at most one has another value: with more, most of
  // the graph has other sizes, and the plan may as well be one to begin from. Null if there is none.
  std::shared_ptr<const Entry> nearest(const SymbolValues& symbols, const PlanChoices& choices, int threads);

  // Those used last are kept.
  static constexpr size_t kMost = 8;

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<const Entry>> entries_;  // used last comes first
};

}  // namespace vernier
