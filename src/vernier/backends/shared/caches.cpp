#include "vernier/backends/shared/caches.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"

namespace vernier {

std::vector<size_t> caches_of(const KernelRequest& request) {
  std::vector<size_t> caches;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.has(i) && request.in(i).layout == Layout::kCache) caches.push_back(i);
  }
  return caches;
}

bool lies_behind(const KernelRequest& request, size_t output, size_t input) {
  return request.wants(output) && request.has(input) && request.out(output).layout == Layout::kCache &&
         request.in(input).layout == Layout::kCache;
}

void lay_out_concat_caches(KernelRequest& request, std::span<const size_t> caches) {
  const int64_t rank = request.out().rank();
  const bool appends = ops::normalize_axis(ops::integer_attribute(request.node, "axis"), rank) == rank - 2;
  if (!appends || caches.front() != 0 || request.out().capacity == 0) return;
  request.inputs[0]->layout = request.outputs[0]->layout = Layout::kCache;
}

}  // namespace vernier
