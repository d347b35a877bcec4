// Operators that make much of little: ConstantOfShape, EyeLike, OneHot, Range and Trilu.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr const char* kUnknown = "strings are not moved by width, or an operand is known only when it runs";

// The integer that an input is known to hold, or the fallback where it is left out.
std::optional<int64_t> known_integer(const KernelRequest& request, size_t input, int64_t fallback) {
  if (!request.has(input)) return fallback;
  const Tensor* content = request.in(input).constant;
  if (content == nullptr || content->size() != 1) return std::nullopt;
  return content->to_ints()[0];
}

std::unique_ptr<Kernel> make_constant_of_shape(const KernelRequest& request, std::string& reason) {
  const Operand& y = request.out();
  const Tensor value = ops::constant_of_shape_value(request.node);
  if (!is_movable(request)) {
    reason = kUnknown;
    return nullptr;
  }
  auto kernel = std::make_unique<CopyKernel>("fill");
  kernel->set_value(value.raw(), value.byte_size());
  kernel->fill(CopyKernel::kValue, 0, y, from_origin(y.dims.size()), y.dims);
  return kernel;
}

std::unique_ptr<Kernel> make_eye_like(const KernelRequest& request, std::string& reason) {
  const Operand& y = request.out();
  if (!is_movable(request)) {
    reason = kUnknown;
    return nullptr;
  }
  auto kernel = std::make_unique<CopyKernel>("eye-like");
  const Tensor one = Tensor::from_doubles(y.element, {1}, std::vector<double>{1});
  kernel->set_value(one.raw(), one.byte_size());
  kernel->fill(CopyKernel::kZero, 0, y, from_origin(2), y.dims);
  const int64_t rows = y.dims[0], columns = y.dims[1];
  const int64_t k = std::clamp(ops::integer_attribute(request.node, "k"), -rows, columns);
  const int64_t first = std::max<int64_t>(0, -k), last = std::max(first, std::min(rows, columns - k));
  const auto steps = byte_steps(y);
  kernel->add(CopyKernel::kValue, 0,
              StridedCopy(one.byte_size(), {{last - first, 0, steps[0] + steps[1]}}, 0,
                          first * steps[0] + (first + k) * steps[1]));
  return kernel;
}

// Rows of the last axis that keep one end, and are zero in the other.
class TriluKernel : public Kernel {
 public:
  TriluKernel(const Operand& x, int64_t k, bool upper)
      : upper_(upper),
        k_(k),
        rows_(x.dims[x.dims.size() - 2]),
        columns_(x.dims.back()),
        width_(static_cast<int64_t>(element_size(x.element))) {
    name = "cpu:trilu";
    in_place = 0;
    all_rows_ = ops::product(x.dims, 0, x.dims.size() - 1);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    constexpr int64_t kBytesPerThread = 1 << 17;
    const int64_t row_bytes = columns_ * width_;
    const int64_t grain = std::max<int64_t>(1, kBytesPerThread / std::max<int64_t>(1, row_bytes));
    parallel(all_rows_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t diagonal = row % rows_ + k_;
        const int64_t first = upper_ ? std::clamp<int64_t>(diagonal, 0, columns_) : 0;
        const int64_t last = upper_ ? columns_ : std::clamp<int64_t>(diagonal + 1, 0, columns_);
        const std::byte* from = x + row * row_bytes;
        std::byte* to = y + row * row_bytes;
        clear(to, 0, first);
        if (from != to && first < last)
          std::memcpy(to + first * width_, from + first * width_,
                      static_cast<size_t>((last - first) * width_));
        clear(to, last, columns_);
      }
    });
  }

 private:
  void clear(std::byte* row, int64_t first, int64_t last) const {
    if (first < last) std::memset(row + first * width_, 0, static_cast<size_t>((last - first) * width_));
  }

  bool upper_;
  int64_t k_, rows_, columns_, width_, all_rows_ = 0;
};

std::unique_ptr<Kernel> make_trilu(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const auto k = known_integer(request, 1, 0);
  if (!is_movable(request) || !k) {
    reason = kUnknown;
    return nullptr;
  }
  const int64_t rows = x.dims[x.dims.size() - 2];
  return std::make_unique<TriluKernel>(x, std::clamp(*k, -rows, x.dims.back()),
                                       ops::integer_attribute(request.node, "upper") != 0);
}

