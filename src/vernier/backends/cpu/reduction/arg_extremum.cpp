// ArgMax and ArgMin: the first, or the last, of the largest or smallest along an axis; a NaN is taken for it.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 1 << 14;

template <class T>
class ArgExtremum : public Kernel {
 public:
  explicit ArgExtremum(const KernelRequest& request)
      : rows_(request.in(0).dims, ops::integer_attribute(request.node, "axis")),
        element_(request.in(0).element),
        largest_(request.node.op == "ArgMax"),
        last_wins_(ops::integer_attribute(request.node, "select_last_index") != 0) {
    name = "cpu:arg_extremum";
    if (is_narrow(element_)) scratch_bytes = static_cast<size_t>(request.in(0).size()) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    const T* x = static_cast<const T*>(arguments.inputs[0]);
    if constexpr (std::is_same_v<T, float>)
      x = load_floats(element_, x, 0, rows_.count() * rows_.length,
                      reinterpret_cast<float*>(arguments.scratch));
    auto* y = static_cast<int64_t*>(arguments.outputs[0]);
    parallel(rows_.count(), std::max<int64_t>(1, kGrain / std::max<int64_t>(1, rows_.length)),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row) y[row] = place(x + rows_.start(row));
             });
  }

 private:
  int64_t place(const T* x) const {
    if constexpr (std::is_same_v<T, float>) {
      if (rows_.inner == 1 && !last_wins_) return first_place(x);
    }
    int64_t best = 0;
    for (int64_t i = 1; i < rows_.length; ++i) {
      if (replaces(x[i * rows_.inner], x[best * rows_.inner])) best = i;
    }
    return best;
  }

  // The extremum by vectors, then the first that is it.
  int64_t first_place(const float* x) const {
    const float best = fold_row(largest_ ? Fold::kMax : Fold::kMin, x, rows_.length, 0);
    for (int64_t i = 0; i < rows_.length; ++i) {
      if (x[i] == best || (std::isnan(best) && std::isnan(x[i]))) return i;
    }
    return 0;
  }

  bool replaces(T x, T best) const {
    if (ops::is_nan(x) || ops::is_nan(best)) return ops::is_nan(x) && (last_wins_ || !ops::is_nan(best));
    return (largest_ ? x > best : x < best) || (last_wins_ && x == best);
  }

  ops::AxisRows rows_;
  ElementType element_;
  bool largest_, last_wins_;
};

std::unique_ptr<Kernel> make_arg_extremum(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  if (x.rank() == 0 || x.size() == 0) {
    reason = "an extremum of no elements, or of one";
    return nullptr;
  }
  if (is_float_storage(x.element)) return std::make_unique<ArgExtremum<float>>(request);
  switch (x.element) {
    case ElementType::kInt8: return std::make_unique<ArgExtremum<int8_t>>(request);
    case ElementType::kUint8: return std::make_unique<ArgExtremum<uint8_t>>(request);
    case ElementType::kInt16: return std::make_unique<ArgExtremum<int16_t>>(request);
    case ElementType::kUint16: return std::make_unique<ArgExtremum<uint16_t>>(request);
    case ElementType::kInt32: return std::make_unique<ArgExtremum<int32_t>>(request);
    case ElementType::kUint32: return std::make_unique<ArgExtremum<uint32_t>>(request);
    case ElementType::kInt64: return std::make_unique<ArgExtremum<int64_t>>(request);
    case ElementType::kUint64: return std::make_unique<ArgExtremum<uint64_t>>(request);
    case ElementType::kDouble: return std::make_unique<ArgExtremum<double>>(request);
    default: reason = fmt::format("no extremum of {}", element_type_short_name(x.element)); return nullptr;
  }
}

}  // namespace

void register_arg_extremum(KernelRegistry& registry) {
  registry.add({"", "ArgMax", LayoutRule::kPlain, Priority::kOwn, make_arg_extremum});
  registry.add({"", "ArgMin", LayoutRule::kPlain, Priority::kOwn, make_arg_extremum});
}

}  // namespace vernier::cpu
