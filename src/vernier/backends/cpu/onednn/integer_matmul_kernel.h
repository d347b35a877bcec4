// A product of int8, and what is done to its sums.
#pragma once

#include "vernier/backends/cpu/onednn/matmul.h"
#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Matrix products of int8 whose sums are integers, or floats that are made of these: what a request says.
struct IntegerProduct {
  const Node* anchor = nullptr;
  size_t a = 0, b = 0;     // inputs of the request
  bool quantizes = false;  // a is of floats, and quantized by its own range first
  // Inputs, too: zero points of a (of its rows) and b (of its columns), the scales that the sums are
  // multiplied with (of a, and of b or its columns), and what is added to each column at last.
  std::optional<size_t> a_zero = {}, b_zero = {}, a_scale = {}, b_scale = {}, bias = {};
};

// Nothing, with `reason`, for a group that is no such product.
std::optional<IntegerProduct> parse_integer_product(const KernelRequest& request, std::string& reason);

// Matrices of y, and which matrix of a and of b each is made of.
struct Matrices {
  int64_t rows, columns, depth;
  std::vector<int64_t> a, b;

  explicit Matrices(const Product& product);
};

// A zero point as it lies in memory: one, or several.
struct Zeros {
  std::optional<size_t> input;
  ElementType type = ElementType::kUint8;
  int64_t count = 1;
  int32_t shift = 0;  // added to each

  int32_t at(const void* const* inputs, int64_t index) const;
};

// All that a run needs to know.
struct IntegerMatMulPlan {
  IntegerProduct product;
  Matrices matrices;
  Zeros a_zeros, b_zeros;
  int64_t a_size, b_size;
  bool a_signed, shifts_b, packs_b, floats;
  int64_t b_scales = 1;  // how many
  // Nothing where they are known when it runs only; empty where they are all 0.
  std::optional<std::vector<int32_t>> known_b_zeros = {}, known_column_sums = {};
};

// `sums` has a and b, as bytes, as its inputs 0 and 1.
std::unique_ptr<Kernel> make_integer_matmul(std::unique_ptr<Kernel> sums, IntegerMatMulPlan plan);

}  // namespace vernier::cpu
