#include "vernier/tensor/working_memory.h"

#include "vernier/base/error.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

void require_workable(std::string_view what, const Dims& dims) {
  constexpr size_t kWorkingBytes = 8;
  const auto elements = static_cast<size_t>(element_count(dims));
  if (elements <= allocation_limit() / kWorkingBytes) return;
  throw bad_input("{} {} takes {} bytes to compute, and the limit is {}", what, dims_text(dims),
                  elements * kWorkingBytes, allocation_limit())
      .advise("raise it with --memory-limit GIB if the size is meant");
}

}  // namespace vernier
