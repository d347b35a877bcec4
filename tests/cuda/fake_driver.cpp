#include "cuda/fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace vernier::cuda {

namespace {

constexpr Status kInvalidValue = 1, kCaptureUnsupported = 900, kCaptureInvalidated = 901;

FakeDriver driver;
int handle = 0;  // all that a handle needs is an address

template <class Handle>
Status make(Handle* made) {
  *made = reinterpret_cast<Handle>(&handle);
  return kSuccess;
}

Status allocate(DevicePointer* address, size_t bytes) {
  if (const Status status = driver.outside_of_capture(); status != kSuccess) return status;
  if (driver.allocated + bytes > driver.memory) return kOutOfDeviceMemory;
  *address = reinterpret_cast<DevicePointer>(std::malloc(bytes));
  driver.buffers[*address] = bytes;
  driver.allocated += bytes;
  ++driver.live_buffers;
  return kSuccess;
}

Status release(DevicePointer address) {
  const auto found = driver.buffers.find(address);
  if (found == driver.buffers.end()) return 1;
  driver.allocated -= found->second;
  --driver.live_buffers;
  std::free(reinterpret_cast<void*>(address));
  driver.buffers.erase(found);
  return kSuccess;
}

Status allocate_host(void** memory, size_t bytes, unsigned flags) {
  if (const Status status = driver.outside_of_capture(); status != kSuccess) return status;
  *memory = std::calloc(1, bytes);
  driver.pinned[reinterpret_cast<DevicePointer>(*memory)] = bytes;
  if ((flags & kMappedMemory) != 0 && driver.fault_word == nullptr)
    driver.fault_word = static_cast<int*>(*memory);
  return kSuccess;
}

Status launch(FunctionHandle, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
              unsigned, StreamHandle, void**, void**) {
  if (driver.launch_fails != kSuccess) return driver.launch_fails;
  driver.enqueue([=] {
    ++driver.launches;
    driver.calls.push_back("launch " + std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z) +
                           " of " + std::to_string(threads));
    if (driver.fault != 0) *driver.fault_word = driver.fault;
    driver.fault = 0;
  });
  return kSuccess;
}

Status begin_capture(StreamHandle, int mode) {
  if (mode != kThreadLocalCapture || driver.captured) return kInvalidValue;
  driver.captured.emplace();
  driver.invalidated = false;
  return kSuccess;
}

Status end_capture(StreamHandle, GraphHandle* graph) {
  if (!driver.captured) return kInvalidValue;
  auto work = std::make_unique<FakeDriver::Work>(std::move(*driver.captured));
  driver.captured.reset();
  if (driver.invalidated) return kCaptureInvalidated;
  ++driver.live_graphs;
  *graph = reinterpret_cast<GraphHandle>(work.release());
  return kSuccess;
}

Status make_ready(ReadyGraphHandle* ready, GraphHandle graph, unsigned long long) {
  if (driver.make_ready_fails != kSuccess) return driver.make_ready_fails;
  ++driver.live_graphs;
  *ready = reinterpret_cast<ReadyGraphHandle>(
      new FakeDriver::Work(*reinterpret_cast<const FakeDriver::Work*>(graph)));
  return kSuccess;
}

Status launch_graph(ReadyGraphHandle graph, StreamHandle) {
  ++driver.graph_launches;
  for (const auto& work : *reinterpret_cast<const FakeDriver::Work*>(graph)) work();
  return kSuccess;
}

template <class Handle>
Status destroy_graph(Handle graph) {
  delete reinterpret_cast<FakeDriver::Work*>(graph);
  --driver.live_graphs;
  return kSuccess;
}

Status attribute(int* value, int which, DeviceNumber) {
  constexpr int kSome = 4;
  *value = which == kMajorVersion ? driver.major : which == kMinorVersion ? driver.minor : kSome;
  return kSuccess;
}

// Buffers lie on the GPU, and what the driver allocated on the host is pinned.
Status pointer_attributes(unsigned count, int* which, void** values, DevicePointer at) {
  const auto is_in = [at](const auto& ranges) {
    return std::any_of(ranges.begin(), ranges.end(), [at](const auto& range) {
      return at >= range.first && at < range.first + range.second;
    });
  };
  const unsigned type = is_in(driver.buffers) ? kDeviceMemory : is_in(driver.pinned) ? kHostMemory : 0;
  for (unsigned i = 0; i < count; ++i) {
    if (which[i] == kDeviceOrdinal) *static_cast<int*>(values[i]) = driver.ordinal_of_buffers;
    if (which[i] == kMemoryType) *static_cast<unsigned*>(values[i]) = type;
  }
  return kSuccess;
}

