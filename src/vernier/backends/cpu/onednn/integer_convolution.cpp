// ConvInteger: oneDNN sums the products of x, less its zero point, and the weights as they are; what the zero
// points of these add is taken off.
#include "vernier/backends/cpu/cpu_kernels.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/integer_sums.h"
#include "vernier/backends/cpu/kernels/reorder.h"
#include "vernier/backends/cpu/kernels/window_sums.h"
#include "vernier/backends/cpu/onednn/convolution.h"
#include "vernier/backends/cpu/onednn/requantisation.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

enum Input : size_t { kX, kW, kXZeroPoint, kWZeroPoint };

// The sums of inputs 0 (x) and 1 (its zero point, INT32).
std::unique_ptr<DnnlKernel> make_sums(const KernelRequest& request, const Operand& x, const Operand& y,
                                      const ops::Convolution& convolution, const Tensor& weights) {
  constexpr auto kByte = dnnl::memory::data_type::s8;
  const int threads = threads_for(ops::convolution_flops(weights.dims(), y.dims));
  const ThreadScope scope(threads);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (request.has(kXZeroPoint)) attributes.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
  const Dims dims = weight_dims(weights.dims(), convolution.groups);
  const auto pd = describe_convolution(describe(x), any(kByte, dims), std::nullopt, describe(y),
                                       geometry_of(convolution.axes), attributes);
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, describe(x), 0, -1, std::nullopt},
                                     {DNNL_ARG_DST, describe(y), -1, 0, std::nullopt},
                                     {DNNL_ARG_WEIGHTS, pd.weights_desc(), -1, -1,
                                      pack(request, weights, plain(kByte, dims), pd.weights_desc())}};
  if (request.has(kXZeroPoint))
    arguments.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, plain(dnnl::memory::data_type::s32, {1}),
                         1, -1, std::nullopt});
  auto kernel =
      std::make_unique<DnnlKernel>(dnnl::convolution_forward(pd), pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->threads = threads == 1 ? 1 : 0;
  return kernel;
}

// What the parts of a run need; x and y lie channels-last.
struct Parts {
  Operand x, y;  // as they are given
  std::unique_ptr<Kernel> x_reorder, y_reorder;
  std::unique_ptr<DnnlKernel> sums;
  std::optional<WindowSums> windows;  // none: the weights have no zero points
  std::vector<int32_t> w_zeros;       // of each channel of y
  bool has_zero_point = false;
  int64_t groups = 1;
};

class IntegerConvolution : public Kernel {
 public:
  explicit IntegerConvolution(Parts parts) : parts_(std::move(parts)) {
    name = parts_.sums->name;
    contract = {ElementType::kInt32, ElementType::kInt32, ElementType::kInt32,
                NumericsContract::Order::kBlocked};
    scratch_bytes = parts_.sums->scratch_bytes;
    const auto place = [&](int64_t bytes) {
      const size_t at = (scratch_bytes + 63) / 64 * 64;
      scratch_bytes = at + static_cast<size_t>(bytes);
      return at;
    };
    if (parts_.windows) {
      pixels_at_ = place(parts_.windows->scratch_size() * 4);
      windows_at_ = place(parts_.windows->size() * 4);
    }
    if (!parts_.x_reorder) return;
    x_at_ = place(parts_.x.size());
    y_at_ = place(parts_.y.size() * 4);
    reorder_at_ = place(
        static_cast<int64_t>(std::max(parts_.x_reorder->scratch_bytes, parts_.y_reorder->scratch_bytes)));
  }

  bool reads(size_t input) const override { return input != kW && input != kWZeroPoint; }

  void run(const KernelArguments& given) const override {
    const void* x = given.inputs[kX];
    void* y = given.outputs[0];
    const bool is_signed = parts_.x.element == ElementType::kInt8;
    const int32_t zero_point = !parts_.has_zero_point ? 0
                               : is_signed            ? *static_cast<const int8_t*>(given.inputs[kXZeroPoint])
                                           : *static_cast<const uint8_t*>(given.inputs[kXZeroPoint]);
    if (parts_.x_reorder) {
      void* last = given.scratch + x_at_;
      parts_.x_reorder->run({&x, &last, given.scratch + reorder_at_});
      x = last;
      y = given.scratch + y_at_;
    }
    const void* operands[] = {x, &zero_point};
    parts_.sums->run({operands, &y, given.scratch});
    if (parts_.windows) {
      auto* windows = reinterpret_cast<int32_t*>(given.scratch + windows_at_);
      parts_.windows->run(static_cast<const uint8_t*>(x), is_signed, zero_point,
                          reinterpret_cast<int32_t*>(given.scratch + pixels_at_), windows);
      correct(windows, static_cast<int32_t*>(y));
    }
    if (!parts_.y_reorder) return;
    const void* last = y;
    parts_.y_reorder->run({&last, given.outputs, given.scratch + reorder_at_});
  }

