// The functions of the CUDA driver that are used, as a table: filled from libcuda.so.1 when the program runs,
// or by a test. The declarations are our own, so building needs no header of CUDA.
#pragma once

#include <cstddef>

namespace vernier::cuda {

using Status = int;  // CUresult
using DeviceNumber = int;
using DevicePointer = unsigned long long;
using ContextHandle = struct OpaqueContext*;
using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;
using ModuleHandle = struct OpaqueModule*;
using FunctionHandle = struct OpaqueFunction*;
using GraphHandle = struct OpaqueGraph*;
using ReadyGraphHandle = struct OpaqueReadyGraph*;  // CUgraphExec

inline constexpr Status kSuccess = 0, kOutOfDeviceMemory = 2, kNotReady = 600;

// CUdevice_attribute.
inline constexpr int kMajorVersion = 75, kMinorVersion = 76, kMultiprocessors = 16, kCacheBytes = 38;
// Flags of streams, events and memory.
inline constexpr unsigned kNonBlockingStream = 1, kEventWithoutTiming = 2;
// CUstreamCaptureMode: other threads may do what they want meanwhile.
inline constexpr int kThreadLocalCapture = 1;
inline constexpr unsigned kPortableMemory = 1, kMappedMemory = 2;
// CUpointer_attribute, and CUmemorytype, which one of them gives.
inline constexpr int kMemoryType = 2, kDeviceOrdinal = 9;
inline constexpr unsigned kHostMemory = 1, kDeviceMemory = 2;

// Name here, name in the library, result and arguments.
#define VERNIER_CUDA_DRIVER_FUNCTIONS(F)                                                                 \
  F(init, cuInit, Status(unsigned))                                                                      \
  F(driver_version, cuDriverGetVersion, Status(int*))                                                    \
  F(error_name, cuGetErrorName, Status(Status, const char**))                                            \
  F(error_text, cuGetErrorString, Status(Status, const char**))                                          \
  F(device_count, cuDeviceGetCount, Status(int*))                                                        \
  F(device, cuDeviceGet, Status(DeviceNumber*, int))                                                     \
  F(device_name, cuDeviceGetName, Status(char*, int, DeviceNumber))                                      \
  F(device_attribute, cuDeviceGetAttribute, Status(int*, int, DeviceNumber))                             \
  F(device_memory, cuDeviceTotalMem_v2, Status(size_t*, DeviceNumber))                                   \
  F(retain_context, cuDevicePrimaryCtxRetain, Status(ContextHandle*, DeviceNumber))                      \
  F(set_context, cuCtxSetCurrent, Status(ContextHandle))                                                 \
  F(allocate, cuMemAlloc_v2, Status(DevicePointer*, size_t))                                             \
  F(free, cuMemFree_v2, Status(DevicePointer))                                                           \
  F(allocate_host, cuMemHostAlloc, Status(void**, size_t, unsigned))                                     \
  F(free_host, cuMemFreeHost, Status(void*))                                                             \
  F(pointer_attributes, cuPointerGetAttributes, Status(unsigned, int*, void**, DevicePointer))           \
  F(host_to_device, cuMemcpyHtoDAsync_v2, Status(DevicePointer, const void*, size_t, StreamHandle))      \
  F(device_to_host, cuMemcpyDtoHAsync_v2, Status(void*, DevicePointer, size_t, StreamHandle))            \
  F(device_to_device, cuMemcpyDtoDAsync_v2, Status(DevicePointer, DevicePointer, size_t, StreamHandle))  \
  F(create_stream, cuStreamCreate, Status(StreamHandle*, unsigned))                                      \
  F(destroy_stream, cuStreamDestroy_v2, Status(StreamHandle))                                            \
  F(synchronize_stream, cuStreamSynchronize, Status(StreamHandle))                                       \
  F(begin_capture, cuStreamBeginCapture_v2, Status(StreamHandle, int))                                   \
  F(end_capture, cuStreamEndCapture, Status(StreamHandle, GraphHandle*))                                 \
  F(make_ready, cuGraphInstantiateWithFlags, Status(ReadyGraphHandle*, GraphHandle, unsigned long long)) \
  F(launch_graph, cuGraphLaunch, Status(ReadyGraphHandle, StreamHandle))                                 \
  F(destroy_graph, cuGraphDestroy, Status(GraphHandle))                                                  \
  F(destroy_ready, cuGraphExecDestroy, Status(ReadyGraphHandle))                                         \
  F(wait_event, cuStreamWaitEvent, Status(StreamHandle, EventHandle, unsigned))                          \
  F(create_event, cuEventCreate, Status(EventHandle*, unsigned))                                         \
  F(destroy_event, cuEventDestroy_v2, Status(EventHandle))                                               \
  F(record_event, cuEventRecord, Status(EventHandle, StreamHandle))                                      \
  F(query_event, cuEventQuery, Status(EventHandle))                                                      \
  F(synchronize_event, cuEventSynchronize, Status(EventHandle))                                          \
  F(load_module, cuModuleLoadData, Status(ModuleHandle*, const void*))                                   \
  F(unload_module, cuModuleUnload, Status(ModuleHandle))                                                 \
  F(find_function, cuModuleGetFunction, Status(FunctionHandle*, ModuleHandle, const char*))              \
  F(launch, cuLaunchKernel,                                                                              \
    Status(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
           StreamHandle, void**, void**))

template <class Function>
using Pointer = Function*;

struct DriverApi {
#define VERNIER_CUDA_DECLARE(name, symbol, ...) Pointer<__VA_ARGS__> name = nullptr;
  VERNIER_CUDA_DRIVER_FUNCTIONS(VERNIER_CUDA_DECLARE)
#undef VERNIER_CUDA_DECLARE
};

}  // namespace vernier::cuda