// Everywhere the first of two values, and the second where an index says.
template <class Index>
class OneHotKernel : public Kernel {
 public:
  OneHotKernel(const Operand& y, size_t axis)
      : inner_(ops::product(y.dims, axis + 1, y.dims.size())),
        depth_(y.dims[axis]),
        count_(ops::product(y.dims, 0, axis) * inner_),
        width_(element_size(y.element)),
        fill_(width_, {{count_ * depth_, 0, static_cast<int64_t>(width_)}}, 0, 0) {
    name = "cpu:one-hot";
  }

  void run(const KernelArguments& arguments) const override {
    const auto* indices = static_cast<const Index*>(arguments.inputs[0]);
    const auto* values = static_cast<const std::byte*>(arguments.inputs[2]);
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    fill_.run(values, y);
    with_run(width_, [&](auto copy) {
      for (int64_t i = 0; i < count_; ++i) {
        auto at = static_cast<int64_t>(indices[i]);
        if (at < -depth_ || at >= depth_) continue;
        if (at < 0) at += depth_;
        const int64_t element = (i / inner_ * depth_ + at) * inner_ + i % inner_;
        copy(values + width_, y + element * static_cast<int64_t>(width_));
      }
    });
  }

 private:
  int64_t inner_, depth_, count_;
  size_t width_;
  StridedCopy fill_;
};

std::unique_ptr<Kernel> make_one_hot(const KernelRequest& request, std::string& reason) {
  const Operand& y = request.out();
  const ElementType index = request.in(0).element;
  if (!is_movable(request) || request.in(2).size() != 2) {
    reason = kUnknown;
    return nullptr;
  }
  const auto axis =
      static_cast<size_t>(ops::normalize_axis(ops::integer_attribute(request.node, "axis"), y.rank()));
  if (index == ElementType::kInt64) return std::make_unique<OneHotKernel<int64_t>>(y, axis);
  if (index == ElementType::kInt32) return std::make_unique<OneHotKernel<int32_t>>(y, axis);
  reason = "indices are int32 or int64";
  return nullptr;
}

// start, start + delta, …: each number by one product and one sum, in double where they are real.
template <class T>
class RangeKernel : public Kernel {
 public:
  explicit RangeKernel(int64_t count) : count_(count) { name = "cpu:range"; }

  void run(const KernelArguments& arguments) const override {
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    const auto start = static_cast<Wide>(*static_cast<const T*>(arguments.inputs[0])),
               delta = static_cast<Wide>(*static_cast<const T*>(arguments.inputs[2]));
    auto* y = static_cast<T*>(arguments.outputs[0]);
    for (int64_t i = 0; i < count_; ++i) y[i] = static_cast<T>(start + static_cast<Wide>(i) * delta);
  }

 private:
  int64_t count_;
};

std::unique_ptr<Kernel> make_range(const KernelRequest& request, std::string& reason) {
  const int64_t count = request.out().size();
  std::unique_ptr<Kernel> kernel;
  switch (request.out().element) {
    case ElementType::kFloat: kernel = std::make_unique<RangeKernel<float>>(count); break;
    case ElementType::kDouble: kernel = std::make_unique<RangeKernel<double>>(count); break;
    case ElementType::kInt16: kernel = std::make_unique<RangeKernel<int16_t>>(count); break;
    case ElementType::kInt32: kernel = std::make_unique<RangeKernel<int32_t>>(count); break;
    case ElementType::kInt64: kernel = std::make_unique<RangeKernel<int64_t>>(count); break;
    default: reason = "no range of such numbers"; return nullptr;
  }
  if (is_float(request.out().element))
    kernel->contract = {ElementType::kDouble, ElementType::kUndefined, request.out().element};
  return kernel;
}

}  // namespace

void register_fill(KernelRegistry& registry) {
  registry.add({"", "ConstantOfShape", LayoutRule::kPlain, Priority::kOwn, make_constant_of_shape});
  registry.add({"", "EyeLike", LayoutRule::kPlain, Priority::kOwn, make_eye_like});
  registry.add({"", "OneHot", LayoutRule::kPlain, Priority::kOwn, make_one_hot});
  registry.add({"", "Range", LayoutRule::kPlain, Priority::kOwn, make_range});
  registry.add({"", "Trilu", LayoutRule::kPlain, Priority::kOwn, make_trilu});
  registry.add({"com.microsoft", "Trilu", LayoutRule::kPlain, Priority::kOwn, make_trilu});
}

}  // namespace vernier::cpu
