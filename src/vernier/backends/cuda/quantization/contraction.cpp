#include "vernier/backends/cuda/quantization/contraction.h"

#include <cmath>

#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

namespace {

struct Refusal {
  std::string reason;
};

// Where operators have their operands.
struct Form {
  std::string_view op;
  size_t a, b;
  std::optional<size_t> a_scale, a_zero, b_scale, b_zero;
};
constexpr Form kForms[] = {
    {"MatMulInteger", 0, 1, {}, 2, {}, 3}, {"ConvInteger", 0, 1, {}, 2, {}, 3},
    {"QLinearMatMul", 0, 3, 1, 2, 4, 5},   {"QLinearConv", 0, 3, 1, 2, 4, 5},
    {"QGemm", 0, 3, 1, 2, 4, 5},           {"MatMulIntegerToFloat", 0, 1, 2, 4, 3, 5},
};

std::optional<size_t> present(const KernelRequest& request, std::optional<size_t> input) {
  return input && request.has(*input) ? input : std::nullopt;
}

Int8Contraction operator_of(const KernelRequest& request) {
  for (const Form& form : kForms) {
    if (form.op != request.node.op) continue;
    const auto has = [&](std::optional<size_t> input) { return present(request, input); };
    return {&request.node,
            {form.a, has(form.a_scale), has(form.a_zero)},
            {form.b, has(form.b_scale), has(form.b_zero)}};
  }
  throw Refusal{"it multiplies no int8"};
}

// An operand that the group dequantizes for its contraction. Scales that are not finite, or 0, would make NaN
// of single products, which sums of integers do not see.
Int8Operand dequantized(const KernelRequest& request, const Value* value) {
  const Graph& body = ops::body(request.node);
  const auto place = [&](const Value* of) {
    return static_cast<size_t>(std::find(body.inputs.begin(), body.inputs.end(), of) - body.inputs.begin());
  };
  const Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr || node->op != "DequantizeLinear" || place(node->input(0)) == body.inputs.size() ||
      ops::integer_attribute(*node, "block_size") != 0)
    throw Refusal{"an operand that is not dequantized in the group"};
  Int8Operand operand{place(node->input(0)), place(node->input(1))};
  if (node->input(2) != nullptr) operand.zero = place(node->input(2));
  const Operand& scale = request.in(*operand.scale);
  if (scale.constant == nullptr) throw Refusal{"scales that are not known"};
  for (const double each : scale.constant->to_doubles()) {
    if (!std::isfinite(each)) throw Refusal{"scales that are not finite"};
  }
  return operand;
}

Int8Contraction group_of(const KernelRequest& request) {
  const Graph& body = ops::body(request.node);
  for (const auto& node : body.nodes()) {
    if (node->op != "Conv" && node->op != "MatMul" && node->op != "Gemm") continue;
    if (node->op == "Gemm" &&
        (ops::real_attribute(*node, "alpha") != 1 || ops::real_attribute(*node, "beta") != 1))
      throw Refusal{"a Gemm with factors"};
    if (body.outputs.size() != 1) throw Refusal{"a group of more than one result"};
    return {node.get(), dequantized(request, node->input(0)), dequantized(request, node->input(1))};
  }
  throw Refusal{"no contraction"};
}

// Aligns parameters to each channel of weights, or to all.
void align_to_channels(const KernelRequest& request, Int8Contraction& made) {
  const Dims& y = request.out().dims;
  for (const auto& each : {made.a.scale, made.a.zero}) {
    if (each && request.in(*each).size() != 1) throw Refusal{"an image of several scales or zero points"};
  }
  const auto aligned = [&](std::optional<size_t> input) {
    if (!input || request.in(*input).size() == 1) return Dims{};
    if (request.in(*input).size() != y[1]) throw Refusal{"weights of other scales than one for each channel"};
    Dims dims(y.size() - 1, 1);
    dims[0] = y[1];
    return dims;
  };
  made.b.scale_dims = aligned(made.b.scale);
  made.b.zero_dims = aligned(made.b.zero);
}

