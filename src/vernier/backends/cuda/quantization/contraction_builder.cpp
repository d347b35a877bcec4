#include "vernier/backends/cuda/quantization/contraction_builder.h"

namespace vernier::cuda {

namespace {

constexpr int64_t kSumBytes = sizeof(int32_t);

// Whether the zero point is 0 once `shift` is taken off.
bool is_symmetric(const KernelRequest& request, const Int8Operand& operand, int shift) {
  if (!operand.zero) return shift == 0;
  const Tensor* content = request.in(*operand.zero).constant;
  if (content == nullptr) return false;
  const auto zeros = content->to_doubles();
  return std::all_of(zeros.begin(), zeros.end(), [&](double zero) { return zero == shift; });
}

CudaKernel::Place behind(CudaKernel::Place place, int64_t bytes) {
  place.offset += static_cast<size_t>(bytes);
  return place;
}

}  // namespace

Factors factors_of(const KernelRequest& request, const Int8Contraction& asked) {
  const Operand &a = request.in(asked.a.values), &b = request.in(asked.b.values);
  const int64_t columns = asked.product.parameters.n;
  if (asked.convolution)
    return {{rows_of_windows(a, *asked.convolution)}, {rows_of_weights(b.dims)}, columns};
  return {{rows_of_matrix(a.dims)},
          {asked.transpose_b ? rows_of_matrix(b.dims) : columns_of_matrix(b.dims)},
          columns};
}

std::vector<RowChunk> chunks_of(const Int8Contraction& asked, const Rows& a, int64_t most_gathered) {
  if (asked.product.batch_rank > 0 || a.lie_so()) return {a.rows.all()};
  return a.rows.chunks(most_gathered);
}

Product product_of(const Int8Contraction& asked, const Factors& factors, int64_t rows) {
  const int64_t length = factors.a.rows.length();
  Product product = asked.product;
  ProductParameters& p = product.parameters;
  p.n = static_cast<int>(factors.columns);
  if (product.batch_rank == 0) p.m = static_cast<int>(rows);
  p.k = static_cast<int>(length);
  p.a_row = p.b_column = length;
  p.a_column = p.b_row = 1;
  for (size_t i = 0; i < product.batch_rank; ++i) {
    p.a_batch[i] *= length;
    p.b_batch[i] *= length;
  }
  return product;
}

std::string what_of(const Int8Contraction& asked) {
  return asked.convolution ? "int8-convolution" : "int8-product";
}

ContractionBuilder::ContractionBuilder(CudaKernel& kernel, const KernelRequest& request,
                                       const Int8Contraction& asked)
    : kernel_(kernel),
      request_(request),
      asked_(asked),
      to_output_((request.node.op == "MatMulInteger" || request.node.op == "ConvInteger") &&
                 asked.sums.layout == request.out().layout) {}

ElementType ContractionBuilder::element_of(const Rows& factor, const Int8Operand& operand) const {
  return factor.flips ? ElementType::kInt8 : request_.in(operand.values).element;
}

CudaKernel::Place ContractionBuilder::int8_of_rows(const Int8Rows& rows, int64_t count) {
  return kernel_.more_scratch(static_cast<size_t>(count * rows.length()));
}

CudaKernel::Place ContractionBuilder::sums_of_rows(const Int8Rows& rows) {
  return kernel_.more_scratch(static_cast<size_t>(rows.count() * kSumBytes));
}

// The value of what lies outside of an image.
std::optional<CudaKernel::Place> ContractionBuilder::outside() const {
  if (!asked_.convolution || !asked_.a.zero) return std::nullopt;
  return CudaKernel::input(*asked_.a.zero);
}

CudaKernel::Place ContractionBuilder::right(const Rows& b, int64_t columns) {
  const Tensor* known = request_.in(asked_.b.values).constant;
  const auto values = CudaKernel::input(asked_.b.values);
  if (b.lie_so() && columns == asked_.product.parameters.n) return values;
  if (known != nullptr)
    return packed_rows(kernel_, request_, *known, b.rows, b.flips, std::max(columns, b.rows.count()));
  const auto to = int8_of_rows(b.rows, b.rows.count());
  add_gathering(kernel_, b.rows, b.rows.all(), b.flips, values, std::nullopt, to);
  return to;
}

CudaKernel::Place ContractionBuilder::right_sums(const Rows& b, const CudaKernel::Place& rows) {
  const Tensor* known = request_.in(asked_.b.values).constant;
  if (known != nullptr) return packed_sums(kernel_, request_, *known, b.rows, b.flips);
  const auto to = sums_of_rows(b.rows);
  add_sums(kernel_, b.rows.count(), b.rows.length(), element_of(b, asked_.b), rows, to);
  return to;
}

bool ContractionBuilder::multiply(const Factors& factors, const std::vector<RowChunk>& chunks,
                                  const Multiply& multiply) {
  const auto b = right(factors.b, factors.columns);
  sums_.a_shift = factors.a.shift();
  sums_.b_shift = factors.b.shift();
  if (!is_symmetric(request_, asked_.a, sums_.a_shift)) sums_.b_sums = right_sums(factors.b, b);
  if (!is_symmetric(request_, asked_.b, sums_.b_shift)) sums_.a_sums = sums_of_rows(factors.a.rows);
  to_output_ = to_output_ && factors.columns == asked_.product.parameters.n && !sums_.a_sums && !sums_.b_sums;
  const auto to = target(factors.columns);
  const bool gathers = !factors.a.lie_so();
  Place gathered;
  if (gathers) gathered = int8_of_rows(factors.a.rows, chunks.front().count);
  for (const RowChunk& chunk : chunks) {
    const auto a = gathers ? gathered : CudaKernel::input(asked_.a.values);
    if (gathers)
      add_gathering(kernel_, factors.a.rows, chunk, factors.a.flips, CudaKernel::input(asked_.a.values),
                    outside(), gathered);
    if (sums_.a_sums)
      add_sums(kernel_, chunk.count, factors.a.rows.length(), element_of(factors.a, asked_.a), a,
               behind(*sums_.a_sums, chunk.first * kSumBytes));
    if (!multiply(a, b, behind(to, chunk.first * factors.columns * kSumBytes), chunk.count)) return false;
  }
  return true;
}

CudaKernel::Place ContractionBuilder::target(int64_t columns) {
  const int64_t rows = asked_.sums.size() / asked_.product.parameters.n;
  const auto bytes = static_cast<size_t>(rows * columns * kSumBytes);
  sums_.columns = columns;
  return sums_.sums = to_output_ ? CudaKernel::output() : kernel_.more_scratch(bytes);
}

bool ContractionBuilder::finish(std::string& reason) {
  if (!to_output_) return add_epilogue(kernel_, request_, asked_, sums_, reason);
  constexpr auto kSum = ElementType::kInt32;
  kernel_.contract = {kSum, kSum, kSum, NumericsContract::Order::kBlocked};
  return true;
}

}  // namespace vernier::cuda
