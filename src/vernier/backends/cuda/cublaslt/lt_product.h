// Products of the model as cuBLASLt is asked for them: its matrices lie by columns, the model's by rows.
#pragma once

#include "vernier/backends/cuda/contractions/product.h"

namespace vernier::cuda {

// A matrix of so many rows and columns, of which a column begins `leading` elements behind the one before it,
// and the next matrix of the batch `step` elements behind the first; a step of 0 is one matrix for all.
struct LtMatrix {
  int64_t rows = 0, columns = 0, leading = 0, step = 0;
  bool operator==(const LtMatrix&) const = default;
};

// How an addend meets the products. Those of 16 bits take none but in a group, which the model rounds twice.
enum class Addend : uint8_t {
  kNone,
  kEpilogue,  // an element for each row of the result
  kMatrix,    // as large as the result
  kSpread     // copied into the result first, which is then kMatrix of itself
};

// result = alpha * op(left) * op(right) + beta * addend: a product by rows is the product of the transposed
// factors, in the other order, by columns.
struct LtProduct {
  ElementType element = ElementType::kUndefined;
  LtMatrix left, right, result;
  bool transpose_left = false, transpose_right = false;
  size_t left_input = 1, right_input = 0, addend_input = 2;
  int64_t batch = 1;
  float alpha = 1, beta = 0;
  Addend addend = Addend::kNone;
  bool tf32 = false;  // factors, floats, are rounded to TF32
  Product product;    // what it was made of
};

// Without scales and addends, of factors of this type. Nothing, with `reason`, for batches without one step.
std::optional<LtProduct> lt_product(const Product& product, ElementType element, std::string& reason);

// Describes a MatMul, a Gemm, a Conv of kernel size 1 and stride 1, or a group of a MatMul and the addend of
// its columns. Gives nothing, with `reason`, for what cuBLASLt is not asked for.
std::optional<LtProduct> lt_product(const KernelRequest& request, std::string& reason);

// Whether `next`, which reads `chain`, can follow in the kernel of `anchor`, a product: for the pass that
// makes the groups.
bool can_follow_product(const Node& anchor, const Node& next, const Value& chain);

}  // namespace vernier::cuda
