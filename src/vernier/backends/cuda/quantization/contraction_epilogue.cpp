#include "vernier/backends/cuda/quantization/contraction_epilogue.h"

#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/cuda/pointwise/emit.h"
#include "vernier/backends/shared/pointwise/lowering.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

namespace {

using pointwise::Lowering;
using Register = Lowering::Register;
constexpr auto kSum = ElementType::kInt32;
constexpr auto kReal = ElementType::kDouble;

// The request with more inputs behind its own. Contents are not told: programs read scales, so that one
// serves all layers that are alike.
class Epilogue {
 public:
  Epilogue(CudaKernel& kernel, const KernelRequest& request, const Int8Contraction& asked,
           const Int8Sums& sums)
      : kernel_(kernel), given_(request), asked_(asked), sums_(sums), request_(request) {
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      if (request_.inputs[i]) request_.inputs[i]->constant = nullptr;
      places_.push_back(CudaKernel::input(i));
    }
    sums_input_ = add(asked.sums, sums.sums);
    if (sums.columns != asked.product.parameters.n) {
      Dims lies = asked.sums.dims;
      (asked.convolution ? lies[1] : lies.back()) = sums.columns;
      steps_[sums_input_] = element_steps(lies, asked.sums.layout);
    }
    const auto rows = [&](Dims dims) { return Operand{kSum, std::move(dims)}; };
    if (sums.a_sums) a_sums_input_ = add(rows(a_sum_dims()), *sums.a_sums);
    if (sums.b_sums) b_sums_input_ = add(rows(b_sum_dims()), *sums.b_sums);
  }

  void run() {
    if (ops::is_group(request_.node)) fold_constants();
    const auto program = Lowering(request_).run([this](Lowering& lowering) { return result(lowering); });
    add_pointwise(
        kernel_, request_, program, [this](size_t input) { return places_.at(input); }, steps_);
  }

 private:
  size_t add(Operand operand, CudaKernel::Place place) {
    request_.inputs.push_back(std::move(operand));
    places_.push_back(place);
    return places_.size() - 1;
  }

  // As they align with the result.
  Dims a_sum_dims() const {
    Dims dims = request_.in(asked_.a.values).dims;
    if (asked_.convolution) {
      dims = request_.out().dims;
      dims[1] = 1;
    } else if (request_.in(asked_.b.values).rank() >= 2) {
      dims.back() = 1;
    } else {
      dims.pop_back();
    }
    return dims.size() == 1 && request_.in(asked_.a.values).rank() == 1 ? Dims{} : dims;
  }
  Dims b_sum_dims() const {
    Dims dims = request_.in(asked_.b.values).dims;
    if (asked_.convolution) {
      dims.assign(request_.out().dims.size() - 1, 1);
      dims[0] = request_.out().dims[1];
    } else if (asked_.transpose_b) {
      dims = {dims[0]};
    } else if (dims.size() < 2) {
      dims = {};
    } else if (request_.in(asked_.a.values).rank() >= 2) {
      dims[dims.size() - 2] = 1;
    } else {
      dims.erase(dims.end() - 2);
    }
    return dims;
  }

  Register load(Lowering& lowering, size_t input, const Dims& dims, ElementType as) const {
    return lowering.cast(lowering.load(input, dims), as);
  }

  Register zero(Lowering& lowering, const Int8Operand& operand, int shift) const {
    if (!operand.zero) return lowering.immediate(kSum, -shift);
    const Register point = load(lowering, *operand.zero, operand.zero_dims, kSum);
    return shift == 0 ? point : lowering.apply("Sub", {point, lowering.immediate(kSum, shift)});
  }

  // sum((a - a_zero) * (b - b_zero)) of sum(a * b), modulo 2^32.
  Register corrected(Lowering& lowering) const {
    Register sum = lowering.load(sums_input_, asked_.sums.dims);
    const auto take_off = [&](size_t input, const Register& zero_point) {
      const Register rows = lowering.load(input, request_.in(input).dims);
      sum = lowering.apply("Sub", {sum, lowering.apply("Mul", {zero_point, rows})});
    };
    std::optional<Register> a, b;
    if (b_sums_input_) take_off(*b_sums_input_, *(a = zero(lowering, asked_.a, sums_.a_shift)));
    if (a_sums_input_) take_off(*a_sums_input_, *(b = zero(lowering, asked_.b, sums_.b_shift)));
    if (!a || !b) return sum;
    const Register depth = lowering.immediate(kSum, asked_.product.parameters.k);
    return lowering.apply("Add", {sum, lowering.apply("Mul", {depth, lowering.apply("Mul", {*a, *b})})});
  }

  Register scale(Lowering& lowering, const Int8Operand& operand) const {
    return load(lowering, *operand.scale, operand.scale_dims, kReal);
  }
  Register times_scales(Lowering& lowering, Register value) const {
    const Register scales = lowering.apply("Mul", {scale(lowering, asked_.a), scale(lowering, asked_.b)});
    return lowering.apply("Mul", {value, scales});
  }
  // One for each channel of an image, or along the last axis.
  Dims bias_dims(size_t input) const {
    Dims dims = request_.in(input).dims;
    if (asked_.convolution) dims.resize(request_.out().dims.size() - 1, 1);
    return dims;
  }
  Register plus(Lowering& lowering, Register value, size_t input) const {
    return lowering.apply("Add", {value, load(lowering, input, bias_dims(input), kReal)});
  }

