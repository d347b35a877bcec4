#include "vernier/backends/cuda/cublaslt/lt_product.h"

#include "vernier/backends/shared/epilogue.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cuda {

namespace {

using P = ProductParameters;

// A Conv as the product of its weights and each image.
std::optional<Product> pixels_of(const KernelRequest& request, std::string& reason) {
  const auto convolution = ops::Convolution::of(request.node, request.in(0).dims, request.in(1).dims);
  for (const auto& axis : convolution.axes) {
    if (axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0) continue;
    reason = "windows of more than one pixel, or apart, are no product of matrices";
    return std::nullopt;
  }
  if (convolution.groups != 1) {
    reason = "a convolution of groups is no product of two matrices";
    return std::nullopt;
  }
  Product product;
  P& p = product.parameters;
  const int64_t pixels = ops::output_count(convolution.axes);
  p.m = static_cast<int>(convolution.out_channels);
  p.k = static_cast<int>(convolution.in_channels);
  p.n = static_cast<int>(pixels);
  p.a_row = p.k;
  p.b_row = pixels;
  p.a_column = p.b_column = 1;
  product.batch_rank = 1;
  p.batch_sizes[0] = convolution.batch;
  p.b_batch[0] = convolution.in_channels * pixels;
  p.alpha = p.beta = 1;
  p.bias_row = 1;
  product.epilogue = true;
  return product;
}

// The matrix of `rows` x `columns` by rows, transposed: as it lies, with whether it has to be turned.
std::pair<LtMatrix, bool> by_columns(int64_t rows, int64_t columns, int64_t row_step, int64_t column_step) {
  if (column_step == 1 && (rows == 1 || row_step >= columns))
    return {{columns, rows, std::max(row_step, columns), 0}, false};
  return {{rows, columns, std::max(column_step, rows), 0}, true};
}

// The axes of the batch as one, which steps alike through each operand. False where there is none.
bool join_batch(const Product& product, LtProduct& joined) {
  const P& p = product.parameters;
  for (size_t i = product.batch_rank; i-- > 0;) {
    const int64_t size = p.batch_sizes[i];
    if (size == 1) continue;
    if (joined.batch == 1) {
      joined.right.step = p.a_batch[i];
      joined.left.step = p.b_batch[i];
    } else if (p.a_batch[i] != joined.right.step * joined.batch ||
               p.b_batch[i] != joined.left.step * joined.batch) {
      return false;
    }
    joined.batch *= size;
  }
  joined.result.step = int64_t{p.m} * p.n;
  return true;
}

Addend addend_of(const KernelRequest& request, const LtProduct& joined) {
  const P& p = joined.product.parameters;
  if (!joined.product.epilogue || !request.has(2)) return Addend::kNone;
  const bool one_for_each_column = p.bias_row == 0 || p.m == 1,
             lies_in_one_piece = p.bias_column == 1 || p.n == 1;
  if (p.beta == 1 && joined.batch == 1 && one_for_each_column && lies_in_one_piece) return Addend::kEpilogue;
  if (joined.batch == 1 && p.bias_row == p.n && p.bias_column == 1) return Addend::kMatrix;
  return Addend::kSpread;
}

bool multiplies_type(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

bool is_served(const KernelRequest& request, std::string& reason) {
  const auto is_plain = [](const auto& operand) { return !operand || operand->layout == Layout::kPlain; };
  if (!std::all_of(request.inputs.begin(), request.inputs.end(), is_plain) ||
      !is_plain(request.outputs.at(0))) {
    reason = "cuBLASLt is not asked for images whose channels lie last";
    return false;
  }
  const ElementType type = request.in(0).element;
  bool serves = multiplies_type(type);
  for (const auto& input : request.inputs)
    serves = serves && (!input || (input->element == type && input->size() > 0));
  if (serves && request.out().element == type) return true;
  reason = fmt::format("cuBLASLt is not asked for products of {}", element_type_short_name(type));
  return false;
}

bool is_for_columns(const Dims& addend, int64_t columns) {
  return columns > 1 && !addend.empty() && addend.back() == columns && element_count(addend) == columns;
}

// A MatMul and what is added to its columns.
std::optional<LtProduct> group_product(const KernelRequest& request, std::string& reason) {
  const bool multiplies = ops::group_kind(request.node) == "matmul";
  const auto fused = multiplies ? parse_fused(request, reason) : std::nullopt;
  if (!fused || fused->anchor->op != "MatMul" || fused->post_ops.size() != 1 ||
      fused->post_ops[0].kind != PostOp::Kind::kAdd) {
    reason = "cuBLASLt is asked for no group but a MatMul and an addend";
    return std::nullopt;
  }
  const auto right = static_cast<size_t>(fused->inputs[0]), left = static_cast<size_t>(fused->inputs[1]),
             addend = static_cast<size_t>(fused->post_ops[0].operand);
  const auto product = matmul_of(request.in(right).dims, request.in(left).dims, reason);
  if (!product) return std::nullopt;
  auto asked = lt_product(*product, request.out().element, reason);
  if (!asked) return std::nullopt;
  if (asked->batch != 1 || !is_for_columns(request.in(addend).dims, product->parameters.n)) {
    reason = "cuBLASLt adds to a matrix one element for each column";
    return std::nullopt;
  }
  asked->left_input = left, asked->right_input = right, asked->addend_input = addend;
  asked->addend = Addend::kEpilogue;
  return asked;
}

}  // namespace

std::optional<LtProduct> lt_product(const Product& product, ElementType element, std::string& reason) {
  const P& p = product.parameters;
  LtProduct asked;
  asked.product = product;
  asked.element = element;
  std::tie(asked.left, asked.transpose_left) = by_columns(p.k, p.n, p.b_row, p.b_column);
  std::tie(asked.right, asked.transpose_right) = by_columns(p.m, p.k, p.a_row, p.a_column);
  asked.result = {p.n, p.m, p.n, 0};
  if (join_batch(product, asked)) return asked;
  reason = "no single step leads from matrix to matrix of the batch";
  return std::nullopt;
}

std::optional<LtProduct> lt_product(const KernelRequest& request, std::string& reason) {
  if (!is_served(request, reason)) return std::nullopt;
  if (ops::is_group(request.node)) return group_product(request, reason);
  const bool convolves = request.node.op == "Conv";
  const auto product = convolves ? pixels_of(request, reason) : product_of(request, reason);
  if (!product) return std::nullopt;
  const P& p = product->parameters;
  auto made = lt_product(*product, request.in(0).element, reason);
  if (!made) return std::nullopt;
  LtProduct& asked = *made;
  if (convolves) std::swap(asked.left_input, asked.right_input);
  asked.addend = addend_of(request, asked);
  if (product->epilogue) asked.alpha = static_cast<float>(p.alpha);
  if (asked.addend != Addend::kNone) asked.beta = static_cast<float>(p.beta);
  // Some ways round sums to 16 bits before they scale them or add to them, and nothing tells which.
  if (asked.element != ElementType::kFloat && (asked.alpha != 1 || asked.addend != Addend::kNone)) {
    reason = "cuBLASLt may round what it scales, or adds to, twice";
    return std::nullopt;
  }
  // A factor of zero leaves out what it multiplies, NaN and infinities, too.
  if (asked.alpha == 0 || (asked.addend != Addend::kNone && asked.beta == 0)) {
    reason = "a factor of zero would hide what is not finite";
    return std::nullopt;
  }
  return made;
}

bool can_follow_product(const Node& anchor, const Node& next, const Value& chain) {
  if (anchor.op != "MatMul" || chain.producer() != &anchor || !next.domain.empty() || next.op != "Add")
    return false;
  const Value* addend = next.input(next.input(0) == &chain ? 1 : 0);
  const auto dims_of = [](const Value& value) {
    return value.type.is_tensor() && value.type.tensor.shape ? to_dims(*value.type.tensor.shape)
                                                             : std::nullopt;
  };
  const auto dims = dims_of(*addend), factor = dims_of(*anchor.input(1));
  const ElementType type = chain.type.tensor.element;
  return multiplies_type(type) && addend->type.tensor.element == type &&
         next.output(0)->type.tensor.element == type && dims && factor && factor->size() == 2 &&
         is_for_columns(*dims, factor->back());
}

}  // namespace vernier::cuda
