// CumSum and CumProd along an axis, and ReverseSequence.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/cpu/movement/indices.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/wrapping.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kElementsPerThread = 1 << 13;

// A running sum, or product, in double where the numbers are real: it is as long as the axis. Rows that lie
// side by side advance together.
template <class T>
class CumulativeKernel : public Kernel {
 public:
  CumulativeKernel(const Operand& x, int64_t axis, const Node& node)
      : rows_(x.dims, axis),
        product_(node.op == "CumProd"),
        exclusive_(ops::integer_attribute(node, "exclusive") != 0),
        reverse_(ops::integer_attribute(node, "reverse") != 0) {
    name = product_ ? "cpu:cumulative-product" : "cpu:cumulative-sum";
    if (std::is_floating_point_v<T>)
      contract = {ElementType::kDouble, ElementType::kDouble, x.element,
                  NumericsContract::Order::kSequential};
    in_place = 0;
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const T*>(arguments.inputs[0]);
    auto* y = static_cast<T*>(arguments.outputs[0]);
    const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, rows_.length));
    parallel(rows_.count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {
        const int64_t together = std::min({kTogether, end - row, rows_.inner - row % rows_.inner});
        advance(x + rows_.start(row), y + rows_.start(row), together);
        row += together;
      }
    });
  }

 private:
  static constexpr int64_t kTogether = 16;
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;

  void advance(const T* x, T* y, int64_t rows) const {
    Wide totals[kTogether];
    std::fill_n(totals, rows, product_ ? Wide{1} : Wide{0});
    for (int64_t i = 0; i < rows_.length; ++i) {
      const int64_t at = (reverse_ ? rows_.length - 1 - i : i) * rows_.inner;
      for (int64_t k = 0; k < rows; ++k) {
        const auto value = static_cast<Wide>(x[at + k]);
        const Wide next =
            product_ ? ops::wrapping_multiply(totals[k], value) : ops::wrapping_add(totals[k], value);
        y[at + k] = static_cast<T>(exclusive_ ? totals[k] : next);
        totals[k] = next;
      }
    }
  }

  ops::AxisRows rows_;
  bool product_, exclusive_, reverse_;
};

std::unique_ptr<Kernel> make_cumulative(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const Tensor* axis = request.has(1) ? request.in(1).constant : nullptr;
  if (axis == nullptr || axis->size() != 1 || x.dims.empty()) {
    reason = "the axis is known only when it runs";
    return nullptr;
  }
  const int64_t at = axis->to_ints()[0];
  switch (x.element) {
    case ElementType::kFloat: return std::make_unique<CumulativeKernel<float>>(x, at, request.node);
    case ElementType::kDouble: return std::make_unique<CumulativeKernel<double>>(x, at, request.node);
    case ElementType::kInt32: return std::make_unique<CumulativeKernel<int32_t>>(x, at, request.node);
    case ElementType::kInt64: return std::make_unique<CumulativeKernel<int64_t>>(x, at, request.node);
    case ElementType::kUint32: return std::make_unique<CumulativeKernel<uint32_t>>(x, at, request.node);
    case ElementType::kUint64: return std::make_unique<CumulativeKernel<uint64_t>>(x, at, request.node);
    default: reason = "no running sums of such numbers"; return nullptr;
  }
}

// For every batch entry the first elements in reverse order.
class ReverseSequenceKernel : public Kernel {
 public:
  ReverseSequenceKernel(const KernelRequest& request, size_t time)
      : node_(request.node.name),
        time_(time),
        dims_(request.in(0).dims),
        block_(static_cast<size_t>(ops::product(dims_, 2, dims_.size())) *
               element_size(request.in(0).element)) {
    name = "cpu:reverse-sequence";
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
    const auto* lengths = static_cast<const int64_t*>(arguments.inputs[1]);
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    for (int64_t i = 0; i < dims_[1 - time_]; ++i) {
      if (lengths[i] < 0 || lengths[i] > dims_[time_])
        throw bad_input("sequence length {} is not in [0, {}]", lengths[i], dims_[time_]).at_node(node_);
    }
    if (block_ == 0) return;
    for (int64_t i = 0; i < dims_[0]; ++i) {
      for (int64_t j = 0; j < dims_[1]; ++j) {
        const int64_t at = time_ == 0 ? i : j, length = lengths[time_ == 0 ? j : i];
        const int64_t from = at < length ? length - 1 - at : at;
        const int64_t source = time_ == 0 ? from * dims_[1] + j : i * dims_[1] + from;
        std::memcpy(y, x + static_cast<size_t>(source) * block_, block_);
        y += block_;
      }
    }
  }

 private:
  std::string node_;
  size_t time_;
  Dims dims_;
  size_t block_;
};

std::unique_ptr<Kernel> make_reverse_sequence(const KernelRequest& request, std::string& reason) {
  const auto time = static_cast<size_t>(ops::integer_attribute(request.node, "time_axis"));
  const Operand &x = request.in(0), &lengths = request.in(1);
  if (!is_movable(request) || lengths.element != ElementType::kInt64 || time > 1 ||
      lengths.dims != Dims{x.dims[1 - time]}) {
    reason = "the lengths do not fit";
    return nullptr;
  }
  return std::make_unique<ReverseSequenceKernel>(request, time);
}

}  // namespace

void register_along_axis(KernelRegistry& registry) {
  registry.add({"", "CumSum", LayoutRule::kPlain, Priority::kOwn, make_cumulative});
  registry.add({"", "CumProd", LayoutRule::kPlain, Priority::kOwn, make_cumulative});
  registry.add({"", "ReverseSequence", LayoutRule::kPlain, Priority::kOwn, make_reverse_sequence});
}

}  // namespace vernier::cpu
