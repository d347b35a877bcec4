// Compress: slices along an axis, or elements, whose places the condition tells.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/selection/measuring_kernel.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBytesPerThread = 1 << 16;

// Without an axis it reads one axis of all elements.
struct Source {
  Dims dims;
  int64_t axis;

  explicit Source(const KernelRequest& request) : dims(request.in(0).dims) {
    const bool flat = request.node.find_attribute("axis") == nullptr;
    if (flat) dims = {request.in(0).size()};
    axis = flat ? 0
                : ops::normalize_axis(request.node.attribute<int64_t>("axis", {}),
                                      static_cast<int64_t>(dims.size()));
  }
};

class Compress : public MeasuringKernel {
 public:
  Compress(const KernelRequest& request, const Source& source)
      : MeasuringKernel(request),
        dims_(source.dims),
        axis_(static_cast<size_t>(source.axis)),
        rows_(source.dims, source.axis),
        conditions_(request.in(1).size()),
        block_(static_cast<size_t>(rows_.inner) * element_size(request.in(0).element)) {
    name = "cpu:compress";
    // How many are selected, and which; one more is written to before it is known not to be selected.
    scratch_bytes = static_cast<size_t>(conditions_ + 2) * sizeof(int64_t);
  }

 protected:
  void find(const KernelArguments& arguments) const override {
    const auto* condition = static_cast<const uint8_t*>(arguments.inputs[1]);
    auto* count = reinterpret_cast<int64_t*>(arguments.scratch);
    int64_t* place = count + 1;
    for (int64_t i = 0; i < conditions_; ++i) {
      *place = i;
      place += condition[i] != 0 ? 1 : 0;
    }
    *count = place - count - 1;
  }

  void set_sizes(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    sizes[0] = dims_;
    sizes[0][axis_] = *reinterpret_cast<const int64_t*>(arguments.scratch);
  }

  void write(const KernelArguments& arguments) const override {
    const auto* count = reinterpret_cast<const int64_t*>(arguments.scratch);
    const int64_t *places = count + 1, selected = *count;
    if (block_ == 0) return;
    const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    const auto block = static_cast<int64_t>(block_);
    parallel(rows_.outer * selected, std::max<int64_t>(1, kBytesPerThread / block),
             [&](int64_t begin, int64_t end) {
               with_run(block_, [&](auto copy) {
                 int64_t row = begin / selected, at = begin % selected;
                 for (int64_t i = begin; i < end; ++i) {
                   copy(x + (row * rows_.length + places[at]) * block, y + i * block);
                   if (++at < selected) continue;
                   at = 0;
                   ++row;
                 }
               });
             });
  }

 private:
  Dims dims_;
  size_t axis_;
  ops::AxisRows rows_;
  int64_t conditions_;
  size_t block_;  // bytes of one slice that lie together
};

std::unique_ptr<Kernel> make_compress(const KernelRequest& request, std::string& reason) {
  if (request.in(1).element != ElementType::kBool || element_bits(request.in(0).element) < 8) {
    reason = "elements narrower than a byte, or a condition of another type than bool";
    return nullptr;
  }
  const Source source(request);
  if (request.in(1).size() > source.dims.at(static_cast<size_t>(source.axis))) {
    reason = "the condition is longer than the axis";
    return nullptr;
  }
  return std::make_unique<Compress>(request, source);
}

}  // namespace

void register_compress(KernelRegistry& registry) {
  registry.add({"", "Compress", LayoutRule::kPlain, Priority::kOwn, make_compress, nullptr, true});
}

}  // namespace vernier::cpu
