// ScatterElements (Scatter) and ScatterND. Updates are made in their order, by one thread: of equal indices
// the last wins, and sums are the same for every number of threads.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/cpu/movement/indices.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/wrapping.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

// Combines `count` elements of updates into what is there.
using Combine = void (*)(const std::byte* updates, std::byte* to, int64_t count);

template <class T, class Operation>
void combine(const std::byte* updates, std::byte* to, int64_t count) {
  const auto* from = reinterpret_cast<const T*>(updates);
  auto* target = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) target[i] = Operation()(target[i], from[i]);
}

template <size_t kWidth>
void replace(const std::byte* updates, std::byte* to, int64_t count) {
  std::memcpy(to, updates, static_cast<size_t>(count) * kWidth);
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return ops::wrapping_add(a, b);
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return ops::wrapping_multiply(a, b);
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return ops::minimum(a, b);
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return ops::maximum(a, b);
  }
};

template <class Operation>
Combine combine_as(ElementType element) {
  switch (element) {
    case ElementType::kFloat: return combine<float, Operation>;
    case ElementType::kDouble: return combine<double, Operation>;
    case ElementType::kInt8: return combine<int8_t, Operation>;
    case ElementType::kUint8: return combine<uint8_t, Operation>;
    case ElementType::kInt16: return combine<int16_t, Operation>;
    case ElementType::kUint16: return combine<uint16_t, Operation>;
    case ElementType::kInt32: return combine<int32_t, Operation>;
    case ElementType::kUint32: return combine<uint32_t, Operation>;
    case ElementType::kInt64: return combine<int64_t, Operation>;
    case ElementType::kUint64: return combine<uint64_t, Operation>;
    default: return nullptr;
  }
}

Combine replace_as(size_t width) {
  switch (width) {
    case 1: return replace<1>;
    case 2: return replace<2>;
    case 4: return replace<4>;
    case 8: return replace<8>;
    default: return replace<16>;
  }
}

// Null for types that are not combined.
Combine combine_of(const std::string& reduction, ElementType element) {
  if (reduction == "none") return replace_as(element_size(element));
  if (reduction == "add") return combine_as<Add>(element);
  if (reduction == "mul") return combine_as<Multiply>(element);
  if (reduction == "min") return combine_as<Minimum>(element);
  if (reduction == "max") return combine_as<Maximum>(element);
  return nullptr;
}

// `Where` knows to which places the updates go.
template <class Where>
class ScatterKernel : public Kernel {
 public:
  ScatterKernel(const KernelRequest& request, Combine how, Where where)
      : node_(request.node.name),
        combine_(how),
        index_type_(request.in(1).element),
        bytes_(static_cast<size_t>(request.in(0).size()) * element_size(request.in(0).element)),
        where_(std::move(where)) {
    name = Where::kName;
    in_place = 0;
  }

  void run(const KernelArguments& arguments) const override {
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    if (arguments.inputs[0] != y && bytes_ > 0) std::memcpy(y, arguments.inputs[0], bytes_);
    IndexCheck check;
    const auto* updates = static_cast<const std::byte*>(arguments.inputs[2]);
    with_indices(index_type_, arguments.inputs[1], [&](const auto* indices) {
      where_.each(indices, check, [&](int64_t update, int64_t target, int64_t count) {
        combine_(updates + update, y + target, count);
      });
    });
    check.check(node_);
  }

 private:
  std::string node_;
  Combine combine_;
  ElementType index_type_;
  size_t bytes_;
  Where where_;
};

// Element (i, …) goes to where the index takes its place along the axis.
struct ByElement {
  static constexpr const char* kName = "cpu:scatter-elements";
  int64_t width;
  size_t axis;
  Dims dims, index_dims;
  std::vector<int64_t> steps;

