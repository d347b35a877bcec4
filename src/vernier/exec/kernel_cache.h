// Kernels of an engine by what they were made for, so that a plan for new sizes makes only those that it
// needs anew.
#pragma once

#include <list>
#include <mutex>
#include <unordered_map>

#include "vernier/exec/backend.h"

namespace vernier {

// Of one graph, whose copies have nodes of the same names and large constants in the same memory, which
// outlives this. Thread-safe.
class KernelCache {
 public:
  // The kernel that was made for the same node, sizes, layouts, contents and tactic; else what `make` gives,
  // which is kept unless it is null.
  template <class Make>
  std::shared_ptr<const Kernel> get(const KernelRequest& request, const Make& make) {
    Key key = key_of(request);
    if (auto found = find(key)) return found;
    std::shared_ptr<const Kernel> made = make();
    if (made) keep(std::move(key), made);
    return made;
  }

  // Of the kernels used least recently those are forgotten that are too many. Plans keep theirs.
  static constexpr size_t kMaxKernels = 256;

 private:
  using Key = std::vector<int64_t>;
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  using Entry = std::pair<Key, std::shared_ptr<const Kernel>>;

  static Key key_of(const KernelRequest& request);
  std::shared_ptr<const Kernel> find(const Key& key);
  void keep(Key key, std::shared_ptr<const Kernel> kernel);

  std::mutex mutex_;
  std::list<Entry> entries_;  // used last comes first
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> by_key_;
};

}  // namespace vernier
