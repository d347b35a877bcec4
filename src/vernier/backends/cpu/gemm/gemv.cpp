// Products of up to four rows by a constant matrix, which is read once and not packed, because each of its
// rows belongs to one output: Gemm, and Conv of images of one pixel. They serve bfloat16 by themselves, and
// floats as the tactic "gemv".
#include "vernier/backends/cpu/convolution/constant_convolution.h"
#include "vernier/backends/cpu/epilogue/row_epilogue.h"
#include "vernier/backends/cpu/gemm/gemv_loops.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/matmul.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/bf16_vectors.h"
#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

namespace {

constexpr const char* kTactic = "gemv";
constexpr int64_t kMostRows = 4;

struct Factors {
  int64_t rows, depth, columns;
  int x, weights, bias;                           // of the request; bias: -1: none
  size_t columns_axis;                            // of the output
  ElementType element = ElementType::kUndefined;  // of both
};

class Gemv : public Kernel {
 public:
  Gemv(const Factors& factors, std::vector<float> bias, RowEpilogue epilogue)
      : factors_(factors), initial_(std::move(bias)), epilogue_(std::move(epilogue)) {
    name = "cpu:gemv";
    contract = float_contract(epilogue_.stored());
    contract.approximate = epilogue_.is_approximate();
    initial_.resize(static_cast<size_t>(factors.columns));
  }

  void run(const KernelArguments& arguments) const override {
    if (factors_.element == ElementType::kFloat)
      run_of<float, 16>(arguments, 1 << 14);
    else
      run_of<uint16_t, 64>(arguments, 1 << 16);
  }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == factors_.x || index == factors_.weights || epilogue_.reads(index);
  }

 private:
  // So many columns at a time; `grain`: products that are worth a thread.
  template <class T, int64_t kColumns>
  void run_of(const KernelArguments& arguments, int64_t grain) const {
    const auto* x = static_cast<const T*>(arguments.inputs[factors_.x]);
    const auto* weights = static_cast<const T*>(arguments.inputs[factors_.weights]);
    const int64_t depth = factors_.depth, blocks = (factors_.columns + kColumns - 1) / kColumns;
    parallel(blocks, std::max<int64_t>(1, grain / (depth * kColumns)), [&](int64_t first, int64_t last) {
      alignas(64) std::array<float, kColumns> sums;
      for (int64_t column = first * kColumns; column < std::min(last * kColumns, factors_.columns);
           column += kColumns) {
        const int64_t count = std::min(kColumns, factors_.columns - column);
        for (int64_t row = 0; row < factors_.rows; ++row) {
          multiply_rows(GemvRows<T>{x + row * depth, weights + column * depth, depth, count,
                                    initial_.data() + column, sums.data()});
          epilogue_.finish(arguments, {sums.data(), kColumns, row, column, 1, count});
        }
      }
    });
  }

  Factors factors_;
  std::vector<float> initial_;
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
  const auto element = [&](size_t input) {
    return request.in(static_cast<size_t>(fused.inputs[input])).element;
  };
  if (!has_bf16_vectors() || element(0) != element(1) ||
      (element(0) != ElementType::kBFloat16 && element(0) != ElementType::kFloat))
    return std::nullopt;
  auto factors =
      fused.anchor->op == "Conv" ? factors_of_conv(fused, request) : factors_of_gemm(fused, request);
  if (!factors || factors->rows > kMostRows) return std::nullopt;
  factors->element = element(0);
  return factors;
}

bool is_tactic(const Factors& factors) {
  return factors.element == ElementType::kFloat;
}

std::vector<std::string> tactics_gemv(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  const auto factors = fused ? factors_of(*fused, request) : std::nullopt;
  return factors && is_tactic(*factors) ? std::vector<std::string>{kTactic} : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_gemv(const KernelRequest& request, std::string& reason) {
  auto fused = parse_fused(request, reason);
  const auto factors = fused ? factors_of(*fused, request) : std::nullopt;
  if (!factors || request.tactic != (is_tactic(*factors) ? kTactic : "") ||
      (fused->anchor->op == "Gemm" && !prepend_gemm(*fused))) {
    reason = "no product of few rows of bfloat16, nor of floats by a tactic";
    return nullptr;
  }
  auto epilogue = RowEpilogue::of(*fused, request, factors->columns_axis, reason);
  if (!epilogue) return nullptr;
  auto bias = epilogue->take_bias(request, factors->bias);
  return std::make_unique<Gemv>(*factors, std::move(bias), std::move(*epilogue));
}

}  // namespace

void register_gemv(KernelRegistry& registry) {
  registry.add({"", "Gemm", LayoutRule::kPlain, Priority::kGemv, make_gemv, tactics_gemv});
  registry.add({"vernier", "Group/matmul", LayoutRule::kPlain, Priority::kGemv, make_gemv, tactics_gemv});
  registry.add({"", "Conv", LayoutRule::kImage, Priority::kGemv, make_gemv, tactics_gemv});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, Priority::kGemv, make_gemv, tactics_gemv});
}

}  // namespace vernier::cpu
