#include "vernier/backends/cuda/device/cuda_device.h"

#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/backends/cuda/device/cuda_stream.h"

namespace vernier::cuda {

CudaBuffer::CudaBuffer(CudaDevice& device, size_t bytes) : device_(device), bytes_(bytes) {
  const Context& context = device.context();
  context.use();
  DevicePointer address = 0;
  const size_t taken = std::max<size_t>(bytes, 1);  // an address of its own for nothing, too
  context.check(context.api().allocate(&address, taken), "asking for memory of the GPU", bytes);
  address_ = reinterpret_cast<std::byte*>(address);
  device_.add(address_, taken);
}

CudaBuffer::~CudaBuffer() {
  device_.remove(address_);
  const Context& context = device_.context();
  if (!context.is_lost()) context.api().free(reinterpret_cast<DevicePointer>(address_));
}

std::unique_ptr<Buffer> CudaDevice::allocate(size_t bytes) {
  return std::make_unique<CudaBuffer>(*this, bytes);
}

std::unique_ptr<Stream> CudaDevice::stream() {
  return std::make_unique<CudaStream>(*this);
}

std::unique_ptr<Stream> CudaDevice::adopt(void* queue) {
  return std::make_unique<CudaStream>(*this, static_cast<StreamHandle>(queue));
}

std::shared_ptr<const Buffer> CudaDevice::resident(const std::shared_ptr<const PackedForm>& content) {
  const std::lock_guard lock(residents_mutex_);
  std::erase_if(residents_, [](const auto& each) { return each.second.expired(); });
  if (const auto found = residents_.find(content.get()); found != residents_.end()) {
    if (auto there = found->second.lock()) return there;
  }
  // The content stays as long as its copy, so that no other is taken for it.
  struct Resident {
    std::shared_ptr<const PackedForm> content;
    std::unique_ptr<Buffer> buffer;
  };
  const auto made = std::make_shared<Resident>(Resident{content, allocate(content->size())});
  copy(content->content().data(), made->buffer->address(), content->size());
  std::shared_ptr<const Buffer> buffer(made, made->buffer.get());
  residents_[content.get()] = buffer;
  return buffer;
}

bool CudaDevice::owns(const void* address) const {
  const std::shared_lock lock(mutex_);
  const auto* at = static_cast<const std::byte*>(address);
  auto next = buffers_.upper_bound(at);
  if (next == buffers_.begin()) return false;
  --next;
  return at < next->first + next->second;
}

// The driver is asked about memory that is not ours.
Context::Place CudaDevice::place_of(const void* address) const {
  return owns(address) ? Context::Place::kGpu : context_.place_of(address);
}

bool CudaDevice::reaches(const void* address, size_t bytes) const {
  context_.use();
  const auto* const last = static_cast<const std::byte*>(address) + bytes - 1;
  return place_of(address) == Context::Place::kGpu && place_of(last) == Context::Place::kGpu;
}

void CudaDevice::add(const std::byte* address, size_t bytes) {
  const std::unique_lock lock(mutex_);
  buffers_[address] = bytes;
}

void CudaDevice::remove(const std::byte* address) {
  const std::unique_lock lock(mutex_);
  buffers_.erase(address);
}

void CudaDevice::add(CudaStream& stream) {
  const std::lock_guard lock(streams_mutex_);
  streams_.insert(&stream);
}

void CudaDevice::remove(CudaStream& stream) {
  const std::lock_guard lock(streams_mutex_);
  streams_.erase(&stream);
}

void CudaDevice::deliver(const void* address, size_t bytes) {
  const std::lock_guard lock(streams_mutex_);
  for (CudaStream* stream : streams_) stream->deliver(address, bytes);
}

}  // namespace vernier::cuda
