// ConvInteger, and QLinearConv by weights with zero points: oneDNN sums the products of x, less its zero
// point, and the weights as they are; what the zero points of these add is taken off.
#include "vernier/backends/cpu/convolution/window_sums.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/depthwise/pair_depthwise.h"
#include "vernier/backends/cpu/epilogue/integer_block_epilogue.h"
#include "vernier/backends/cpu/int8_gemm/integer_sums.h"
#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/cpu/onednn/convolution.h"
#include "vernier/backends/cpu/onednn/requantization.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cpu {

namespace {

// Which inputs of the request are which.
struct Inputs {
  size_t x, w, x_zero, w_zero;
};
constexpr Inputs kConvInteger{0, 1, 2, 3}, kQLinearConv{0, 3, 2, 5};

// How accumulators become int8.
struct Requantization {
  ElementType type;
  std::vector<int32_t> bias;  // of each channel, as are the scales
  std::vector<float> scales;
  double zero_point;
};

// The sums of inputs 0 (x) and 1 (its zero point, INT32). Null where oneDNN's may be wrong.
std::unique_ptr<DnnlKernel> make_sums(const KernelRequest& request, bool has_zero, const Operand& x,
                                      const Operand& y, const ops::Convolution& convolution,
                                      const Tensor& weights) {
  constexpr auto kByte = dnnl::memory::data_type::s8;
  const int threads = threads_for(ops::convolution_flops(weights.dims(), y.dims));
  const ThreadLimit scope(threads);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (has_zero) set_given_zero_point(attributes, DNNL_ARG_SRC);
  const Dims dims = weight_dims(weights.dims(), convolution.groups);
  const auto pd = describe_convolution(describe(x), any(kByte, dims), std::nullopt, describe(y),
                                       geometry_of(convolution.axes), attributes);
  if (may_sum_weights_wrongly(pd.impl_info_str(), convolution, has_zero)) return nullptr;
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, describe(x), 0, -1, std::nullopt},
                                     {DNNL_ARG_DST, describe(y), -1, 0, std::nullopt},
                                     {DNNL_ARG_WEIGHTS, pd.weights_desc(), -1, -1,
                                      pack(request, weights, plain(kByte, dims), pd.weights_desc())}};
  if (has_zero)
    arguments.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, plain(dnnl::memory::data_type::s32, {1}),
                         1, -1, std::nullopt});
  auto kernel = std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->threads = threads == 1 ? 1 : 0;
  return kernel;
}

// The same where oneDNN would not sum exactly.
std::unique_ptr<Kernel> make_pair_sums(const KernelRequest& request, bool has_zero, const Operand& x,
                                       const ops::Convolution& convolution, const Tensor& weights) {
  if (is_depthwise(convolution))
    return make_pair_depthwise_sums(weights, convolution, x.element == ElementType::kInt8, has_zero);
  const auto order = PairWeights::of_convolution(convolution);
  return make_pair_contraction({0, x.element == ElementType::kInt8, 0, has_zero ? 1 : -1},
                               PairWindows::of_convolution(convolution), order,
                               pack_pair_weights(request, weights, order),
                               std::make_unique<NoEpilogue>(convolution.all_out_channels()), {});
}

// The parts of a run need these; x and y lie channels-last.
struct Parts {
  Operand x, y;  // as they are given
  std::unique_ptr<Kernel> x_reorder, y_reorder;
  std::unique_ptr<Kernel> sums;
  std::optional<WindowSums> windows;  // none: the weights have no zero points
  std::vector<int32_t> w_zeros;       // of each channel of y
  bool has_zero_point = false;
  int64_t groups = 1;
  Inputs inputs = {};
  std::optional<Requantization> requantization;  // none: y is of the sums
};

class IntegerConvolution : public Kernel {
 public:
  explicit IntegerConvolution(Parts parts) : parts_(std::move(parts)) {
    name = parts_.sums->name;
    const auto stored = parts_.requantization ? parts_.requantization->type : ElementType::kInt32;
    contract = {parts_.requantization ? ElementType::kFloat : ElementType::kInt32, ElementType::kInt32,
                stored, NumericsContract::Order::kBlocked};
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
    if (parts_.requantization) sums_at_ = place(parts_.y.size() * 4);
    if (!parts_.x_reorder) return;
    x_at_ = place(parts_.x.size());
    y_at_ = place(parts_.y.size() * static_cast<int64_t>(element_size(parts_.y.element)));
    reorder_at_ = place(
        static_cast<int64_t>(std::max(parts_.x_reorder->scratch_bytes, parts_.y_reorder->scratch_bytes)));
  }

