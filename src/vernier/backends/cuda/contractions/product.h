// Describes what a MatMul or a Gemm multiplies, whoever computes it.
#pragma once

#include <optional>

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/kernels/parameters.h"

namespace vernier::cuda {

struct Product {
  ProductParameters parameters{};  // sizes and steps; the pointers are not set
  size_t batch_rank = 0;           // how many batch sizes there are
  bool epilogue = false;           // whether alpha, beta and the steps of an addend, input 2, are set
};

// Nothing, with `reason`, where the types or an input without elements leave it to the reference.
std::optional<Product> product_of(const KernelRequest& request, std::string& reason);

// numpy.matmul of tensors of these sizes, row by row. Nothing, with `reason`, for too many axes.
std::optional<Product> matmul_of(Dims a, Dims b, std::string& reason);

struct ProductTypes {
  ElementType a, b, sums, c;
};
// Adds a launch of the own kernel, without an addend. False, with `reason`, for too many matrices.
bool add_product(CudaKernel& kernel, const Product& product, const ProductTypes& types,
                 const CudaKernel::Place& a, const CudaKernel::Place& b, const CudaKernel::Place& c,
                 std::string& reason);

}  // namespace vernier::cuda
