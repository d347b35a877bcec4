// Unique: slices are sorted by what they hold and, among equals, by where they are, so the first of equals is
// the one that occurs first.
#include <numeric>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/selection/measuring_kernel.h"
#include "vernier/numeric/minifloat.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::cpu {

namespace {

// Negative, zero or positive. NaN is above all numbers and equal to itself; -0 equals 0.
template <class T>
int compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b))
      return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

template <class T>
auto comparable(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return value;
  else
    return static_cast<double>(value);  // float16 or bfloat16
}

// find() leaves this in scratch.
struct Found {
  int64_t* count;   // of unique slices
  int64_t* order;   // the slices, sorted
  int64_t* first;   // of each unique slice, the first that equals it
  int64_t* places;  // of each slice, which unique one it equals
  int64_t* counts;  // of each unique slice, how many equal it

  Found(std::byte* scratch, int64_t slices) {
    count = reinterpret_cast<int64_t*>(scratch);
    order = count + 1;
    first = order + slices;
    places = first + slices;
    counts = places + slices;
  }
  static size_t bytes(int64_t slices) { return static_cast<size_t>(4 * slices + 1) * sizeof(int64_t); }
};

// Without an axis every element is a slice.
ops::AxisRows slices_of(const KernelRequest& request) {
  if (request.node.find_attribute("axis") == nullptr) return {{request.in(0).size()}, 0};
  return {request.in(0).dims, request.node.attribute<int64_t>("axis", {})};
}

template <class T>
class Unique : public MeasuringKernel {
 public:
  explicit Unique(const KernelRequest& request)
      : MeasuringKernel(request),
        slices_(slices_of(request)),
        dims_{slices_.length},
        is_list_(!request.node.domain.empty()),
        sorted_(!is_list_ && ops::integer_attribute(request.node, "sorted") != 0) {
    name = "cpu:unique";
    scratch_bytes = Found::bytes(slices_.length);
    for (size_t i = 0; i < request.outputs.size(); ++i) wanted_.push_back(request.wants(i));
    wanted_.resize(4);
    if (request.node.find_attribute("axis") == nullptr) return;
    dims_ = request.in(0).dims;
    axis_ = static_cast<size_t>(
        ops::normalize_axis(request.node.attribute<int64_t>("axis", {}), request.in(0).rank()));
  }

 protected:
  void find(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const T*>(arguments.inputs[0]);
    const Found found(arguments.scratch, slices_.length);
    std::iota(found.order, found.order + slices_.length, int64_t{0});
    std::sort(found.order, found.order + slices_.length, [&](int64_t a, int64_t b) {
      const int order = compare_slices(x, a, b);
      return order != 0 ? order < 0 : a < b;
    });
    *found.count = sorted_ ? number_sorted(x, found) : number_as_they_occur(x, found);
  }

  void set_sizes(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    const int64_t count = *Found(arguments.scratch, slices_.length).count;
    sizes[0] = dims_;
    sizes[0][axis_] = count;
    for (size_t i = 1; i < sizes.size(); ++i) sizes[i] = {i == places_output() ? slices_.length : count};
  }

  void write(const KernelArguments& arguments) const override {
    const Found found(arguments.scratch, slices_.length);
    const auto write_list = [&](size_t output, const int64_t* from, int64_t count) {
      if (wanted_[output]) std::copy_n(from, count, static_cast<int64_t*>(arguments.outputs[output]));
    };
    if (wanted_[0]) write_slices(arguments, found);
    if (!is_list_) write_list(1, found.first, *found.count);
    write_list(places_output(), found.places, slices_.length);
    write_list(places_output() + 1, found.counts, *found.count);
  }

 private:
  // The operator of com.microsoft has no output of first occurrences.
  size_t places_output() const { return is_list_ ? 1 : 2; }

  int compare_slices(const T* x, int64_t a, int64_t b) const {
    for (int64_t outer = 0; outer < slices_.outer; ++outer) {
      const T* row = x + outer * slices_.length * slices_.inner;
      for (int64_t i = 0; i < slices_.inner; ++i) {
        const int order =
            compare(comparable(row[a * slices_.inner + i]), comparable(row[b * slices_.inner + i]));
        if (order != 0) return order;
      }
    }
    return 0;
  }

  int64_t number_sorted(const T* x, const Found& found) const {
    int64_t count = 0;
    for (int64_t i = 0; i < slices_.length; ++i) {
      if (i == 0 || compare_slices(x, found.order[i - 1], found.order[i]) != 0) {
        found.first[count] = found.order[i];
        found.counts[count++] = 0;
      }
      found.places[found.order[i]] = count - 1;
      ++found.counts[count - 1];
    }
    return count;
  }

  // Each slice notes the first that equals it, and the firsts are then numbered from the beginning.
  int64_t number_as_they_occur(const T* x, const Found& found) const {
    int64_t leader = 0;
    for (int64_t i = 0; i < slices_.length; ++i) {
      if (i == 0 || compare_slices(x, found.order[i - 1], found.order[i]) != 0) leader = found.order[i];
      found.places[found.order[i]] = leader;
    }
    int64_t count = 0;
    for (int64_t i = 0; i < slices_.length; ++i) {
      const bool is_first = found.places[i] == i;
      if (is_first) {
        found.first[count] = i;
        found.counts[count] = 0;
      }
      // A leader lies before those that it leads, so its place is a number already.
      found.places[i] = is_first ? count++ : found.places[found.places[i]];
      ++found.counts[found.places[i]];
    }
    return count;
  }

  void write_slices(const KernelArguments& arguments, const Found& found) const {
    const auto* x = static_cast<const T*>(arguments.inputs[0]);
    auto* y = static_cast<T*>(arguments.outputs[0]);
    for (int64_t outer = 0; outer < slices_.outer; ++outer) {
      const T* row = x + outer * slices_.length * slices_.inner;
      for (int64_t i = 0; i < *found.count; ++i, y += slices_.inner)
        std::copy_n(row + found.first[i] * slices_.inner, slices_.inner, y);
    }
  }

  ops::AxisRows slices_;
  Dims dims_;
  size_t axis_ = 0;
  bool is_list_, sorted_;
  std::vector<bool> wanted_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  switch (request.in(0).element) {
    case ElementType::kBool:
    case ElementType::kUint8: return std::make_unique<Unique<uint8_t>>(request);
    case ElementType::kInt8: return std::make_unique<Unique<int8_t>>(request);
    case ElementType::kInt16: return std::make_unique<Unique<int16_t>>(request);
    case ElementType::kUint16: return std::make_unique<Unique<uint16_t>>(request);
    case ElementType::kInt32: return std::make_unique<Unique<int32_t>>(request);
    case ElementType::kUint32: return std::make_unique<Unique<uint32_t>>(request);
    case ElementType::kInt64: return std::make_unique<Unique<int64_t>>(request);
    case ElementType::kUint64: return std::make_unique<Unique<uint64_t>>(request);
    case ElementType::kFloat16: return std::make_unique<Unique<Float16>>(request);
    case ElementType::kBFloat16: return std::make_unique<Unique<BFloat16>>(request);
    case ElementType::kFloat: return std::make_unique<Unique<float>>(request);
    case ElementType::kDouble: return std::make_unique<Unique<double>>(request);
    default:
      reason = fmt::format("no Unique of {}", element_type_short_name(request.in(0).element));
      return nullptr;
  }
}

}  // namespace

void register_unique(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"})
    registry.add({domain, "Unique", LayoutRule::kPlain, Priority::kOwn, make, nullptr, true});
}

}  // namespace vernier::cpu