  Register result(Lowering& lowering) const {
    const std::string& op = request_.node.op;
    const Register sum = corrected(lowering);
    if (op == "MatMulInteger" || op == "ConvInteger") return sum;
    Register real = lowering.cast(sum, kReal);
    if (ops::is_group(request_.node)) return behind_contraction(lowering, times_scales(lowering, real));
    if (op == "QLinearConv") return quantized_convolution(lowering, real);
    if (op == "MatMulIntegerToFloat") {
      constexpr size_t kBias = 6;
      real = times_scales(lowering, real);
      if (given_.has(kBias)) real = plus(lowering, real, kBias);
      return lowering.cast(real, request_.out().element);
    }
    if (op == "QGemm") return quantized_gemm(lowering, real);
    constexpr size_t kScale = 6;
    for (const Int8Operand* each : {&asked_.a, &asked_.b})
      real = lowering.apply("Mul", {real, scale(lowering, *each)});
    return pointwise::requantize(lowering, request_.node, real, kScale);
  }

  Register quantized_convolution(Lowering& lowering, Register sum) const {
    constexpr size_t kScale = 6, kBias = 8;
    if (given_.has(kBias)) sum = plus(lowering, sum, kBias);
    return pointwise::requantize(lowering, request_.node, times_scales(lowering, sum), kScale);
  }

  Register quantized_gemm(Lowering& lowering, Register real) const {
    constexpr size_t kBias = 6, kScale = 7;
    if (given_.has(kBias)) real = plus(lowering, real, kBias);
    const auto alpha = static_cast<double>(ops::real_attribute(request_.node, "alpha"));
    const Register factor =
        lowering.apply("Mul", {lowering.immediate(kReal, alpha), scale(lowering, asked_.a)});
    real = lowering.apply("Mul", {real, scale(lowering, asked_.b)});
    real = lowering.apply("Mul", {real, factor});
    if (!given_.has(kScale)) return lowering.cast(real, request_.out().element);
    return pointwise::requantize(lowering, request_.node, real, kScale);
  }

  // Computes now what nodes of the group make of constants alone; it is read as a further input.
  void fold_constants() {
    const Graph& body = ops::body(request_.node);
    std::map<const Value*, Tensor> known;
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      const Tensor* content = given_.in(i).constant;
      if (content != nullptr) known[body.inputs[i]] = *content;
    }
    for (const auto& node : body.nodes()) {
      const bool is_known = std::all_of(node->inputs.begin(), node->inputs.end(), [&](const Value* input) {
        return input == nullptr || known.contains(input);
      });
      if (!is_known || is_operand(node->output(0))) continue;
      std::vector<const Tensor*> inputs;
      for (const Value* input : node->inputs) inputs.push_back(input == nullptr ? nullptr : &known.at(input));
      const Tensor made = ops::evaluate(*node, inputs).at(0).as_tensor();
      const auto bytes = made.bytes();
      known[node->output(0)] = made;
      folded_[node->output(0)] =
          add({made.type(), made.dims()}, kernel_.constant({bytes.begin(), bytes.end()}));
    }
  }

  bool is_operand(const Value* value) const {
    return value == asked_.anchor->input(0) || value == asked_.anchor->input(1);
  }

  // The contraction's own number, with its bias, as it is declared.
  Register contracted(Lowering& lowering, Register real) const {
    const Value* bias = asked_.anchor->input(2);
    if (bias != nullptr) {
      const auto known = folded_.find(bias);
      real = plus(lowering, real, known == folded_.end() ? lowering.input_of(bias) : known->second);
    }
    return lowering.cast(real, asked_.anchor->output(0)->type.tensor.element);
  }

  // The nodes behind the contraction make of its numbers what they would make one by one.
  Register behind_contraction(Lowering& lowering, Register real) const {
    const Graph& body = ops::body(request_.node);
    std::map<const Value*, Register> made;
    for (const auto& node : body.nodes()) {
      const Value* value = node->output(0);
      const auto known = folded_.find(value);
      if (is_operand(value) || value == asked_.anchor->input(2)) continue;
      if (known != folded_.end())
        lowering.give(value, lowering.load(known->second, request_.in(known->second).dims));
      else if (node.get() == asked_.anchor)
        lowering.give(value, made[value] = contracted(lowering, real));
      else
        made[value] = lowering.follow(*node);
    }
    return made.at(body.outputs.at(0));
  }

  CudaKernel& kernel_;
  const KernelRequest& given_;
  const Int8Contraction& asked_;
  const Int8Sums& sums_;
  KernelRequest request_;
  std::vector<CudaKernel::Place> places_;
  GivenSteps steps_;
  size_t sums_input_ = 0;
  std::optional<size_t> a_sums_input_, b_sums_input_;
  std::map<const Value*, size_t> folded_;
};

}  // namespace

bool add_epilogue(CudaKernel& kernel, const KernelRequest& request, const Int8Contraction& asked,
                  const Int8Sums& sums, std::string& reason) {
  const std::string& op = request.node.op;
  const bool integers = op == "MatMulInteger" || op == "ConvInteger";
  const ElementType computed = integers ? kSum : ops::is_group(request.node) ? ElementType::kFloat : kReal;
  kernel.contract = {computed, kSum, request.out().element, NumericsContract::Order::kBlocked};
  try {
    Epilogue(kernel, request, asked, sums).run();
    return true;
  } catch (const pointwise::Refused& refused) {
    reason = refused.reason;
    return false;
  }
}

}  // namespace vernier::cuda
