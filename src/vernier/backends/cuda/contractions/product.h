// What a MatMul or a Gemm multiplies, whoever computes it.
#pragma once

#include <optional>

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/exec/backend.h"

namespace vernier::cuda {

struct Product {
  ProductParameters parameters{};  // sizes and steps; the pointers are not set
  size_t batch_rank = 0;           // how many batch sizes there are
  bool epilogue = false;           // whether alpha, beta and the steps of an addend, input 2, are set
};

// Nothing, with `reason`, where the types or an input without elements leave it to the reference.
std::optional<Product> product_of(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cuda
