#include "vernier/diagnose/bounds/declared_weights.h"

#include "vernier/base/hash.h"
#include "vernier/passes/build.h"

namespace vernier {

namespace {

uint64_t content_of(const Tensor& tensor) {
  return hash_bytes(tensor.raw(), tensor.byte_size(), static_cast<uint64_t>(tensor.type()));
}

}  // namespace

const Tensor& DeclaredWeights::of(const Tensor& narrow) {
  const auto [known, fresh] = rounded_.try_emplace(narrow.type());
  if (fresh && declared_ != nullptr) {
    for_each_graph(*declared_, [&, &weights = known->second](const Graph& graph) {
      for (const auto& value : graph.values()) {
        const auto wide = known_content(value.get());
        if (!wide || wide->type() != ElementType::kFloat) continue;
        weights.emplace(content_of(Tensor::from_doubles(narrow.type(), wide->dims(), wide->to_doubles())),
                        *wide);
      }
    });
  }
  const auto found = known->second.find(content_of(narrow));
  return found == known->second.end() || found->second.dims() != narrow.dims() ? narrow : found->second;
}

}  // namespace vernier
