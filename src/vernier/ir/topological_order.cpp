#include "vernier/ir/topological_order.h"

#include <functional>
#include <queue>

namespace vernier {

std::vector<size_t> topological_order(const std::vector<std::set<size_t>>& after) {
  std::vector<size_t> missing(after.size());
  std::vector<std::vector<size_t>> users(after.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < after.size(); ++i) {
    missing[i] = after[i].size();
    for (const size_t needed : after[i]) users[needed].push_back(i);
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const size_t user : users[next]) {
      if (--missing[user] == 0) ready.push(user);
    }
  }
  return order;
}

}  // namespace vernier