  bool reads(size_t input) const override {
    const Inputs& inputs = parts_.inputs;
    return input == inputs.x || input == inputs.x_zero;
  }

  void run(const KernelArguments& given) const override {
    const void* x = given.inputs[parts_.inputs.x];
    void* y = given.outputs[0];
    const bool is_signed = parts_.x.element == ElementType::kInt8;
    const int32_t zero_point = !parts_.has_zero_point ? 0
                               : is_signed ? *static_cast<const int8_t*>(given.inputs[parts_.inputs.x_zero])
                                           : *static_cast<const uint8_t*>(given.inputs[parts_.inputs.x_zero]);
    if (parts_.x_reorder) {
      void* last = given.scratch + x_at_;
      parts_.x_reorder->run({&x, &last, given.scratch + reorder_at_});
      x = last;
      y = given.scratch + y_at_;
    }
    const void* operands[] = {x, &zero_point};
    void* sums = parts_.requantization ? given.scratch + sums_at_ : y;
    parts_.sums->run({operands, &sums, given.scratch});
    if (parts_.windows) {
      auto* windows = reinterpret_cast<int32_t*>(given.scratch + windows_at_);
      parts_.windows->run(static_cast<const uint8_t*>(x), is_signed, zero_point,
                          reinterpret_cast<int32_t*>(given.scratch + pixels_at_), windows);
      correct(windows, static_cast<int32_t*>(sums));
    }
    if (parts_.requantization) requantize(static_cast<int32_t*>(sums), static_cast<uint8_t*>(y));
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

  void requantize(int32_t* sums, uint8_t* y) const {
    constexpr int64_t kGrain = 1 << 13, kBlock = 256;
    static_assert(kBlock % kLoopBlock == 0);
    const Requantization& how = *parts_.requantization;
    const auto channels = static_cast<int64_t>(how.scales.size());
    const Loop quantize = quantize_loop(how.type);
    parallel(parts_.y.size() / channels, std::max<int64_t>(1, kGrain / channels),
             [&](int64_t begin, int64_t end) {
               float reals[kBlock] = {};
               uint8_t bytes[kBlock];
               for (int64_t at = begin * channels; at < end * channels;) {
                 const int64_t c = at % channels, count = std::min(kBlock, channels - c);
                 SumRow row{sums + at, count};
                 if (!how.bias.empty()) row.column_sums = how.bias.data() + c, row.a_zero = -1;
                 scale_sums(row, how.scales.data() + c, nullptr, reals);
                 quantize({bytes, reals, nullptr, nullptr, count, 1, how.zero_point, nullptr});
                 std::copy_n(bytes, count, y + at);
                 at += count;
               }
             });
  }

  Parts parts_;
  size_t sums_at_ = 0, pixels_at_ = 0, windows_at_ = 0, x_at_ = 0, y_at_ = 0, reorder_at_ = 0;
};

bool is_served_integer_convolution(const KernelRequest& request, const Inputs& inputs) {
  constexpr int64_t kMaxChannels = 1 << 23;  // of sum_bytes
  const Operand &x = request.in(inputs.x), &w = request.in(inputs.w), &y = request.out();
  const auto is_known = [&](size_t input) {
    return !request.has(input) || request.in(input).constant != nullptr;
  };
  return x.rank() >= 3 && x.rank() <= 5 && is_8bit(x.element) && is_8bit(w.element) && x.size() > 0 &&
         y.size() > 0 && is_known(inputs.w) && is_known(inputs.w_zero) && x.dims[1] <= kMaxChannels &&
         x.layout == y.layout && x.layout != Layout::kBlocked16 &&
         (!request.has(inputs.x_zero) || request.in(inputs.x_zero).size() == 1);
}

// Gives the zero points of the weights as INT8, for each channel; empty: all are 0.
std::vector<int32_t> weight_zeros(const KernelRequest& request, const Inputs& inputs, int64_t channels) {
  std::vector<double> zeros{0};
  if (request.has(inputs.w_zero)) zeros = request.in(inputs.w_zero).constant->to_doubles();
  const double shift = request.in(inputs.w).element == ElementType::kUint8 ? kSignedShift : 0;
  std::vector<int32_t> result;
  for (int64_t c = 0; c < channels; ++c)
    result.push_back(static_cast<int32_t>(zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(c)] - shift));
  const bool symmetric = std::all_of(result.begin(), result.end(), [](int32_t zero) { return zero == 0; });
  return symmetric ? std::vector<int32_t>() : result;
}

