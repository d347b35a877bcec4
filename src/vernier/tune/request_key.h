// The name of a request in a timing cache.
#pragma once

#include <map>
#include <string>

#include "vernier/exec/backend.h"

namespace vernier {

// Operators, attributes, connections, types, sizes and layouts; of constants only that they are some. Equal
// requests of different models have the same name.
std::string request_key(const KernelRequest& request);

// The hash of what the constants among the operands hold: a kernel is right for these weights.
class RequestContent {
 public:
  // Never kAnyContent.
  uint64_t hash(const KernelRequest& request);

 private:
  // By identity; the tensors are kept, so that no identity is used again.
  std::map<const void*, std::pair<Tensor, uint64_t>> known_;
};
// Stands for whatever constants hold, where a verdict does not depend on it.
inline constexpr uint64_t kAnyContent = 0;

}  // namespace vernier
