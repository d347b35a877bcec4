#include "vernier/backends/simulated/simulated_device.h"

#include "vernier/backends/simulated/simulated_buffer.h"
#include "vernier/backends/simulated/simulated_stream.h"
#include "vernier/base/error.h"

namespace vernier::simulated {

SimulatedDevice::SimulatedDevice(SimulatedOptions options)
    : options_(std::move(options)),
      memory_(options_.memory_limit),
      executor_(options_.threads ? make_threads_executor(options_.seed) : make_lazy_executor(options_.seed)) {
}

SimulatedDevice::~SimulatedDevice() = default;

std::unique_ptr<Buffer> SimulatedDevice::allocate(size_t bytes) {
  return std::make_unique<SimulatedBuffer>(*this, bytes);
}

std::unique_ptr<Stream> SimulatedDevice::stream() {
  return std::make_unique<SimulatedStream>(*this);
}

void SimulatedDevice::host_reads(const void* address, size_t bytes) {
  order_.host_uses("a read", {address, bytes, false});
}

void SimulatedDevice::host_writes(const void* address, size_t bytes) {
  order_.host_uses("a write", {address, bytes, true});
}

void SimulatedDevice::add(const Stream& stream, std::shared_ptr<CommandQueue> queue) {
  const std::lock_guard lock(mutex_);
  queues_[&stream] = std::move(queue);
}

void SimulatedDevice::remove(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  queues_.erase(&stream);
}

std::shared_ptr<CommandQueue> SimulatedDevice::queue_of(const Stream* stream) const {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(stream);
  return found == queues_.end() ? nullptr : found->second;
}

bool SimulatedDevice::has_fault(DeviceFault::Kind kind) {
  return options_.fault && options_.fault->kind == kind && seen_++ == options_.fault->index;
}

void SimulatedDevice::require_fault() const {
  if (!options_.fault || seen_ > options_.fault->index) return;
  throw usage_error(
      "the fault of the simulated accelerator is in its use number {} of that kind, and there were {}",
      options_.fault->index, seen_.load())
      .advise("count from 0");
}

void SimulatedDevice::settle(const std::shared_ptr<const Failure>& failure) {
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, queue] : queues_) queue->settle(failure);
}

}  // namespace vernier::simulated
