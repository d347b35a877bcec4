#include "vernier/backends/cuda/device/context.h"

#include <algorithm>
#include <array>

#include "vernier/base/error.h"
#include "vernier/base/memory.h"

namespace vernier::cuda {

namespace {

std::string text_of(const DriverApi& api, Status status) {
  const char *name = nullptr, *text = nullptr;
  api.error_name(status, &name);
  api.error_text(status, &text);
  return fmt::format("{}: {}", name == nullptr ? std::to_string(status) : name,
                     text == nullptr ? "unknown" : text);
}

// A context does not survive these: faults of kernels (700 to 720), errors of memory and of the hardware.
bool is_sticky(Status status) {
  constexpr Status kUncorrectableMemory = 214, kNvlink = 220, kFirstFault = 700, kLastFault = 720,
                   kUnknown = 999;
  constexpr Status kPeerEnabled = 704, kPeerDisabled = 705, kContextActive = 708, kHostMemoryRegistered = 712,
                   kHostMemoryNotRegistered = 713;
  switch (status) {
    case kPeerEnabled:
    case kPeerDisabled:
    case kContextActive:
    case kHostMemoryRegistered:
    case kHostMemoryNotRegistered: return false;
    case kUncorrectableMemory:
    case kNvlink:
    case kUnknown: return true;
    default: return status >= kFirstFault && status <= kLastFault;
  }
}

}  // namespace

std::string DeviceFacts::architecture() const {
  constexpr int kHopper = 9;
  return fmt::format("sm_{}{}{}", major, minor, major >= kHopper ? "a" : "");
}

void check_driver(const DriverApi& api, Status status, const std::string& what) {
  if (status != kSuccess) throw internal_error("CUDA: {}: {}", what, text_of(api, status));
}

Context::Context(const DriverApi& api, int ordinal) : api_(api), ordinal_(ordinal) {
  require_device(ordinal);
  DeviceNumber device = 0;
  check_driver(api, api.device(&device, ordinal), "asking for the GPU");
  constexpr int kLongestName = 256;
  char name[kLongestName] = {};
  check_driver(api, api.device_name(name, kLongestName, device), "asking for the name of the GPU");
  facts_.name = name;
  const std::pair<int, int*> attributes[] = {{kMajorVersion, &facts_.major},
                                             {kMinorVersion, &facts_.minor},
                                             {kMultiprocessors, &facts_.multiprocessors},
                                             {kCacheBytes, &facts_.cache_bytes}};
  for (const auto& [attribute, value] : attributes)
    check_driver(api, api.device_attribute(value, attribute, device), "asking what the GPU is");
  check_driver(api, api.device_memory(&facts_.memory, device), "asking for the memory of the GPU");
  constexpr int kLeastMajor = 8;
  if (facts_.major < kLeastMajor)
    throw unsupported("--cuda needs a GPU of compute capability 8.0 or newer; {} has {}.{}", facts_.name,
                      facts_.major, facts_.minor)
        .advise("use --cpu");
  check_driver(api, api.retain_context(&handle_, device), "making the context of the GPU");
}

void Context::require_device(int ordinal) {
  const Status begun = api_.init(0);
  int count = 0;
  const bool counted = begun == kSuccess && api_.device_count(&count) == kSuccess;
  if (counted && ordinal < count) return;
  const std::string why = begun != kSuccess ? text_of(api_, begun)
                          : count == 0      ? "there is none"
                                            : fmt::format("there are {}, counted from 0", count);
  throw unsupported("--cuda: no GPU number {}: {}", ordinal, why).advise("--cpu needs no GPU");
}

Context::Place Context::place_of(const void* address) const {
  const auto at = reinterpret_cast<DevicePointer>(address);
  unsigned type = 0;
  int ordinal = -1;
  std::array<int, 2> asked = {kMemoryType, kDeviceOrdinal};
  std::array<void*, 2> told = {&type, &ordinal};
  // Asked for one attribute alone, the driver calls addresses invalid that it does not know, as those of
  // malloc, and tools that watch its calls report that; asked for several it says 0.
  if (api_.pointer_attributes(asked.size(), asked.data(), told.data(), at) != kSuccess)
    return Place::kElsewhere;
  if (type == kHostMemory) return Place::kPinned;
  return type == kDeviceMemory && ordinal == ordinal_ ? Place::kGpu : Place::kElsewhere;
}

std::shared_ptr<std::byte> Context::pinned(size_t bytes) const {
  void* memory = nullptr;
  check(api_.allocate_host(&memory, std::max<size_t>(bytes, 1), kPortableMemory), "asking for pinned memory",
        bytes);
  return {static_cast<std::byte*>(memory), [this](std::byte* freed) { api_.free_host(freed); }};
}

void Context::use() const {
  if (lost_) {
    const std::lock_guard lock(mutex_);
    throw internal_error("{} is lost for this process: {}", facts_.name, why_lost_)
        .advise("start the program again; --inject-fault and --layers help to find the kernel");
  }
  check(api_.set_context(handle_), "entering the context of the GPU");
}

void Context::check(Status status, const std::string& what, size_t bytes) const {
  if (status == kSuccess) return;
  if (status == kOutOfDeviceMemory) throw OutOfMemory(bytes);
  const std::string text = fmt::format("{}: {}", what, text_of(api_, status));
  if (is_sticky(status)) {
    const std::lock_guard lock(mutex_);
    if (!lost_) why_lost_ = text;
    lost_ = true;
  }
  throw internal_error("CUDA: {}", text);
}

}  // namespace vernier::cuda
