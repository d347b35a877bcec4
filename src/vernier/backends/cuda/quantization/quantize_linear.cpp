#include "vernier/backends/cuda/quantization/quantize_linear.h"

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::cuda {

namespace {

using P = QuantizeParameters;

// How programs read an element, beside the types that all of them know.
std::string memory_type(ElementType type) {
  switch (type) {
    case ElementType::kInt4:
    case ElementType::kInt2: return "i8";
    case ElementType::kUint4:
    case ElementType::kUint2: return "u8";
    case ElementType::kFloat8E4M3FN: return "Mini<4, 3, 7, FINITE_NAN>";
    case ElementType::kFloat8E4M3FNUZ: return "Mini<4, 3, 8, UNSIGNED_ZERO>";
    case ElementType::kFloat8E5M2: return "Mini<5, 2, 15, IEEE>";
    case ElementType::kFloat8E5M2FNUZ: return "Mini<5, 2, 16, UNSIGNED_ZERO>";
    case ElementType::kFloat4E2M1: return "Mini<2, 1, 1, FINITE>";
    case ElementType::kFloat8E8M0: return "f8e8m0";
    default: return std::string(device_type(type));
  }
}

bool is_quantized(ElementType type) {
  if (is_integer(type)) return element_size(type) <= 4;
  return is_float(type) && element_bits(type) <= 8 && type != ElementType::kFloat8E8M0;
}

bool is_real(ElementType type) {
  return is_float(type) && element_bits(type) > 8 && !device_type(type).empty();
}

bool is_served(const KernelRequest& request, bool quantizes, std::string& reason) {
  const Operand &x = request.in(0), &scale = request.in(1), &y = request.out();
  const bool types =
      is_quantized(quantizes ? y.element : x.element) && is_real(quantizes ? x.element : y.element);
  const bool zeros = !request.has(2) ||
                     (request.in(2).layout == scale.layout && !memory_type(request.in(2).element).empty());
  if (!types || !zeros || !is_float(scale.element) || memory_type(scale.element).empty())
    reason = fmt::format("{} from {} to {}", request.node.op, element_type_short_name(x.element),
                         element_type_short_name(y.element));
  else if (x.rank() > kMaxRank || x.layout != y.layout)
    reason = "too many axes, or a result that does not lie as x does";
  else
    return true;
  return false;
}

// Sets the steps of scales along each axis of x, in the order of memory.
void set_scales(const KernelRequest& request, P& p) {
  const Operand &x = request.in(0), &scale = request.in(1);
  const int64_t block = ops::integer_attribute(request.node, "block_size");
  Dims blocks(x.dims.size(), 1);
  std::vector<int64_t> steps(x.dims.size(), 0);
  if (block > 0 || scale.size() != 1) {
    const auto axis =
        static_cast<size_t>(ops::normalize_axis(ops::integer_attribute(request.node, "axis"), x.rank()));
    if (block > 0) {
      steps = element_steps(scale);
      blocks[axis] = block;
    } else {
      steps[axis] = 1;
    }
  }
  Dims sizes = x.dims;
  if (x.layout == Layout::kChannelsLast && x.rank() >= 3) {
    for (auto* each : {&sizes, &blocks, &steps})
      std::rotate(each->begin() + 1, each->begin() + 2, each->end());
  }
  std::copy(sizes.begin(), sizes.end(), p.sizes);
  std::copy(blocks.begin(), blocks.end(), p.blocks);
  std::copy(steps.begin(), steps.end(), p.steps);
}

}  // namespace

std::unique_ptr<CudaKernel> make_quantize_linear(const KernelRequest& request, std::string& reason) {
  const bool quantizes = request.node.op == "QuantizeLinear";
  if (!is_served(request, quantizes, reason)) return nullptr;
  const Operand &x = request.in(0), &scale = request.in(1), &y = request.out();
  P parameters{};
  parameters.count = x.size();
  set_scales(request, parameters);
  const ElementType divided =
      quantizes ? ops::division_type(request.node, scale.element) : ElementType::kDouble;
  if (quantizes) {
    const auto [low, high] = ops::value_range(y.element);
    parameters.low = low;
    parameters.high = high;
  }
  const bool saturates = quantizes && ops::integer_attribute(request.node, "saturate") != 0;
  auto kernel = std::make_unique<CudaKernel>(request, quantizes ? "quantize" : "dequantize");
  kernel->contract = {divided, ElementType::kUndefined, y.element};
  kernel->launch(kernel_source("quantize_linear",
                               {{"QUANTIZES", quantizes ? "1" : "0"},
                                {"X", memory_type(x.element)},
                                {"S", memory_type(scale.element)},
                                {"Z", request.has(2) ? memory_type(request.in(2).element) : "u8"},
                                {"Y", memory_type(y.element)},
                                {"D", std::string(device_type(divided))},
                                {"INTEGERS", is_integer(y.element) ? "1" : "0"},
                                {"SATURATES", saturates ? "1" : "0"},
                                {"RANK", std::to_string(x.rank())}},
                               {"minifloats"}),
                 grid_over(parameters.count), parameters,
                 {{&P::x, CudaKernel::input(0)}, {&P::scale, CudaKernel::input(1)}},
                 {{&P::y, CudaKernel::output()}});
  if (request.has(2)) kernel->add_pointer(offsetof(P, zero), CudaKernel::input(2));
  return kernel;
}

}  // namespace vernier::cuda
