// com.microsoft MatMulNBits with known weights of 4 or 8 bits, computed in FLOAT: few rows by the packed
// weights; many by panels of them that are dequantized into the cache, and multiplied by oneDNN.
#include <dnnl.h>

#include "vernier/backends/cpu/gemm/nbits_product.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/quant/packed_weights.h"

namespace vernier::cpu {

namespace {

enum Input : size_t { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

constexpr int64_t kFewRows = 32;
constexpr int64_t kGroup = 8;  // panels that are dequantized at a time

class NbitsProduct : public Kernel {
 public:
  NbitsProduct(const NbitsShape& shape, int64_t rows, std::shared_ptr<const PackedForm> weights,
               bool has_bias)
      : shape_(shape),
        rows_(rows),
        threads_(thread_count()),
        weights_(std::move(weights)),
        has_bias_(has_bias) {
    name = fmt::format("cpu:{}bit_product", shape.bits);
    contract = float_contract(ElementType::kFloat);
    const int64_t few = rows * (shape.padded_depth() + shape.blocks()), many = threads_ * group_size();
    scratch_bytes = sizeof(float) * static_cast<size_t>(rows <= kFewRows ? few : many);
  }

  void prepare() const override { weights_->content(); }
  bool is_prepared() const override { return weights_->is_made(); }
  bool reads(size_t input) const override { return input == kA || input == kBias; }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const float*>(arguments.inputs[kA]);
    const auto* bias = has_bias_ ? static_cast<const float*>(arguments.inputs[kBias]) : nullptr;
    auto* scratch = reinterpret_cast<float*>(arguments.scratch);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    if (rows_ <= kFewRows)
      run_few(x, bias, scratch, y);
    else
      run_many(x, bias, scratch, y);
  }

 private:
  int64_t group_size() const { return shape_.depth * kGroup * kPanelColumns; }
  const uint32_t* panels() const { return reinterpret_cast<const uint32_t*>(weights_->content().data()); }

  void run_few(const float* x, const float* bias, float* scratch, float* y) const {
    const NbitsRows made{scratch, scratch + rows_ * shape_.padded_depth()};
    constexpr int64_t kGrain = 1 << 15;  // elements
    parallel(rows_, std::max<int64_t>(1, kGrain / shape_.depth), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        prepare_nbits_row(shape_, x + row * shape_.depth, made.scaled + row * shape_.padded_depth(),
                          made.sums + row * shape_.blocks());
    });
    const double work = 2.0 * static_cast<double>(rows_ * shape_.depth * kPanelColumns);
    parallel(shape_.panels(), static_cast<int64_t>(std::max(1.0, kSerialWork / 8 / work)),
             [&](int64_t begin, int64_t end) {
               multiply_nbits(shape_, panels(), made, rows_, bias, y, begin, end);
             });
  }

  // Each thread has groups of panels of its own, and oneDNN one thread: so it splits no sum.
  void run_many(const float* x, const float* bias, float* scratch, float* y) const {
    const int64_t groups = (shape_.panels() + kGroup - 1) / kGroup;
    parallel(threads_, 1, [&](int64_t begin, int64_t end) {
      const ThreadLimit scope(1);
      for (int64_t thread = begin; thread < end; ++thread) {
        for (int64_t group = groups * thread / threads_; group < groups * (thread + 1) / threads_; ++group)
          run_group(x, bias, group, scratch + thread * group_size(), y);
      }
    });
  }

  void run_group(const float* x, const float* bias, int64_t group, float* weights, float* y) const {
    constexpr int64_t kStride = kGroup * kPanelColumns;
    const int64_t first = group * kGroup, last = std::min(first + kGroup, shape_.panels()),
                  column = first * kPanelColumns, count = std::min(kStride, shape_.columns - column);
    for (int64_t i = first; i < last; ++i)
      dequantize_nbits(shape_, panels() + i * shape_.panel_size(), weights + (i - first) * kPanelColumns,
                       kStride);
    if (bias != nullptr) {
      for (int64_t row = 0; row < rows_; ++row)
        std::copy_n(bias + column, count, y + row * shape_.columns + column);
    }
    dnnl_sgemm('N', 'N', rows_, count, shape_.depth, 1, x, shape_.depth, weights, kStride,
               bias == nullptr ? 0.0F : 1.0F, y + column, shape_.columns);
  }

