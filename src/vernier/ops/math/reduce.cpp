// ReduceSum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare. An empty set gives what the
// operation starts from: 0, 1, or the end of the type. Max and Min take 8-bit integers since opset 12, BOOL
// since 20.
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/math/reduce_axes.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::ops {

namespace {

// The elements behind one result.
template <class T>
struct Row {
  const T* data;
  const StridedReduction& walk;
  int64_t start;
  T lowest, highest;  // the ends of the type

  int64_t size() const { return walk.elements(); }
  template <class F>
  T fold(T first, F f) const {
    T result = first;
    walk.for_each(start, [&](int64_t at) { result = f(result, data[at]); });
    return result;
  }
};

constexpr auto kSum = []<class T>(const Row<T>& row) { return row.fold(0, wrapping_add<T>); };
constexpr auto kProduct = []<class T>(const Row<T>& row) { return row.fold(1, wrapping_multiply<T>); };
constexpr auto kMax = []<class T>(const Row<T>& row) { return row.fold(row.lowest, maximum<T>); };
constexpr auto kMin = []<class T>(const Row<T>& row) { return row.fold(row.highest, minimum<T>); };
constexpr auto kL1 = []<class T>(const Row<T>& row) {
  return row.fold(0, [](T sum, T x) { return wrapping_add(sum, magnitude(x)); });
};
constexpr auto kSumSquare = []<class T>(const Row<T>& row) {
  return row.fold(0, [](T sum, T x) { return wrapping_add(sum, wrapping_multiply(x, x)); });
};
constexpr auto kMean = []<class T>(const Row<T>& row) {
  const T sum = kSum(row);
  if constexpr (!std::is_floating_point_v<T>) {
    if (row.size() == 0) return T{0};  // a NaN, where there is one
  }
  return static_cast<T>(sum / static_cast<T>(row.size()));
};
constexpr auto kL2 = [](const Row<double>& row) { return std::sqrt(kSumSquare(row)); };
constexpr auto kLogSum = [](const Row<double>& row) { return std::log(kSum(row)); };
constexpr auto kLogSumExp = [](const Row<double>& row) {
  const double top = kMax(row);
  if (!std::isfinite(top)) return top;
  return top + std::log(row.fold(0, [top](double sum, double x) { return sum + std::exp(x - top); }));
};

// Reduces in T, whatever the input is stored as.
template <class T>
void reduce(ReferenceContext& context, auto operation) {
  const auto x = [&] {
    if constexpr (std::is_same_v<T, double>)
      return context.reals(0);
    else
      return arithmetic_elements<T>(context, 0);
  }();
  const auto walk = reduction_of(context);
  const auto [lowest, highest] = ends_of<T>(context.in(0).type());
  std::vector<T> result(static_cast<size_t>(walk.results()));
  parallel_for(
      walk.results(), std::max<int64_t>(1, kPointwiseGrain / std::max<int64_t>(1, walk.elements())),
      [&, low = lowest, high = highest](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          result[static_cast<size_t>(i)] = operation(Row<T>{x.data(), walk, walk.start(i), low, high});
        }
      });
  store_arithmetic(context, 0, context.out_dims(0), result);
}

// In double only: roots and logarithms of integers are computed as reals and truncated.
template <auto Operation>
void real(ReferenceContext& context) {
  reduce<double>(context, Operation);
}

template <auto Operation>
void number(ReferenceContext& context) {
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) { reduce<T>(context, Operation); });
}

using Combine = Dim (*)(const Dim&, const Dim&);

// Follows the content of a vector that is reduced to one element.
template <Combine Function>
void infer_followed(InferContext& context) {
  infer_reduced(context);
  const auto& content = context.dims(0);
  if (!content || content->empty() || !reduces_all(context)) return;
  follow_elements(context, [&](size_t) -> std::optional<Dim> {
    Dim result = content->front();
    for (size_t i = 1; i < content->size(); ++i) result = Function(result, (*content)[i]);
    return result;
  });
}

void add(OpRegistry& registry, const char* name, void (*reference)(ReferenceContext&),
         PrecisionClass precision, uint32_t traits = 0, void (*infer)(InferContext&) = infer_reduced) {
  registry.add({.op = name,
                .operands = {Role::kData, Role::kAxes},
                .optional_inputs = 1,
                .attributes = {{"axes", "INTS"}, {"keepdims", "INT"}, {"noop_with_empty_axes", "INT"}},
                .traits = kReduction | traits,
                .precision = precision,
                .since = {13, 1},
                .infer = infer,
                .reference = reference,
                .flops = [](const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>&) {
                  return inputs.empty() ? 0 : static_cast<double>(element_count(inputs[0]));
                }});
}

}  // namespace

void register_reduce(OpRegistry& registry) {
  constexpr auto kBounded = PrecisionClass::kBounded, kWide = PrecisionClass::kNeverLower;
  add(registry, "ReduceSum", number<kSum>, kWide, kSums | kAddsUp, infer_followed < operator+>);
  add(registry, "ReduceProd", number<kProduct>, kWide, 0, infer_followed < operator*>);
  add(registry, "ReduceMax", number<kMax>, kBounded, kRoundsNothing, infer_followed<max>);
  add(registry, "ReduceMin", number<kMin>, kBounded, kRoundsNothing, infer_followed<min>);
  add(registry, "ReduceMean", number<kMean>, PrecisionClass::kComputedWide, kAddsUp);
  add(registry, "ReduceL1", number<kL1>, kWide, kSums | kAddsUp);
  add(registry, "ReduceL2", real<kL2>, kWide, kAddsUp);
  add(registry, "ReduceSumSquare", number<kSumSquare>, kWide, kSums | kAddsUp);
  add(registry, "ReduceLogSum", real<kLogSum>, kWide);
  add(registry, "ReduceLogSumExp", real<kLogSumExp>, kWide);
}

}  // namespace vernier::ops
