// Kernels of an engine by what they were made for, so that a plan for new sizes makes only those that it
// needs anew.
#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "vernier/exec/backend.h"

namespace vernier {

// Serves one graph, whose copies have nodes of the same names and large constants in the same memory, which
// outlives this. Thread-safe.
class KernelCache {
 public:
  // The kernel that was made for the same node, sizes, layouts, contents and tactic; else what `make` gives,
  // which is kept unless it is null. A node whose kernels are made sooner than they are found gets a new one
  // each time.
  template <class Make>
  std::shared_ptr<const Kernel> get(const KernelRequest& request, const Make& make) {
    using Clock = std::chrono::steady_clock;
    const uint64_t node = node_of(request);
    const bool was_quick = is_quick(node);
    Key key = was_quick ? Key() : key_of(request);
    if (!was_quick) {
      if (auto found = find(key)) return found;
    }
    const auto start = Clock::now();
    std::shared_ptr<const Kernel> made = make();
    const bool quick = Clock::now() - start < kQuick;
    if (quick != was_quick) note(node, quick);
    if (made && !quick) keep(was_quick ? key_of(request) : std::move(key), made);
    return made;
  }

  // Beyond this number the least recently used kernels are forgotten. Plans keep theirs.
  static constexpr size_t kMaxKernels = 128;

 private:
  using Key = std::vector<int64_t>;
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  using Entry = std::pair<Key, std::shared_ptr<const Kernel>>;

  // About what making a key, finding it and keeping another takes.
  static constexpr std::chrono::microseconds kQuick{5};

  static Key key_of(const KernelRequest& request);
  static uint64_t node_of(const KernelRequest& request);
  bool is_quick(uint64_t node);
  void note(uint64_t node, bool quick);
  std::shared_ptr<const Kernel> find(const Key& key);
  void keep(Key key, std::shared_ptr<const Kernel> kernel);

  std::mutex mutex_;
  std::list<Entry> entries_;  // used last comes first
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> by_key_;
  std::unordered_set<uint64_t> quick_;  // nodes whose kernels were made sooner than kQuick, the last time
};

}  // namespace vernier