// Aligns parameters to each row of a, to each column of b, or to all.
Dims aligned_to_matrix(const KernelRequest& request, std::optional<size_t> input, bool of_rows,
                       const Int8Contraction& made) {
  if (!input || request.in(*input).size() == 1) return {};
  const int64_t a_rank = request.in(made.a.values).rank(), b_rank = request.in(made.b.values).rank();
  const Dims& y = request.out().dims;
  Dims dims = request.in(*input).dims;
  if (of_rows && dims.size() == 1) dims.push_back(1);
  const bool has_rows = a_rank >= 2 && b_rank >= 2 && made.anchor->op != "MatMulIntegerToFloat";
  const bool fits = of_rows ? has_rows && dims.back() == 1
                            : b_rank >= 2 && (dims.size() == 1 || (has_rows && dims[dims.size() - 2] == 1));
  if (!fits || dims.size() > y.size() || broadcast(dims, y) != y)
    throw Refusal{"scales or zero points of other than rows and columns"};
  return dims;
}

void align_to_matrix(const KernelRequest& request, Int8Contraction& made) {
  for (Int8Operand* each : {&made.a, &made.b}) {
    const bool of_rows = each == &made.a;
    each->scale_dims = aligned_to_matrix(request, each->scale, of_rows, made);
    each->zero_dims = aligned_to_matrix(request, each->zero, of_rows, made);
  }
}

// Batches as steps of rows.
Product product_of_rows(const KernelRequest& request, const Int8Contraction& made) {
  const Dims &a = request.in(made.a.values).dims, &b = request.in(made.b.values).dims;
  std::string reason;
  const auto product = made.transpose_b ? matmul_of(a, {b[1], b[0]}, reason) : matmul_of(a, b, reason);
  if (!product) throw Refusal{reason};
  Product rows = *product;
  ProductParameters& p = rows.parameters;
  for (size_t i = 0; i < rows.batch_rank; ++i) {
    p.a_batch[i] /= p.k;
    p.b_batch[i] /= p.k;
  }
  return rows;
}

void settle_convolution(const KernelRequest& request, Int8Contraction& made) {
  const Operand &x = request.in(made.a.values), &w = request.in(made.b.values);
  if (x.rank() < 3 || x.rank() > 5 || ops::integer_attribute(*made.anchor, "channels_last") != 0)
    throw Refusal{"a convolution of more than three axes, or of channels that are the last axis"};
  align_to_channels(request, made);
  made.convolution = ops::Convolution::of(*made.anchor, x.dims, w.dims);
  const auto& convolution = *made.convolution;
  made.sums = {ElementType::kInt32, request.out().dims, Layout::kChannelsLast};
  if (convolution.groups > 1) made.sums.layout = request.out().layout;
  ProductParameters& p = made.product.parameters;
  p.m = static_cast<int>(x.dims[0] * ops::output_count(convolution.axes));
  p.n = static_cast<int>(convolution.out_channels);
  p.k = static_cast<int>(w.size() / w.dims[0]);
}

void settle_matrices(const KernelRequest& request, Int8Contraction& made) {
  const Node& node = *made.anchor;
  if (ops::integer_attribute(node, "transA") != 0) throw Refusal{"a that lies transposed"};
  made.transpose_b = ops::integer_attribute(node, "transB") != 0;
  for (const size_t each : {made.a.values, made.b.values}) {
    if (request.in(each).rank() < 1) throw Refusal{"a factor without axes"};
  }
  align_to_matrix(request, made);
  made.product = product_of_rows(request, made);
  made.sums = {ElementType::kInt32, request.out().dims};
}

Int8Contraction settled(const KernelRequest& request) {
  auto made = ops::is_group(request.node) ? group_of(request) : operator_of(request);
  const Operand &a = request.in(made.a.values), &b = request.in(made.b.values);
  if (!is_8bit(a.element) || !is_8bit(b.element)) throw Refusal{"factors of other than 8 bits"};
  if (a.size() == 0 || b.size() == 0) throw Refusal{"an input without elements"};
  const bool convolves = made.anchor->op.find("Conv") != std::string::npos;
  for (const auto& input : request.inputs) {
    const bool image = convolves && input && input->layout == Layout::kChannelsLast && input->rank() >= 3;
    if (input && input->layout != Layout::kPlain && !image)
      throw Refusal{"operands that are no plain tensors"};
  }
  if (b.layout != Layout::kPlain) throw Refusal{"weights that are no plain tensor"};
  convolves ? settle_convolution(request, made) : settle_matrices(request, made);
  return made;
}

}  // namespace

std::optional<Int8Contraction> int8_contraction(const KernelRequest& request, std::string& reason) {
  try {
    return settled(request);
  } catch (const Refusal& refusal) {
    reason = refusal.reason;
    return std::nullopt;
  }
}

}  // namespace vernier::cuda
