#include "vernier/backends/cpu/reduction/reduction_walk.h"

#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::cpu {

ReductionWalk ReductionWalk::of(const Dims& dims, const std::vector<bool>& reduced_axes) {
  struct Merged {
    Axis axis;
    bool reduced;
  };
  std::vector<Merged> axes;  // innermost first
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
    if (dims[i] == 1) continue;
    if (!axes.empty() && axes.back().reduced == reduced_axes[i])
      axes.back().axis.size *= dims[i];
    else
      axes.push_back({{dims[i], stride}, reduced_axes[i]});
  }
  ReductionWalk walk;
  size_t next = 0;
  if (next < axes.size() && !axes[next].reduced) {
    walk.columns = walk.stride = axes[next++].axis.size;
    if (next < axes.size()) walk.rows = axes[next++].axis.size;
  } else if (next < axes.size()) {
    walk.rows = axes[next++].axis.size;
  }
  for (size_t i = axes.size(); i-- > next;)
    (axes[i].reduced ? walk.reduced : walk.kept).push_back(axes[i].axis);
  return walk;
}

int64_t ReductionWalk::count(const std::vector<Axis>& axes) {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

int64_t ReductionWalk::offset(const std::vector<Axis>& axes, int64_t index) {
  int64_t at = 0;
  for (size_t i = axes.size(); i-- > 0; index /= axes[i].size) at += index % axes[i].size * axes[i].stride;
  return at;
}

namespace {

using ops::magnitude;
using ops::wrapping_add;
using ops::wrapping_multiply;

constexpr int64_t kGrain = 1 << 14;

// The folds in the arithmetic type W: int64_t, uint64_t or double.
struct Sum {
  template <class W>
  static W join(W sum, W x) {
    return wrapping_add(sum, x);
  }
};
struct Product {
  template <class W>
  static W join(W product, W x) {
    return wrapping_multiply(product, x);
  }
};
struct Absolute {
  template <class W>
  static W join(W sum, W x) {
    return wrapping_add(sum, magnitude(x));
  }
};
struct Square {
  template <class W>
  static W join(W sum, W x) {
    return wrapping_add(sum, wrapping_multiply(x, x));
  }
};
struct Largest {
  template <class W>
  static W join(W best, W x) {
    return ops::maximum(best, x);
  }
};
struct Smallest {
  template <class W>
  static W join(W best, W x) {
    return ops::minimum(best, x);
  }
};

// T is how the elements are stored.
template <class T, class Op>
class WideReduce : public Kernel {
 public:
  using W = std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, uint64_t>, T, int64_t>;

  WideReduce(const KernelRequest& request, ReductionWalk walk)
      : walk_(std::move(walk)),
        start_(start_of(request.in(0).element)),
        mean_(request.node.op == "ReduceMean") {
    name = "cpu:reduce_wide";
    const ElementType element = request.in(0).element;
    contract = {element, element, element, NumericsContract::Order::kBlocked};
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const T*>(arguments.inputs[0]);
    auto* y = static_cast<T*>(arguments.outputs[0]);
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, walk_.elements()));
    parallel(walk_.runs() * walk_.columns, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = ReductionWalk::offset(walk_.kept, i / walk_.columns) + i % walk_.columns;
        y[i] = static_cast<T>(reduce(x + first));
      }
    });
  }

 private:
  static W start_of(ElementType element) {
    if constexpr (std::is_same_v<Op, Product>) return W{1};
    if constexpr (!std::is_same_v<Op, Largest> && !std::is_same_v<Op, Smallest>) return W{0};
    constexpr bool kLargest = std::is_same_v<Op, Largest>;
    if constexpr (std::is_same_v<T, double>) return kLargest ? -HUGE_VAL : HUGE_VAL;
    if (element == ElementType::kBool) return kLargest ? W{0} : W{1};
    if constexpr (!std::is_same_v<T, double>)
      return static_cast<W>(kLargest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
    return W{0};
  }

  // Each run of elements apart, then the runs: long sums of doubles go through short ones.
  W reduce(const T* x) const {
    W total = start_;
    for (int64_t part = 0; part < walk_.parts(); ++part) {
      const T* run = x + ReductionWalk::offset(walk_.reduced, part);
      std::array<W, 4> sums;
      sums.fill(start_);
      int64_t row = 0;
      for (; row + 4 <= walk_.rows; row += 4) {
        for (int64_t k = 0; k < 4; ++k) {
          W& sum = sums[static_cast<size_t>(k)];
          sum = Op::template join<W>(sum, static_cast<W>(run[(row + k) * walk_.stride]));
        }
      }
      for (; row < walk_.rows; ++row)
        sums[0] = Op::template join<W>(sums[0], static_cast<W>(run[row * walk_.stride]));
      for (const W sum : sums) total = Merge::template join<W>(total, sum);
    }
    if (!mean_) return total;
    if (walk_.elements() == 0 && !std::is_floating_point_v<W>) return W{0};
    return static_cast<W>(total / static_cast<W>(walk_.elements()));
  }

  // How two folds are one: sums of squares are summed, not squared.
  using Merge = std::conditional_t<std::is_same_v<Op, Square> || std::is_same_v<Op, Absolute>, Sum, Op>;

  ReductionWalk walk_;
  W start_;
  bool mean_;
};

template <class T>
std::unique_ptr<Kernel> make_of(const KernelRequest& request, ReductionWalk walk) {
  const std::string& op = request.node.op;
  if (op == "ReduceSum" || op == "ReduceMean")
    return std::make_unique<WideReduce<T, Sum>>(request, std::move(walk));
  if (op == "ReduceProd") return std::make_unique<WideReduce<T, Product>>(request, std::move(walk));
  if (op == "ReduceL1") return std::make_unique<WideReduce<T, Absolute>>(request, std::move(walk));
  if (op == "ReduceSumSquare") return std::make_unique<WideReduce<T, Square>>(request, std::move(walk));
  if (op == "ReduceMax") return std::make_unique<WideReduce<T, Largest>>(request, std::move(walk));
  if (op == "ReduceMin") return std::make_unique<WideReduce<T, Smallest>>(request, std::move(walk));
  return nullptr;
}

}  // namespace

std::unique_ptr<Kernel> make_wide_reduce(const KernelRequest& request, ReductionWalk walk,
                                         std::string& reason) {
  const ElementType element = request.in(0).element;
  reason = fmt::format("no {} of {}", request.node.op, element_type_short_name(element));
  switch (element) {
    case ElementType::kInt8: return make_of<int8_t>(request, std::move(walk));
    case ElementType::kUint8: return make_of<uint8_t>(request, std::move(walk));
    case ElementType::kInt16: return make_of<int16_t>(request, std::move(walk));
    case ElementType::kUint16: return make_of<uint16_t>(request, std::move(walk));
    case ElementType::kInt32: return make_of<int32_t>(request, std::move(walk));
    case ElementType::kUint32: return make_of<uint32_t>(request, std::move(walk));
    case ElementType::kInt64: return make_of<int64_t>(request, std::move(walk));
    case ElementType::kUint64: return make_of<uint64_t>(request, std::move(walk));
    case ElementType::kDouble: return make_of<double>(request, std::move(walk));
    case ElementType::kBool:
      if (request.node.op == "ReduceMax" || request.node.op == "ReduceMin")
        return make_of<uint8_t>(request, std::move(walk));
      return nullptr;
    default: return nullptr;
  }
}

}  // namespace vernier::cpu
