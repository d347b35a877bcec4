// Index tensors of gathering and scattering kernels.
#pragma once

#include <atomic>

#include "vernier/base/error.h"
#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Indices of either integer type that ONNX allows, resolved against an axis. What is outside is remembered,
// and read as 0, so that threads need not stop: `check` throws afterwards.
class IndexCheck {
 public:
  int64_t resolve(int64_t index, int64_t size) {
    const int64_t at = index < 0 ? index + size : index;
    if (at >= 0 && at < size) return at;
    bad_.store(index, std::memory_order_relaxed);
    bad_size_.store(size, std::memory_order_relaxed);
    return 0;
  }
  // Throws bad_input for an index outside of its axis.
  void check(const std::string& node) const {
    const int64_t size = bad_size_.load();
    if (size >= 0) throw bad_input("index {} is outside of an axis of {}", bad_.load(), size).at_node(node);
  }

 private:
  std::atomic<int64_t> bad_{0}, bad_size_{-1};
};

inline bool is_index(ElementType type) {
  return type == ElementType::kInt32 || type == ElementType::kInt64;
}

// Calls body(indices) with the indices as what they are stored as.
template <class Body>
void with_indices(ElementType type, const void* indices, const Body& body) {
  if (type == ElementType::kInt32)
    body(static_cast<const int32_t*>(indices));
  else
    body(static_cast<const int64_t*>(indices));
}

}  // namespace vernier::cpu
