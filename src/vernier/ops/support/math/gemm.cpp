#include "vernier/ops/support/math/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "vernier/base/error.h"
#include "vernier/base/threads.h"

// OpenBLAS has these where it has threads, and where it chooses its kernels by the processor.
extern "C" __attribute__((weak)) int blas_thread_shutdown_();   // NOLINT(readability-identifier-naming)
extern "C" __attribute__((weak)) void gotoblas_dynamic_init();  // NOLINT(readability-identifier-naming)
extern "C" __attribute__((weak)) void gotoblas_dynamic_quit();  // NOLINT(readability-identifier-naming)

namespace vernier::ops {

namespace {

// Chooses kernels by what the processor can do, where OpenBLAS takes a processor that came after it for one
// of 2004: its products are four times as slow then. A choice of the user in OPENBLAS_CORETYPE stands.
bool choose_kernels() {
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) return false;
  constexpr const char* kChoice = "OPENBLAS_CORETYPE";
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0 ||
      std::getenv(kChoice) != nullptr)
    return false;
  constexpr std::array<std::string_view, 5> kRecent = {"Haswell", "Zen", "SkylakeX", "Cooperlake",
                                                       "SapphireRapids"};
  if (std::ranges::count(kRecent, std::string_view(openblas_get_corename())) != 0) return false;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  ::setenv(kChoice, avx512 ? "SkylakeX" : "Haswell", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv(kChoice);
  return true;
}

// Both happen while the library is loaded, before any thread multiplies.
[[maybe_unused]] const bool kKernelsChosen = choose_kernels();
// OpenBLAS starts its threads when it is loaded, and they spin for some 30 ms, just while a process loads its
// engine. They are ended here, and come again when it wants some.
[[maybe_unused]] const bool kThreadsEnded = blas_thread_shutdown_ != nullptr && blas_thread_shutdown_() == 0;

// A thread takes at least so many multiply-adds, and so many rows or columns that packing the other matrix
// does not count.
constexpr int64_t kLeastWork = int64_t{1} << 23, kLeastSide = 128;

int blas_int(int64_t value) {
  if (value > std::numeric_limits<int>::max())
    throw unsupported("a matrix dimension of {} is beyond the BLAS in use", value);
  return static_cast<int>(std::max<int64_t>(value, 1));
}

}  // namespace

void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda,
          const double* b, int64_t ldb, double* c, int64_t ldc, bool accumulate) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!accumulate) {
      for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, 0.0);
    }
    return;
  }
  // The threads of OpenBLAS spin between calls, and its roundings depend on their number. Ours do neither.
  [[maybe_unused]] static const bool single_threaded = (openblas_set_num_threads(1), true);
  const bool by_rows = m > n;
  const int64_t grain = std::max(kLeastSide, kLeastWork / k / std::min(m, n));
  parallel_for(std::max(m, n), grain, [&](int64_t begin, int64_t end) {
    const int64_t row = by_rows ? begin : 0, column = by_rows ? 0 : begin, length = end - begin;
    cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, blas_int(by_rows ? length : m),
                blas_int(by_rows ? n : length), blas_int(k), 1.0, a + row * (transpose_a ? 1 : lda),
                blas_int(lda), b + column * (transpose_b ? ldb : 1), blas_int(ldb), accumulate ? 1.0 : 0.0,
                c + row * ldc + column, blas_int(ldc));
  });
}

void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const int64_t* a, int64_t lda,
          const int64_t* b, int64_t ldb, int64_t* c, int64_t ldc, bool accumulate) {
  const int64_t a_row = transpose_a ? 1 : lda, a_column = transpose_a ? lda : 1;
  const int64_t b_row = transpose_b ? 1 : ldb, b_column = transpose_b ? ldb : 1;
  parallel_for(m, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!accumulate) std::fill_n(c + i * ldc, n, 0);
      for (int64_t p = 0; p < k; ++p) {
        const auto factor = static_cast<uint64_t>(a[i * a_row + p * a_column]);
        for (int64_t j = 0; j < n; ++j) {
          int64_t& sum = c[i * ldc + j];
          sum = static_cast<int64_t>(static_cast<uint64_t>(sum) +
                                     factor * static_cast<uint64_t>(b[p * b_row + j * b_column]));
        }
      }
    }
  });
}

}  // namespace vernier::ops