// Gives the requantization of a QLinearConv; nothing if something is not known.
std::optional<Requantization> requantization_of(const KernelRequest& request) {
  enum Input : size_t { kXScale = 1, kXZero = 2, kWScale = 4, kYScale = 6, kYZero = 7, kBias = 8 };
  const auto x = known_affine(request, kXScale, kXZero), y = known_affine(request, kYScale, kYZero);
  const auto channels = static_cast<size_t>(request.out().dims[1]);
  const auto is_known = [&](size_t input) { return request.in(input).constant != nullptr; };
  if (!x || !y || !is_known(kWScale) || (request.has(kBias) && !is_known(kBias))) return std::nullopt;
  Requantization result{request.out().element, {}, {}, y->zero_point};
  const auto scales = request.in(kWScale).constant->to_doubles();
  for (size_t c = 0; c < channels; ++c)
    result.scales.push_back(static_cast<float>(x->scale * scales.at(scales.size() == 1 ? 0 : c) / y->scale));
  if (request.has(kBias)) {
    const auto bias = request.in(kBias).constant->to_ints();
    result.bias.assign(bias.begin(), bias.end());
  }
  return result;
}

std::unique_ptr<Kernel> make_parts(const KernelRequest& request, const Inputs& inputs,
                                   std::vector<int32_t> w_zeros,
                                   std::optional<Requantization> requantization) {
  Parts parts;
  parts.x = request.in(inputs.x);
  parts.y = request.out();
  const auto weights = signed_weights(*request.in(inputs.w).constant, {});
  const auto convolution = ops::Convolution::of(request.node, parts.x.dims, request.in(inputs.w).dims);
  Operand x = parts.x, y = parts.y;
  if (x.layout == Layout::kPlain) {  // oneDNN has no fast convolution of plain images
    x.layout = y.layout = Layout::kChannelsLast;
    parts.x_reorder = make_reorder(parts.x, x.layout);
    parts.y_reorder = make_reorder(y, Layout::kPlain);
  }
  y.element = ElementType::kInt32;
  parts.has_zero_point = request.has(inputs.x_zero);
  if (accumulates_int8_exactly())
    parts.sums = make_sums(request, parts.has_zero_point, x, y, convolution, weights->content);
  if (!parts.sums)
    parts.sums = make_pair_sums(request, parts.has_zero_point, x, convolution, weights->content);
  parts.w_zeros = std::move(w_zeros);
  if (!parts.w_zeros.empty()) parts.windows.emplace(convolution);
  parts.groups = convolution.groups;
  parts.inputs = inputs;
  parts.requantization = std::move(requantization);
  return std::make_unique<IntegerConvolution>(std::move(parts));
}

constexpr const char* kRefusal = "oneDNN convolves int8 by known weights, with one zero point of x";

std::unique_ptr<Kernel> make_integers(const KernelRequest& request, std::string& reason) {
  reason = kRefusal;
  if (!is_served_integer_convolution(request, kConvInteger)) return nullptr;
  return make_parts(request, kConvInteger, weight_zeros(request, kConvInteger, request.out().dims[1]),
                    std::nullopt);
}

// Weights without zero points are left to quantized_convolution.cpp.
std::unique_ptr<Kernel> make_quantized(const KernelRequest& request, std::string& reason) {
  reason = kRefusal;
  if (ops::integer_attribute(request.node, "channels_last") != 0 ||
      !is_served_integer_convolution(request, kQLinearConv) || !is_8bit(request.out().element))
    return nullptr;
  auto zeros = weight_zeros(request, kQLinearConv, request.out().dims[1]);
  auto requantization = requantization_of(request);
  if (zeros.empty() || !requantization) return nullptr;
  return make_parts(request, kQLinearConv, std::move(zeros), std::move(requantization));
}

}  // namespace

void register_integer_convolution(KernelRegistry& registry) {
  registry.add({"", "ConvInteger", LayoutRule::kImage, Priority::kLibrary, unless_refused<make_integers>});
  for (const char* domain : {"", "com.microsoft"})
    registry.add({domain, "QLinearConv", LayoutRule::kImage, Priority::kLibraryNarrow,
                  unless_refused<make_quantized>});
}

}  // namespace vernier::cpu
