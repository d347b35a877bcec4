#include "vernier/tune/trial_operands.h"

#include <limits>
#include <random>

#include "vernier/exec/laid_out.h"
#include "vernier/ops/contrib/operands.h"
#include "vernier/tensor/drawn_blocks.h"

namespace vernier {

std::optional<Tensor> fitted_operand(const KernelRequest& request, size_t input) {
  using namespace ops::group_query;
  if (request.node.domain != "com.microsoft" || request.node.op != "GroupQueryAttention") return std::nullopt;
  const bool has_length = request.has(kTotal) && request.in(kTotal).constant != nullptr;
  if (!has_length || request.in(kTotal).size() != 1 || (input != kLastKeys && input != kPositions))
    return std::nullopt;
  const Operand& operand = request.in(input);
  std::vector<int64_t> values(static_cast<size_t>(operand.size()));  // of positions any will do
  if (input == kLastKeys)
    std::fill(values.begin(), values.end(), request.in(kTotal).constant->to_ints()[0] - 1);
  return Tensor::from_ints(operand.element, operand.dims, values);
}

namespace {

bool is_8bit(ElementType type) {
  return type == ElementType::kUint8 || type == ElementType::kInt8;
}

bool is_drawn_type(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 || type == ElementType::kBFloat16 ||
         is_8bit(type);
}

Tensor draw(const Operand& operand, uint64_t seed) {
  if (!is_float(operand.element)) {
    std::mt19937_64 random(seed);
    Tensor tensor(operand.element, operand.dims);
    const bool bytes = is_8bit(operand.element);
    auto* to = static_cast<uint8_t*>(tensor.mutable_raw());
    for (size_t i = 0; i < tensor.byte_size(); ++i)
      to[i] =
          bytes ? static_cast<uint8_t>(random()) : operand.element == ElementType::kBool && random() % 4 != 0;
    return tensor;
  }
  std::vector<double> values(static_cast<size_t>(operand.size()));
  draw_blocks(std::span(values), seed, [](std::span<double> part, SplitMix64& random) {
    std::normal_distribution<double> normal;
    for (double& value : part) value = normal(random);
  });
  return Tensor::from_doubles(operand.element, operand.dims, values);
}

// Places of special values among so many elements: few, so that much of what they do not reach stays finite.
std::vector<size_t> special_places(size_t elements) {
  if (elements < 16) return elements == 0 ? std::vector<size_t>() : std::vector<size_t>{elements / 2};
  return {elements / 7, elements / 2, elements - elements / 5};
}

void lay_out(TrialOperands& operands, const KernelRequest& request, const Backend& kernels) {
  for (size_t i = 0; i < operands.plain.size(); ++i) {
    operands.laid_out.emplace_back();
    if (!request.has(i)) continue;
    Operand plain = request.in(i);
    plain.layout = Layout::kPlain;
    operands.laid_out.back() = laid_out(kernels, operands.plain[i], plain, request.in(i).layout);
  }
}

}  // namespace

bool can_draw(const KernelRequest& request) {
  const auto fits = [](const std::optional<Operand>& operand) {
    return !operand || operand->constant != nullptr || is_drawn_type(operand->element);
  };
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!fits(request.inputs[i]) && request.in(i).element != ElementType::kBool &&
        !fitted_operand(request, i))
      return false;
  }
  return std::all_of(request.outputs.begin(), request.outputs.end(), fits);
}

// A value that is read twice is drawn once.
TrialOperands drawn_operands(const KernelRequest& request, const Backend& kernels) {
  TrialOperands operands;
  std::map<const Value*, Tensor> by_value;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    operands.plain.emplace_back();
    if (!request.has(i)) continue;
    const Operand& operand = request.in(i);
    Tensor& tensor = by_value[request.node.inputs[i]];
    if (!tensor.is_defined()) {
      const auto known =
          operand.constant != nullptr ? std::optional(*operand.constant) : fitted_operand(request, i);
      tensor = known ? *known : draw(operand, i + 1);
    }
    operands.plain.back() = tensor;
  }
  lay_out(operands, request, kernels);
  return operands;
}

TrialOperands with_special_values(const TrialOperands& drawn, const KernelRequest& request,
                                  const Backend& kernels) {
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
  TrialOperands operands;
  std::map<const Value*, Tensor> by_value;
  for (size_t i = 0; i < drawn.plain.size(); ++i) {
    operands.plain.push_back(drawn.plain[i]);
    const bool is_drawn =
        request.has(i) && request.in(i).constant == nullptr && is_float(request.in(i).element);
    if (!is_drawn) continue;
    Tensor& tensor = by_value[request.node.inputs[i]];
    if (!tensor.is_defined()) {
      auto values = drawn.plain[i].to_doubles();
      const auto places = special_places(values.size());
      for (size_t k = 0; k < places.size(); ++k) values[places[k]] = kSpecial[k];
      tensor = Tensor::from_doubles(request.in(i).element, request.in(i).dims, values);
    }
    operands.plain.back() = tensor;
  }
  lay_out(operands, request, kernels);
  return operands;
}

}  // namespace vernier