 private:
  void correct(const int32_t* windows, int32_t* y) const {
    constexpr int64_t kGrain = 1 << 14;
    const int64_t channels = static_cast<int64_t>(parts_.w_zeros.size()), groups = parts_.groups,
                  each = channels / groups, rows = parts_.y.size() / channels;
    const int32_t* zeros = parts_.w_zeros.data();
    parallel(rows, std::max<int64_t>(1, kGrain / channels), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int32_t* sums = y + row * channels;
        const int32_t* window = windows + row * groups;
        if (each == 1) {
          for (int64_t c = 0; c < channels; ++c) sums[c] -= zeros[c] * window[c];
          continue;
        }
        for (int64_t g = 0; g < groups; ++g)
          correct_sums({sums + g * each, each, 0, nullptr, zeros + g * each, window[g]}, sums + g * each);
      }
    });
  }

  Parts parts_;
  size_t pixels_at_ = 0, windows_at_ = 0, x_at_ = 0, y_at_ = 0, reorder_at_ = 0;
};

bool is_served(const KernelRequest& request) {
  constexpr int64_t kMaxChannels = 1 << 23;  // of sum_bytes
  const Operand &x = request.in(kX), &w = request.in(kW), &y = request.out();
  const auto is_known = [&](size_t input) {
    return !request.has(input) || request.in(input).constant != nullptr;
  };
  return x.rank() >= 3 && x.rank() <= 5 && is_byte(x.element) && is_byte(w.element) && x.size() > 0 &&
         y.size() > 0 && is_known(kW) && is_known(kWZeroPoint) && x.dims[1] <= kMaxChannels &&
         x.layout == y.layout && x.layout != Layout::kBlocked16 &&
         (!request.has(kXZeroPoint) || request.in(kXZeroPoint).size() == 1) && sums_bytes_exactly();
}

// Those of the weights as INT8, for each channel; empty: all are 0.
std::vector<int32_t> weight_zeros(const KernelRequest& request, int64_t channels) {
  std::vector<double> zeros{0};
  if (request.has(kWZeroPoint)) zeros = request.in(kWZeroPoint).constant->to_doubles();
  const double shift = request.in(kW).element == ElementType::kUint8 ? kSignedShift : 0;
  std::vector<int32_t> result;
  for (int64_t c = 0; c < channels; ++c)
    result.push_back(static_cast<int32_t>(zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(c)] - shift));
  const bool symmetric = std::all_of(result.begin(), result.end(), [](int32_t zero) { return zero == 0; });
  return symmetric ? std::vector<int32_t>() : result;
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  reason = "oneDNN convolves bytes by known weights, with one zero point of x, where it has VNNI";
  if (!is_served(request)) return nullptr;
  Parts parts;
  parts.x = request.in(kX);
  parts.y = request.out();
  const auto weights = signed_weights(*request.in(kW).constant, {});
  const auto convolution = ops::Convolution::of(request.node, parts.x.dims, request.in(kW).dims);
  Operand x = parts.x, y = parts.y;
  if (x.layout == Layout::kPlain) {  // oneDNN has no fast convolution of plain images
    x.layout = y.layout = Layout::kChannelsLast;
    parts.x_reorder = make_reorder(parts.x, x.layout);
    parts.y_reorder = make_reorder(y, Layout::kPlain);
  }
  parts.sums = make_sums(request, x, y, convolution, weights->content);
  parts.w_zeros = weight_zeros(request, parts.y.dims[1]);
  if (!parts.w_zeros.empty()) parts.windows.emplace(convolution);
  parts.has_zero_point = request.has(kXZeroPoint);
  parts.groups = convolution.groups;
  return std::make_unique<IntegerConvolution>(std::move(parts));
}

}  // namespace

void register_integer_convolution(KernelRegistry& registry) {
  registry.add({"", "ConvInteger", LayoutRule::kImage, unless_refused<make>});
}

}  // namespace vernier::cpu