void copy(const char* what, void* to, const void* from, size_t bytes) {
  driver.enqueue([=] {
    driver.calls.push_back(std::string(what) + " " + std::to_string(bytes));
    std::memcpy(to, from, bytes);
  });
}

}  // namespace

void FakeDriver::enqueue(std::function<void()> work) {
  if (captured)
    captured->push_back(std::move(work));
  else
    work();
}

Status FakeDriver::outside_of_capture() {
  if (!captured) return kSuccess;
  invalidated = true;
  return kCaptureUnsupported;
}

FakeDriver& fake_driver() {
  return driver;
}

DriverApi reset_fake_driver() {
  driver = FakeDriver();
  DriverApi api;
  api.init = [](unsigned) { return driver.init; };
  api.driver_version = [](int* version) { return *version = 13000, kSuccess; };
  api.error_name = [](Status status, const char** name) {
    *name = status == kOutOfDeviceMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
            : status == 700              ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : status == 100              ? "CUDA_ERROR_NO_DEVICE"
                                         : "CUDA_ERROR_INVALID_VALUE";
    return kSuccess;
  };
  api.error_text = [](Status, const char** text) { return *text = "what the driver says", kSuccess; };
  api.device_count = [](int* count) { return *count = driver.gpus, kSuccess; };
  api.device = [](DeviceNumber* device, int ordinal) { return *device = ordinal, kSuccess; };
  api.device_name = [](char* name, int, DeviceNumber) {
    return std::strcpy(name, "a GPU in software"), kSuccess;
  };
  api.device_attribute = attribute;
  api.device_memory = [](size_t* bytes, DeviceNumber) { return *bytes = driver.memory, kSuccess; };
  api.retain_context = [](ContextHandle* context, DeviceNumber) { return make(context); };
  api.set_context = [](ContextHandle) { return kSuccess; };
  api.allocate = allocate;
  api.free = release;
  api.allocate_host = allocate_host;
  api.free_host = [](void* memory) {
    driver.pinned.erase(reinterpret_cast<DevicePointer>(memory));
    return std::free(memory), kSuccess;
  };
  api.pointer_attributes = pointer_attributes;
  api.host_to_device = [](DevicePointer to, const void* from, size_t bytes, StreamHandle) {
    return copy("up", reinterpret_cast<void*>(to), from, bytes), kSuccess;
  };
  api.device_to_host = [](void* to, DevicePointer from, size_t bytes, StreamHandle) {
    return copy("down", to, reinterpret_cast<void*>(from), bytes), kSuccess;
  };
  api.device_to_device = [](DevicePointer to, DevicePointer from, size_t bytes, StreamHandle) {
    return copy("across", reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), kSuccess;
  };
  api.create_stream = [](StreamHandle* stream, unsigned) { return make(stream); };
  api.destroy_stream = [](StreamHandle) { return ++driver.destroyed_streams, kSuccess; };
  api.synchronize_stream = [](StreamHandle) {
    const Status status = driver.outside_of_capture();
    return status == kSuccess ? driver.synchronize_fails : status;
  };
  api.begin_capture = begin_capture;
  api.end_capture = end_capture;
  api.make_ready = make_ready;
  api.launch_graph = launch_graph;
  api.destroy_graph = destroy_graph<GraphHandle>;
  api.destroy_ready = destroy_graph<ReadyGraphHandle>;
  api.wait_event = [](StreamHandle, EventHandle, unsigned) {
    return driver.calls.emplace_back("wait"), kSuccess;
  };
  api.create_event = [](EventHandle* event, unsigned) { return make(event); };
  api.destroy_event = [](EventHandle) { return kSuccess; };
  api.record_event = [](EventHandle, StreamHandle) { return kSuccess; };
  api.query_event = [](EventHandle) { return kSuccess; };
  api.synchronize_event = [](EventHandle) {
    const Status status = driver.outside_of_capture();
    return status == kSuccess ? driver.synchronize_fails : status;
  };
  api.load_module = [](ModuleHandle* module, const void*) { return ++driver.loaded, make(module); };
  api.unload_module = [](ModuleHandle) { return kSuccess; };
  api.find_function = [](FunctionHandle* function, ModuleHandle, const char*) { return make(function); };
  api.launch = launch;
  return api;
}

}  // namespace vernier::cuda
