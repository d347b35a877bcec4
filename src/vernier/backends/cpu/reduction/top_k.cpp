// TopK: the k largest or smallest along an axis, in order; the lower index comes first among equals, and a
// NaN is larger than any number.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::cpu {

namespace {

template <class T>
struct Candidate {
  T value;
  int64_t index;
};

// T is what elements are compared in; narrow floats are upcast and their bits copied.
template <class T>
class TopK : public Kernel {
 public:
  explicit TopK(const KernelRequest& request)
      : rows_(request.in(0).dims, ops::integer_attribute(request.node, "axis")),
        kept_(request.out(request.wants(0) ? 0 : 1).dims, ops::integer_attribute(request.node, "axis")),
        element_(request.in(0).element),
        largest_(ops::integer_attribute(request.node, "largest") != 0),
        values_(request.wants(0)),
        indices_(request.wants(1)) {
    name = "cpu:top_k";
    scratch_bytes = static_cast<size_t>(request.in(0).size()) * (sizeof(Candidate<T>) + sizeof(float));
  }

  void run(const KernelArguments& arguments) const override {
    auto* candidates = reinterpret_cast<Candidate<T>*>(arguments.scratch);
    const int64_t all = rows_.count() * rows_.length;
    const T* x = static_cast<const T*>(arguments.inputs[0]);
    if constexpr (std::is_same_v<T, float>)
      x = load_floats(element_, x, 0, all, reinterpret_cast<float*>(candidates + all));
    parallel(rows_.count(), std::max<int64_t>(1, 2048 / std::max<int64_t>(1, rows_.length)),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row)
                 select(arguments, x + rows_.start(row), row, candidates + row * rows_.length);
             });
  }

 private:
  void select(const KernelArguments& arguments, const T* x, int64_t row, Candidate<T>* own) const {
    for (int64_t i = 0; i < rows_.length; ++i) own[i] = {x[i * rows_.inner], i};
    const int64_t count = kept_.length;
    const auto before = [this](const Candidate<T>& a, const Candidate<T>& b) {
      const bool ahead = largest_ ? is_larger(a.value, b.value) : is_larger(b.value, a.value);
      const bool behind = largest_ ? is_larger(b.value, a.value) : is_larger(a.value, b.value);
      return ahead || (!behind && a.index < b.index);
    };
    // A heap of few is fast where most elements do not enter it; many are cheaper to part first.
    if (count * 8 <= rows_.length) {
      std::partial_sort(own, own + count, own + rows_.length, before);
    } else {
      if (count < rows_.length) std::nth_element(own, own + count, own + rows_.length, before);
      std::sort(own, own + count, before);
    }
    const size_t bytes = element_size(element_);
    const auto* from = static_cast<const std::byte*>(arguments.inputs[0]);
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(kept_.start(row) + i * kept_.inner);
      const auto source = static_cast<size_t>(rows_.start(row) + own[i].index * rows_.inner);
      if (indices_) static_cast<int64_t*>(arguments.outputs[1])[at] = own[i].index;
      if (values_)
        std::copy_n(from + source * bytes, bytes, static_cast<std::byte*>(arguments.outputs[0]) + at * bytes);
    }
  }

  static bool is_larger(T a, T b) { return ops::is_nan(a) ? !ops::is_nan(b) : a > b; }

  ops::AxisRows rows_, kept_;
  ElementType element_;
  bool largest_, values_, indices_;
};

std::unique_ptr<Kernel> make_top_k(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  if (x.rank() == 0 || x.size() == 0 || (!request.wants(0) && !request.wants(1))) {
    reason = "no axis to choose along";
    return nullptr;
  }
  if (is_float_storage(x.element)) return std::make_unique<TopK<float>>(request);
  switch (x.element) {
    case ElementType::kInt8: return std::make_unique<TopK<int8_t>>(request);
    case ElementType::kUint8: return std::make_unique<TopK<uint8_t>>(request);
    case ElementType::kInt16: return std::make_unique<TopK<int16_t>>(request);
    case ElementType::kUint16: return std::make_unique<TopK<uint16_t>>(request);
    case ElementType::kInt32: return std::make_unique<TopK<int32_t>>(request);
    case ElementType::kUint32: return std::make_unique<TopK<uint32_t>>(request);
    case ElementType::kInt64: return std::make_unique<TopK<int64_t>>(request);
    case ElementType::kUint64: return std::make_unique<TopK<uint64_t>>(request);
    case ElementType::kDouble: return std::make_unique<TopK<double>>(request);
    default: reason = fmt::format("no TopK of {}", element_type_short_name(x.element)); return nullptr;
  }
}

}  // namespace

void register_top_k(KernelRegistry& registry) {
  registry.add({"", "TopK", LayoutRule::kPlain, Priority::kOwn, make_top_k});
}

}  // namespace vernier::cpu
