// The functions of cuDNN 9, convolutions of NVIDIA, as a table: its descriptors, of which graphs of
// operations are made. See driver_api.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vernier/backends/cuda/libraries/driver_api.h"

namespace vernier::cuda {

using DnnStatus = int;                // cudnnStatus_t
using DnnHandle = struct OpaqueDnn*;  // cudnnHandle_t
using DnnPointer = void*;             // cudnnBackendDescriptor_t

inline constexpr DnnStatus kDnnSuccess = 0;
// cudnnBackendDescriptorType_t.
inline constexpr int kDnnPointwise = 0, kDnnConvolution = 1, kDnnEngine = 2, kDnnConfiguration = 3,
                     kDnnHeuristics = 4, kDnnPlan = 5, kDnnConvolutionForward = 10,
                     kDnnPointwiseOperation = 13, kDnnGraph = 15, kDnnVariantPack = 16, kDnnTensor = 17;
// cudnnBackendAttributeType_t: of the values of attributes. Enumerations have the size of an int.
inline constexpr int kDnnOfHandle = 0, kDnnOfDataType = 1, kDnnOfBoolean = 2, kDnnOfInt64 = 3,
                     kDnnOfFloat = 4, kDnnOfDouble = 5, kDnnOfPointer = 6, kDnnOfConvolutionMode = 7,
                     kDnnOfHeuristicsMode = 8, kDnnOfNanPropagation = 10, kDnnOfNumericalNote = 11,
                     kDnnOfPointwiseMode = 14, kDnnOfDescriptor = 15, kDnnOfBehaviourNote = 19,
                     kDnnOfChar = 24;
// cudnnBackendAttributeName_t.
inline constexpr int kDnnPointwiseMode = 0, kDnnPointwiseComputes = 1, kDnnPointwiseNan = 2,
                     kDnnReluUpper = 4;
inline constexpr int kDnnConvolutionComputes = 100, kDnnConvolutionMode = 101, kDnnDilations = 102,
                     kDnnStrides = 103, kDnnPadsEnd = 104, kDnnPadsBegin = 105, kDnnSpatialAxes = 106;
inline constexpr int kDnnHeuristicsMode = 200, kDnnHeuristicsGraph = 201, kDnnHeuristicsResults = 202;
inline constexpr int kDnnConfigurationEngine = 300;
inline constexpr int kDnnPlanHandle = 400, kDnnPlanConfiguration = 401, kDnnPlanWorkspace = 402,
                     kDnnPlanJson = 405;
inline constexpr int kDnnForwardAlpha = 700, kDnnForwardBeta = 701, kDnnForwardConvolution = 702,
                     kDnnForwardW = 703, kDnnForwardX = 704, kDnnForwardY = 705;
inline constexpr int kDnnOperationPointwise = 750, kDnnOperationX = 751, kDnnOperationB = 752,
                     kDnnOperationY = 753;
inline constexpr int kDnnGraphHandle = 800, kDnnGraphOperations = 801;
inline constexpr int kDnnTensorAlignment = 900, kDnnTensorType = 901, kDnnTensorSizes = 902,
                     kDnnTensorSteps = 903, kDnnTensorId = 906, kDnnTensorIsVirtual = 907;
inline constexpr int kDnnPackIds = 1000, kDnnPackPointers = 1001, kDnnPackWorkspace = 1003;
inline constexpr int kDnnEngineNumber = 1301, kDnnEngineNumericalNotes = 1303,
                     kDnnEngineBehaviourNotes = 1305;
// cudnnDataType_t, cudnnConvolutionMode_t, cudnnPointwiseMode_t, cudnnNanPropagation_t,
// cudnnBackendHeurMode_t.
inline constexpr int kDnnFloat = 0, kDnnFloat16 = 2, kDnnBFloat16 = 9;
inline constexpr int kDnnCrossCorrelation = 1;
inline constexpr int kDnnAdd = 0, kDnnRelu = 100;
inline constexpr int kDnnPropagateNan = 1;
inline constexpr int kDnnFallback = 2, kDnnModeA = 3;
// cudnnBackendNumericalNote_t: what an engine does to the numbers.
inline constexpr int kDnnTensorCores = 0, kDnnDownConvertsInputs = 1, kDnnReducedPrecision = 2, kDnnFft = 3,
                     kDnnNondeterministic = 4, kDnnWinograd = 5, kDnnWinograd4 = 6, kDnnWinograd6 = 7,
                     kDnnWinograd13 = 8;
// cudnnBackendBehaviorNote_t.
inline constexpr int kDnnCompilesAtRunTime = 0;

// The numbers that enumerations are passed by have the size of an int.
#define VERNIER_CUDA_CUDNN_FUNCTIONS(F)                                                       \
  F(version, cudnnGetVersion, size_t())                                                       \
  F(status_text, cudnnGetErrorString, const char*(DnnStatus))                                 \
  F(last_error, cudnnGetLastErrorString, void(char*, size_t))                                 \
  F(create, cudnnCreate, DnnStatus(DnnHandle*))                                               \
  F(set_stream, cudnnSetStream, DnnStatus(DnnHandle, StreamHandle))                           \
  F(create_descriptor, cudnnBackendCreateDescriptor, DnnStatus(int, DnnPointer*))             \
  F(destroy_descriptor, cudnnBackendDestroyDescriptor, DnnStatus(DnnPointer))                 \
  F(finalize, cudnnBackendFinalize, DnnStatus(DnnPointer))                                    \
  F(set, cudnnBackendSetAttribute, DnnStatus(DnnPointer, int, int, int64_t, const void*))     \
  F(get, cudnnBackendGetAttribute, DnnStatus(DnnPointer, int, int, int64_t, int64_t*, void*)) \
  F(execute, cudnnBackendExecute, DnnStatus(DnnHandle, DnnPointer, DnnPointer))

struct CudnnApi {
#define VERNIER_CUDA_DECLARE(name, symbol, ...) Pointer<__VA_ARGS__> name = nullptr;
  VERNIER_CUDA_CUDNN_FUNCTIONS(VERNIER_CUDA_DECLARE)
#undef VERNIER_CUDA_DECLARE
};

}  // namespace vernier::cuda
