#include "vernier/reduce/minimal_subset.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace vernier {

namespace {

class DeltaDebugging {
 public:
  using Items = std::vector<size_t>;

  DeltaDebugging(size_t count, const std::function<bool(const Items&)>& holds)
      : holds_(holds), items_(count) {
    std::iota(items_.begin(), items_.end(), size_t{0});
  }

  Items run() && {
    size_t chunks = 2;
    while (items_.size() > 1) {
      chunks = std::min(chunks, items_.size());
      // Two parts are each other's complement.
      if (leave_out_a_chunk(chunks)) {
        chunks = std::max<size_t>(2, chunks - 1);
      } else if (chunks == items_.size()) {
        break;
      } else {
        chunks *= 2;
      }
    }
    return std::move(items_);
  }

 private:
  bool leave_out_a_chunk(size_t chunks) {
    // The last chunk first: what comes behind the fault is most likely of no matter.
    for (size_t i = chunks; i-- > 0;) {
      const auto begin = static_cast<std::ptrdiff_t>(i * items_.size() / chunks);
      const auto end = static_cast<std::ptrdiff_t>((i + 1) * items_.size() / chunks);
      Items rest(items_.begin(), items_.begin() + begin);
      rest.insert(rest.end(), items_.begin() + end, items_.end());
      if (rest.empty() || !asked(rest)) continue;
      items_ = std::move(rest);
      return true;
    }
    return false;
  }

  bool asked(const Items& items) {
    const auto [known, is_new] = known_.try_emplace(items, false);
    if (is_new) known->second = holds_(items);
    return known->second;
  }

  const std::function<bool(const Items&)>& holds_;
  Items items_;
  std::map<Items, bool> known_;
};

}  // namespace

std::vector<size_t> minimal_subset(size_t count,
                                   const std::function<bool(const std::vector<size_t>&)>& holds) {
  return DeltaDebugging(count, holds).run();
}

}  // namespace vernier
