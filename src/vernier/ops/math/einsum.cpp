// Einsum: the inputs are contracted from left to right, each pair as a batched matrix product over what they
// share.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/einsum_equation.h"
#include "vernier/ops/support/math/matmul.h"
#include "vernier/ops/support/math/strided_reduction.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::ops {

namespace {

using Labels = EinsumEquation::Labels;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

template <class Size>
EinsumEquation equation_of(const Node& node, const std::vector<std::vector<Size>>& shapes) {
  std::vector<size_t> ranks;
  ranks.reserve(shapes.size());
  for (const auto& shape : shapes) ranks.push_back(shape.size());
  return parse_einsum(text_attribute(node, "equation"), ranks);
}

// The size behind each label; an axis of size 1 broadcasts.
template <class Size>
std::map<int, Size> label_sizes(const EinsumEquation& equation,
                                const std::vector<std::vector<Size>>& shapes) {
  std::map<int, Size> sizes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const auto [known, added] = sizes.try_emplace(equation.inputs[i][axis], shapes[i][axis]);
      if (!added)
        known->second = broadcast(std::vector<Size>{known->second}, std::vector<Size>{shapes[i][axis]})[0];
    }
  }
  return sizes;
}

void infer_einsum(InferContext& context) {
  require_one_type(context, 0, context.input_count());
  context.set_output(0, context.element(0), std::nullopt);
  std::vector<Shape> shapes;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.shape(i)) return;
    shapes.push_back(*context.shape(i));
  }
  const auto equation = equation_of(context.node(), shapes);
  const auto sizes = label_sizes(equation, shapes);
  Shape out;
  for (const int label : equation.output) out.push_back(sizes.at(label));
  context.set_output(0, context.element(0), std::move(out));
}

// A strided array with one axis per label, none of size 1.
template <class T>
struct Operand {
  Elements<T> data;
  Labels labels;
  Dims dims, strides;

  // Repeated labels make a diagonal: one axis whose stride is the sum of theirs.
  void add_axis(int label, int64_t size, int64_t stride) {
    if (size == 1) return;
    const auto at = static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
    if (at == labels.size()) {
      labels.push_back(label);
      dims.push_back(size);
      strides.push_back(stride);
    } else if (dims[at] != size) {
      throw bad_input("an index of Einsum repeats in one term with the sizes {} and {}", dims[at], size);
    } else {
      strides[at] += stride;
    }
  }

  int64_t size_of(int label) const {
    const auto at = static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
    return at == labels.size() ? 1 : dims[at];
  }
  int64_t size_of(const Labels& group) const {
    int64_t product = 1;
    for (const int label : group) product *= size_of(label);
    return product;
  }

  // The array with its axes in the order `wanted`, contiguous, and summed over all other labels.
  std::vector<T> gather(const Labels& wanted) const {
    StridedReduction walk;
    for (const int label : wanted) {
      const auto at = static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
      if (at < labels.size()) walk.keep(dims[at], strides[at]);
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      if (!contains(wanted, labels[i])) walk.reduce(dims[i], strides[i]);
    }
    std::vector<T> result(static_cast<size_t>(walk.results()));
    parallel_for(walk.results(),
                 std::max<int64_t>(1, kPointwiseGrain / std::max<int64_t>(1, walk.elements())),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     auto sum = T{};
                     walk.for_each(walk.start(i),
                                   [&](int64_t at) { sum = static_cast<T>(wrapping_add(sum, data[at])); });
                     result[static_cast<size_t>(i)] = sum;
                   }
                 });
    return result;
  }
};

template <class T>
Operand<T> contiguous(Elements<T> data, const Labels& labels, const Dims& dims) {
  Operand<T> operand;
  operand.data = std::move(data);
  const auto strides = strides_of(dims);
  for (size_t i = 0; i < labels.size(); ++i) operand.add_axis(labels[i], dims[i], strides[i]);
  return operand;
}

// a times b, summed over the labels that are not `kept`.
template <class T>
Operand<T> contract(const Operand<T>& a, const Operand<T>& b, const Labels& kept) {
  Labels batch, shared, rows, columns;
  for (const int label : a.labels) {
    if (contains(b.labels, label))
      (contains(kept, label) ? batch : shared).push_back(label);
    else if (contains(kept, label))
      rows.push_back(label);
  }
  for (const int label : b.labels) {
    if (!contains(a.labels, label) && contains(kept, label)) columns.push_back(label);
  }
  const auto joined = [](std::initializer_list<Labels> groups) {
    Labels all;
    for (const Labels& group : groups) all.insert(all.end(), group.begin(), group.end());
    return all;
  };
  const auto left = a.gather(joined({batch, rows, shared})),
             right = b.gather(joined({batch, shared, columns}));
  const int64_t batches = a.size_of(batch), m = a.size_of(rows), n = b.size_of(columns),
                k = a.size_of(shared);
  std::vector<T> product(static_cast<size_t>(batches * m * n));
  for (int64_t i = 0; i < batches; ++i) {
    gemm(false, false, m, n, k, left.data() + i * m * k, k, right.data() + i * k * n, n,
         product.data() + i * m * n, n);
  }
  const Labels labels = joined({batch, rows, columns});
  Dims dims;
  for (const int label : labels)
    dims.push_back(contains(a.labels, label) ? a.size_of(label) : b.size_of(label));
  return contiguous(Elements<T>(std::move(product)), labels, dims);
}

template <class T>
std::vector<T> evaluate(const ReferenceContext& context, const EinsumEquation& equation) {
  const auto input = [&](size_t i) {
    return contiguous(product_operand<T>(context, i), equation.inputs[i], context.dims(i));
  };
  Operand<T> result = input(0);
  for (size_t i = 1; i < equation.inputs.size(); ++i) {
    Labels kept = equation.output;
    for (size_t later = i + 1; later < equation.inputs.size(); ++later) {
      kept.insert(kept.end(), equation.inputs[later].begin(), equation.inputs[later].end());
    }
    result = contract(result, input(i), kept);
  }
  return result.gather(equation.output);
}

void reference_einsum(ReferenceContext& context) {
  std::vector<Dims> shapes;
  bool real = false;
  for (size_t i = 0; i < context.input_count(); ++i) {
    shapes.push_back(context.dims(i));
    real = real || is_float(context.in(i).type());
  }
  const auto equation = equation_of(context.node(), shapes);
  if (real)
    store_arithmetic(context, 0, context.out_dims(0), evaluate<double>(context, equation));
  else
    store_arithmetic(context, 0, context.out_dims(0), evaluate<int64_t>(context, equation));
}

// A multiplication and an addition for every combination of indices.
double flops_einsum(const Node& node, const std::vector<Dims>& inputs, const std::vector<Dims>&) {
  double combinations = 1;
  for (const auto& [label, size] : label_sizes(equation_of(node, inputs), inputs))
    combinations *= static_cast<double>(size);
  return 2 * combinations;
}

}  // namespace

void register_einsum(OpRegistry& registry) {
  registry.add({.op = "Einsum",
                .operands = {Role::kData},
                .repeats = 1,
                .attributes = {{"equation", "STRING"}},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .since = {0, 12},
                .infer = infer_einsum,
                .reference = reference_einsum,
                .flops = flops_einsum});
}

}  // namespace vernier::ops
