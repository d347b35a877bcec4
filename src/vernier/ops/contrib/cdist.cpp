// com.microsoft CDist: the distance of every row of A [m, n] to every row of B [k, n], Euclidean or its
// square (the default).
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_cdist(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto &a = context.shape(0), &b = context.shape(1);
  if (!a || !b) return;
  const bool matrices = a->size() == 2 && b->size() == 2;
  if (!matrices || ((*a)[1].is_constant() && (*b)[1].is_constant() && (*a)[1] != (*b)[1])) {
    throw bad_input("no distances between rows of {} and {}", shape_text(*a), shape_text(*b));
  }
  context.set_output(0, context.element(0), Shape{(*a)[0], (*b)[0]});
}

void reference_cdist(ReferenceContext& context) {
  const auto metric = context.attribute<std::string>("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean") throw unsupported("the metric '{}' of CDist", metric);
  const auto a = context.reals(0), b = context.reals(1);
  const Dims dims = context.out_dims(0);
  const int64_t size = context.dims(0)[1];
  std::vector<double> distances(static_cast<size_t>(element_count(dims)));
  parallel_for(static_cast<int64_t>(distances.size()), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double *left = a.data() + i / dims[1] * size, *right = b.data() + i % dims[1] * size;
      double sum = 0;
      for (int64_t k = 0; k < size; ++k) sum += (left[k] - right[k]) * (left[k] - right[k]);
      distances[static_cast<size_t>(i)] = metric == "euclidean" ? std::sqrt(sum) : sum;
    }
  });
  context.store(0, dims, distances);
}

}  // namespace

void register_cdist(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "CDist",
                .operands = {Role::kData, Role::kData},
                .attributes = {{"metric", "STRING"}},
                .traits = kReduction,
                .infer = infer_cdist,
                .reference = reference_cdist});
}

}  // namespace vernier::ops