  // Calls put(offset of an update, offset in the data, elements) in bytes.
  template <class Index, class Put>
  void each(const Index* indices, IndexCheck& check, const Put& put) const {
    const size_t last = index_dims.size() - 1;
    const int64_t row = index_dims[last], rows = row == 0 ? 0 : ops::product(index_dims, 0, last);
    const int64_t across = axis == last ? 0 : steps[last];
    for (int64_t i = 0; i < rows; ++i) {
      int64_t offset = 0, rest = i;
      for (size_t k = last; k-- > 0; rest /= index_dims[k]) {
        if (k != axis) offset += rest % index_dims[k] * steps[k];
      }
      for (int64_t j = 0; j < row; ++j) {
        const int64_t at = check.resolve(indices[i * row + j], dims[axis]);
        put((i * row + j) * width, offset + at * steps[axis] + j * across, 1);
      }
    }
  }
};

// A block goes to where a tuple of indices points.
struct ByTuple {
  static constexpr const char* kName = "cpu:scatter-nd";
  int64_t width, tuples, block;
  size_t length;
  Dims dims;
  std::vector<int64_t> steps;

  template <class Index, class Put>
  void each(const Index* indices, IndexCheck& check, const Put& put) const {
    for (int64_t i = 0; i < tuples; ++i) {
      int64_t offset = 0;
      for (size_t k = 0; k < length; ++k) offset += check.resolve(*indices++, dims[k]) * steps[k];
      put(i * block * width, offset, block);
    }
  }
};

std::unique_ptr<Kernel> by_tuple(const KernelRequest& request, Combine how) {
  const Operand &x = request.in(0), &indices = request.in(1);
  if (indices.dims.empty() || indices.dims.back() > x.rank()) return nullptr;
  Dims wanted(indices.dims.begin(), indices.dims.end() - 1);
  wanted.insert(wanted.end(), x.dims.begin() + indices.dims.back(), x.dims.end());
  if (request.in(2).dims != wanted) return nullptr;
  const auto length = static_cast<size_t>(indices.dims.back());
  return std::make_unique<ScatterKernel<ByTuple>>(
      request, how,
      ByTuple{static_cast<int64_t>(element_size(x.element)),
              ops::product(indices.dims, 0, indices.dims.size() - 1),
              ops::product(x.dims, length, x.dims.size()), length, x.dims, byte_steps(x)});
}

std::unique_ptr<Kernel> by_element(const KernelRequest& request, Combine how) {
  const Operand &x = request.in(0), &indices = request.in(1);
  if (request.in(2).dims != indices.dims || indices.rank() != x.rank() || x.dims.empty()) return nullptr;
  const auto axis =
      static_cast<size_t>(ops::normalize_axis(ops::integer_attribute(request.node, "axis"), x.rank()));
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (i != axis && indices.dims[i] > x.dims[i]) return nullptr;
  }
  return std::make_unique<ScatterKernel<ByElement>>(
      request, how,
      ByElement{static_cast<int64_t>(element_size(x.element)), axis, x.dims, indices.dims, byte_steps(x)});
}

template <std::unique_ptr<Kernel> (*kMake)(const KernelRequest&, Combine)>
std::unique_ptr<Kernel> make_scatter(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const auto reduction = ops::text_attribute(request.node, "reduction");
  const Combine how = combine_of(reduction, x.element);
  reason = fmt::format("no such scatter of {}", element_type_short_name(x.element));
  if (!is_movable(request) || !is_index(request.in(1).element) || how == nullptr || x.size() == 0)
    return nullptr;
  auto kernel = kMake(request, how);
  if (kernel && reduction != "none" && is_float(x.element))
    kernel->contract = {x.element, x.element, x.element, NumericsContract::Order::kSequential};
  return kernel;
}

}  // namespace

void register_scatter(KernelRegistry& registry) {
  registry.add({"", "Scatter", LayoutRule::kPlain, Priority::kOwn, make_scatter<by_element>});
  registry.add({"", "ScatterElements", LayoutRule::kPlain, Priority::kOwn, make_scatter<by_element>});
  registry.add({"", "ScatterND", LayoutRule::kPlain, Priority::kOwn, make_scatter<by_tuple>});
}

}  // namespace vernier::cpu
