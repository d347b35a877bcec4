// Gemm, and Conv of images of one pixel, of few rows of bfloat16 by constant weights that lie row by row:
// they are read where they lie.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/bf16_vectors.h"
#include "vernier/backends/cpu/kernels/constant_convolution.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/kernels/row_epilogue.h"
#include "vernier/backends/cpu/kernels/row_product_loops.h"
#include "vernier/backends/cpu/onednn/matmul.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kMostRows = 4;

struct Factors {
  int64_t rows, depth, columns;
  int x, weights, bias;  // of the request; bias: -1: none
  size_t columns_axis;   // of the output
};

class RowProduct : public Kernel {
 public:
  RowProduct(const Factors& factors, std::vector<float> bias, RowEpilogue epilogue)
      : factors_(factors), start_(std::move(bias)), epilogue_(std::move(epilogue)) {
    name = "cpu:row_product";
    contract = float_contract(epilogue_.stored());
    contract.approximate = epilogue_.is_approximate();
    start_.resize(static_cast<size_t>(factors.columns));
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 16, kColumns = 64;  // products; at a time
    const auto* x = static_cast<const uint16_t*>(arguments.inputs[factors_.x]);
    const auto* weights = static_cast<const uint16_t*>(arguments.inputs[factors_.weights]);
    const int64_t depth = factors_.depth, blocks = (factors_.columns + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, kGrain / (depth * kColumns));
    parallel(blocks, grain, [&](int64_t first, int64_t last) {
      alignas(64) std::array<float, kColumns> sums;
      for (int64_t column = first * kColumns; column < std::min(last * kColumns, factors_.columns);
           column += kColumns) {
        const int64_t count = std::min(kColumns, factors_.columns - column);
        for (int64_t row = 0; row < factors_.rows; ++row) {
          multiply_rows_bf16(
              {x + row * depth, weights + column * depth, depth, count, start_.data() + column, sums.data()});
          epilogue_.finish(arguments, {sums.data(), kColumns, row, column, 1, count});
        }
      }
    });
  }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == factors_.x || index == factors_.weights || epilogue_.reads(index);
  }

 private:
  Factors factors_;
  std::vector<float> start_;
  RowEpilogue epilogue_;
};

std::optional<Factors> factors_of_gemm(const Fused& fused, const KernelRequest& request) {
  const Operand &a = request.in(static_cast<size_t>(fused.inputs[0])),
                &b = request.in(static_cast<size_t>(fused.inputs[1]));
  if (b.constant == nullptr || b.rank() != 2 || a.size() == 0 || b.size() == 0 ||
      fused.inputs[0] == fused.inputs[1])
    return std::nullopt;
  const Product product = product_of(*fused.anchor, a, b, request.out());
  if (product.transpose_a || !product.transpose_b) return std::nullopt;
  return Factors{product.a[0],
                 b.dims[1],
                 b.dims[0],
                 fused.inputs[0],
                 fused.inputs[1],
                 -1,
                 request.out().dims.size() - 1};
}

std::optional<Factors> factors_of_conv(const Fused& fused, const KernelRequest& request) {
  const auto convolution = constant_convolution(fused, request);
  if (!convolution || convolution->shape.groups != 1) return std::nullopt;
  const ops::Convolution& shape = convolution->shape;
  const bool is_pixel = std::all_of(shape.axes.begin(), shape.axes.end(), [](const ops::WindowAxis& axis) {
    return axis.input == 1 && axis.output == 1 && axis.kernel == 1;
  });
  if (!is_pixel) return std::nullopt;
  return Factors{shape.batch,
                 shape.in_channels,
                 shape.out_channels,
                 convolution->input,
                 convolution->weights,
                 convolution->bias,
                 1};
}

std::optional<Factors> factors_of(const Fused& fused, const KernelRequest& request) {
  const auto is_narrow = [&](int input) {
    return request.in(static_cast<size_t>(input)).element == ElementType::kBFloat16;
  };
  if (!has_bf16_vectors() || !is_narrow(fused.inputs[0]) || !is_narrow(fused.inputs[1])) return std::nullopt;
  const auto factors =
      fused.anchor->op == "Conv" ? factors_of_conv(fused, request) : factors_of_gemm(fused, request);
  return factors && factors->rows <= kMostRows ? factors : std::nullopt;
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  auto fused = parse_fused(request, reason);
  const auto factors = fused && request.tactic.empty() ? factors_of(*fused, request) : std::nullopt;
  if (!factors || (fused->anchor->op == "Gemm" && !prepend_gemm(*fused))) {
    reason = "no product of few rows of bfloat16";
    return nullptr;
  }
  auto epilogue = RowEpilogue::of(*fused, request, factors->columns_axis, reason);
  if (!epilogue) return nullptr;
  auto bias = epilogue->take_bias(request, factors->bias);
  return std::make_unique<RowProduct>(*factors, std::move(bias), std::move(*epilogue));
}

}  // namespace

void register_row_product(KernelRegistry& registry) {
  registry.add({"", "Gemm", LayoutRule::kPlain, make});
  registry.add({"vernier", "Group/matmul", LayoutRule::kPlain, make});
  registry.add({"", "Conv", LayoutRule::kImage, make});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, make});
}

}  // namespace vernier::cpu
