#include "vernier/ops/reference_context.h"

#include "vernier/base/memory.h"
#include "vernier/base/threads.h"

namespace vernier::ops {

namespace {

constexpr int64_t kGrain = 1 << 16;

// A copy in double. Its memory is not cleared first, which takes as long as converting.
Tensor doubles_of(const Tensor& tensor) {
  const auto count = static_cast<size_t>(tensor.size());
  constexpr size_t kLine = 64;
  const size_t bytes = (std::max<size_t>(1, count * sizeof(double)) + kLine - 1) / kLine * kLine;
  const std::shared_ptr<void> memory(allocate_aligned(kLine, bytes), release_memory);
  const std::span values(static_cast<double*>(memory.get()), count);
  if (count == 0) tensor.read_doubles(0, values);  // refuses strings whatever their number
  parallel_for(tensor.size(), kGrain, [&](int64_t begin, int64_t end) {
    tensor.read_doubles(begin, values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
  return Tensor::borrow(ElementType::kDouble, tensor.dims(), memory.get(), memory);
}

}  // namespace

Elements<double> rounded(const Elements<double>& elements, const OperandFormat& format) {
  if (!format.is_defined()) return elements;
  std::vector<double> values(elements.span().begin(), elements.span().end());
  parallel_for(elements.size(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double& value = values[static_cast<size_t>(i)];
      value = format.round(value);
    }
  });
  return Elements<double>(std::move(values));
}

ReferenceContext::ReferenceContext(const Node& node, ReferenceMode mode, std::vector<const Datum*> inputs,
                                   std::vector<ElementType> declared_inputs, std::vector<ValueInfo> inferred)
    : node_(node),
      mode_(mode),
      inputs_(std::move(inputs)),
      declared_inputs_(std::move(declared_inputs)),
      inferred_(std::move(inferred)),
      results_(node.outputs.size()) {}

const Datum& ReferenceContext::datum(size_t input) const {
  if (!has(input)) throw bad_input("input {} of {} is missing", input, node_.op);
  return *inputs_[input];
}

const Tensor& ReferenceContext::in(size_t input) const {
  return datum(input).as_tensor();
}

Elements<double> ReferenceContext::reals(size_t input) const {
  const Tensor& tensor = in(input);
  if (tensor.type() == ElementType::kDouble) return {tensor.values<double>(), tensor};
  const Tensor converted = doubles_of(tensor);
  return {converted.values<double>(), converted};
}

Elements<double> ReferenceContext::factors(size_t input) const {
  return rounded(reals(input), roundings_.operands);
}

Elements<int64_t> ReferenceContext::ints(size_t input) const {
  const Tensor& tensor = in(input);
  if (tensor.type() == ElementType::kInt64) return {tensor.values<int64_t>(), tensor};
  return Elements<int64_t>(tensor.to_ints());
}

std::vector<int64_t> ReferenceContext::int_list(size_t input) const {
  return in(input).to_ints();
}

double ReferenceContext::real(size_t input, double fallback) const {
  if (!has(input)) return fallback;
  const auto values = reals(input);
  if (values.size() != 1)
    throw bad_input("input {} of {} must have one element, not {}", input, node_.op, values.size());
  return values[0];
}

int64_t ReferenceContext::integer(size_t input, int64_t fallback) const {
  if (!has(input)) return fallback;
  const auto values = ints(input);
  if (values.size() != 1)
    throw bad_input("input {} of {} must have one element, not {}", input, node_.op, values.size());
  return values[0];
}

Dims ReferenceContext::out_dims(size_t output) const {
  const auto& shape = inferred_.at(output).type.tensor.shape;
  if (shape) {
    if (auto dims = to_dims(*shape)) return *dims;
  }
  throw internal_error("the sizes of output {} of {} are not known before it runs", output, node_.op);
}

ElementType ReferenceContext::out_type(size_t output) const {
  return inferred_.at(output).type.tensor.element;
}

ElementType ReferenceContext::out_storage(size_t output) const {
  const ElementType type = out_type(output);
  if (!ideal()) return type;
  if (is_float(type)) return ElementType::kDouble;
  // A quantized value that was never rounded stays unrounded through operators that keep its type or
  // accumulate it in INT32.
  const auto carries = [&](ElementType from) {
    return is_integer(from) && (from == type || type == ElementType::kInt32);
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (has(i) && inputs_[i]->is_tensor() && carries(declared_inputs_[i]) &&
        inputs_[i]->tensor.type() == ElementType::kDouble) {
      return ElementType::kDouble;
    }
  }
  return type;
}

Tensor& ReferenceContext::allocate(size_t output, Dims dims) {
  results_.at(output) = Tensor(out_storage(output), std::move(dims));
  return results_[output].tensor;
}

void ReferenceContext::store(size_t output, std::span<const double> values) {
  if (wants(output)) store(output, out_dims(output), values);
}

void ReferenceContext::store(size_t output, Dims dims, std::span<const double> values) {
  if (!wants(output)) return;
  if (element_count(dims) != static_cast<int64_t>(values.size())) {
    throw internal_error("{} made {} values for output {} of {}", node_.op, values.size(), output,
                         dims_text(dims));
  }
  results_[output] = Tensor::from_doubles(out_storage(output), std::move(dims), values);
}

void ReferenceContext::store_ints(size_t output, Dims dims, std::span<const int64_t> values) {
  if (!wants(output)) return;
  if (element_count(dims) != static_cast<int64_t>(values.size())) {
    throw internal_error("{} made {} values for output {} of {}", node_.op, values.size(), output,
                         dims_text(dims));
  }
  results_[output] = Tensor::from_ints(out_storage(output), std::move(dims), values);
}

void ReferenceContext::emit(size_t output, Datum value) {
  if (wants(output)) results_[output] = std::move(value);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): what overrides it moves them
std::vector<Datum> ReferenceContext::run_region(const Graph&, std::vector<Datum>) {
  throw internal_error("{} runs a region where there is no interpreter", node_.op);
}

}  // namespace vernier::ops
