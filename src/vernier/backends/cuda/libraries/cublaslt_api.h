// The functions of cuBLASLt, the products of matrices of NVIDIA, as a table. See driver_api.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vernier/backends/cuda/libraries/driver_api.h"

namespace vernier::cuda {

using LtStatus = int;                           // cublasStatus_t
using LtHandle = struct OpaqueLt*;              // cublasLtHandle_t
using LtOperation = struct OpaqueLtOperation*;  // cublasLtMatmulDesc_t
using LtLayout = struct OpaqueLtLayout*;        // cublasLtMatrixLayout_t
using LtPreference = struct OpaqueLtPreference*;

// cublasLtMatmulAlgo_t: may be copied and kept.
struct LtAlgorithm {
  uint64_t data[8];
};
// cublasLtMatmulHeuristicResult_t.
struct LtFound {
  LtAlgorithm algorithm;
  size_t workspace;  // bytes
  LtStatus state;    // the rest is valid where this is kLtSuccess
  float waves;
  int reserved[4];
};

inline constexpr LtStatus kLtSuccess = 0;
// cublasComputeType_t and cudaDataType_t. The second may round factors that are floats to TF32.
inline constexpr int kLtCompute32F = 68, kLtCompute32FByTf32 = 77;
inline constexpr int kLtFloat = 0, kLtFloat16 = 2, kLtBFloat16 = 14;
inline constexpr int kLtCompute32I = 72, kLtInt8 = 3, kLtInt32 = 10;
// cublasOperation_t, cublasLtEpilogue_t.
inline constexpr int32_t kLtPlain = 0, kLtTransposed = 1;
inline constexpr uint32_t kLtNoEpilogue = 1, kLtAddBias = 4;
// Attributes of layouts, operations, preferences and algorithms.
inline constexpr int kLtBatchCount = 5, kLtBatchStep = 6;
inline constexpr int kLtTransposeA = 3, kLtTransposeB = 4, kLtEpilogue = 7, kLtBiasPointer = 8;
inline constexpr int kLtMostWorkspace = 1, kLtReductionSchemes = 3, kLtAlignments[] = {5, 6, 7, 8};
inline constexpr int kLtReductionScheme = 3, kLtNumericalFlags = 15;
// These attributes configure an algorithm (cublasLtMatmulAlgoConfigAttributes_t), beside its scheme. The last
// two have 16 bits, all others 32.
inline constexpr int kLtAlgorithmId = 0, kLtTile = 1, kLtSplitK = 2, kLtSwizzle = 4, kLtCustom = 5,
                     kLtStages = 6, kLtInnerShape = 7, kLtClusterShape = 8;
// cublasLtReductionScheme_t: how partial sums along k come together. That of the compute type keeps them in
// float, and adds them in a step of its own.
inline constexpr uint32_t kLtOneSequence = 0, kLtInComputeType = 2;
// cublasLtNumericalImplFlags_t, byte by byte: instructions, accumulators, factors.
inline constexpr uint64_t kLtByte = 0xff, kLtFma = 0x01, kLtAccumulators32F = 0x02;
inline constexpr uint64_t kLtFactorsTf32 = 0x04, kLtFactors32F = 0x08;

// The numbers that enumerations are passed by have the size of an int.
#define VERNIER_CUDA_CUBLASLT_FUNCTIONS(F)                                                                  \
  F(version, cublasLtGetVersion, size_t())                                                                  \
  F(status_name, cublasLtGetStatusName, const char*(LtStatus))                                              \
  F(create, cublasLtCreate, LtStatus(LtHandle*))                                                            \
  F(create_operation, cublasLtMatmulDescCreate, LtStatus(LtOperation*, int, int))                           \
  F(destroy_operation, cublasLtMatmulDescDestroy, LtStatus(LtOperation))                                    \
  F(set_operation, cublasLtMatmulDescSetAttribute, LtStatus(LtOperation, int, const void*, size_t))         \
  F(create_layout, cublasLtMatrixLayoutCreate, LtStatus(LtLayout*, int, uint64_t, uint64_t, int64_t))       \
  F(destroy_layout, cublasLtMatrixLayoutDestroy, LtStatus(LtLayout))                                        \
  F(set_layout, cublasLtMatrixLayoutSetAttribute, LtStatus(LtLayout, int, const void*, size_t))             \
  F(create_preference, cublasLtMatmulPreferenceCreate, LtStatus(LtPreference*))                             \
  F(destroy_preference, cublasLtMatmulPreferenceDestroy, LtStatus(LtPreference))                            \
  F(set_preference, cublasLtMatmulPreferenceSetAttribute, LtStatus(LtPreference, int, const void*, size_t)) \
  F(find, cublasLtMatmulAlgoGetHeuristic,                                                                   \
    LtStatus(LtHandle, LtOperation, LtLayout, LtLayout, LtLayout, LtLayout, LtPreference, int, LtFound*,    \
             int*))                                                                                         \
  F(configuration, cublasLtMatmulAlgoConfigGetAttribute,                                                    \
    LtStatus(const LtAlgorithm*, int, void*, size_t, size_t*))                                              \
  F(capability, cublasLtMatmulAlgoCapGetAttribute,                                                          \
    LtStatus(const LtAlgorithm*, int, void*, size_t, size_t*))                                              \
  F(multiply, cublasLtMatmul,                                                                               \
    LtStatus(LtHandle, LtOperation, const void*, const void*, LtLayout, const void*, LtLayout, const void*, \
             const void*, LtLayout, void*, LtLayout, const LtAlgorithm*, void*, size_t, StreamHandle))

struct CublasLtApi {
#define VERNIER_CUDA_DECLARE(name, symbol, ...) Pointer<__VA_ARGS__> name = nullptr;
  VERNIER_CUDA_CUBLASLT_FUNCTIONS(VERNIER_CUDA_DECLARE)
#undef VERNIER_CUDA_DECLARE
};

}  // namespace vernier::cuda
