// Matrix products: in double over a BLAS, in integers by loops.
#pragma once

#include <cstdint>

namespace vernier::ops {

// c[m, n] = a[m, k] * b[k, n] (+ c if accumulate). Row-major with leading dimensions in elements; a (b) is
// stored [k, m] ([n, k]) where transposed. NaN and Inf propagate as IEEE 754 has it.
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda,
          const double* b, int64_t ldb, double* c, int64_t ldc, bool accumulate = false);
// The same modulo 2^64, so that the low bits are right for every integer type.
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const int64_t* a, int64_t lda,
          const int64_t* b, int64_t ldb, int64_t* c, int64_t ldc, bool accumulate = false);

}  // namespace vernier::ops