  NbitsShape shape_;
  int64_t rows_, threads_;
  std::shared_ptr<const PackedForm> weights_;
  bool has_bias_;
};

// [columns, blocks]; empty where there are none, or all are the default.
std::vector<float> zeros_of(const KernelRequest& request, const NbitsShape& shape) {
  if (!request.has(kZeroPoints)) return {};
  const Tensor& given = *request.in(kZeroPoints).constant;
  const auto values =
      given.type() == ElementType::kUint8
          ? ops::unpacked_rows(given.values<uint8_t>(), shape.columns, shape.blocks(), shape.bits)
          : given.to_doubles();
  std::vector<float> zeros(values.begin(), values.end());
  const bool same = std::all_of(zeros.begin(), zeros.end(), [&](float zero) { return zero == shape.zero; });
  return same ? std::vector<float>() : zeros;
}

// Whether all weights and parameters are there; if not, the reference says what is wrong.
bool are_whole(const KernelRequest& request, const NbitsShape& shape) {
  const int64_t parameters = shape.columns * shape.blocks();
  const Operand& weights = request.in(kB);
  if (weights.element != ElementType::kUint8 || request.in(kScales).size() != parameters ||
      weights.size() != parameters * shape.block * shape.bits / 8)
    return false;
  if (!request.has(kZeroPoints)) return true;
  const Operand& zeros = request.in(kZeroPoints);
  return zeros.size() == (zeros.element == ElementType::kUint8
                              ? shape.columns * ((shape.blocks() * shape.bits + 7) / 8)
                              : parameters);
}

bool is_served_matmul_nbits(const KernelRequest& request, const NbitsShape& shape) {
  const auto is_known = [&](size_t input) { return request.in(input).constant != nullptr; };
  const Operand &a = request.in(kA), &y = request.out();
  const bool known =
      is_known(kB) && is_known(kScales) && (!request.has(kZeroPoints) || is_known(kZeroPoints));
  const bool floats = a.element == ElementType::kFloat &&
                      request.in(kScales).element == ElementType::kFloat && y.element == ElementType::kFloat;
  const bool blocks = shape.block >= 16 && shape.block <= 256 && (shape.block & (shape.block - 1)) == 0;
  return known && floats && blocks && are_whole(request, shape) && (shape.bits == 4 || shape.bits == 8) &&
         !request.has(kGroupIndex) && a.size() > 0 &&
         (!request.has(kBias) || request.in(kBias).size() == shape.columns);
}

std::unique_ptr<Kernel> make_matmul_nbits(const KernelRequest& request, std::string& reason) {
  const Node& node = request.node;
  NbitsShape shape{.columns = ops::integer_attribute(node, "N"),
                   .depth = ops::integer_attribute(node, "K"),
                   .bits = ops::integer_attribute(node, "bits"),
                   .block = ops::integer_attribute(node, "block_size"),
                   .has_zeros = false,
                   .zero = 0};
  shape.zero = static_cast<float>(int64_t{1} << (shape.bits - 1));
  reason = "weights that are packed are known, of 4 or 8 bits, in blocks of 16 to 256, without g_idx";
  if (!is_served_matmul_nbits(request, shape)) return nullptr;
  const auto zeros = zeros_of(request, shape);
  shape.has_zeros = !zeros.empty();
  const Tensor weights = *request.in(kB).constant, scales = *request.in(kScales).constant;
  uint64_t parameters = hash_tensor(scales);
  if (shape.has_zeros) parameters = hash_bytes(zeros.data(), zeros.size() * sizeof(float), parameters);
  const std::string form = fmt::format("nbits {} {} {}", shape.bits, shape.block, hash_to_text(parameters));
  auto packed =
      request.pack(weights, form, static_cast<size_t>(shape.panels() * shape.panel_size()) * 4,
                   [shape, weights, scales, zeros](std::byte* to) {
                     pack_nbits(shape, weights.values<uint8_t>().data(), scales.values<float>().data(),
                                zeros.data(), reinterpret_cast<uint32_t*>(to));
                   });
  const int64_t rows = request.in(kA).size() / shape.depth;
  return std::make_unique<NbitsProduct>(shape, rows, std::move(packed), request.has(kBias));
}

}  // namespace

void register_matmul_nbits(KernelRegistry& registry) {
  registry.add({"com.microsoft", "MatMulNBits", LayoutRule::kPlain, Priority::kLibrary, make_matmul_nbits});
}

}  // namespace vernier::cpu
