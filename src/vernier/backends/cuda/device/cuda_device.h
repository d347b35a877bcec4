// A GPU as a device of engines.
#pragma once

#include <map>
#include <set>
#include <shared_mutex>

#include "vernier/backends/cuda/device/fault_reports.h"
#include "vernier/backends/shared/faults/device_fault.h"
#include "vernier/exec/device/device.h"
#include "vernier/exec/packed_constants.h"

namespace vernier::cuda {

class CudaStream;

using KernelNames = std::vector<std::string>;
// A captured graph that is ready to be launched.
using ReadyGraph = std::shared_ptr<std::remove_pointer_t<ReadyGraphHandle>>;

// Outlives its streams and buffers. Thread-safe.
class CudaDevice : public Device {
 public:
  // `context` outlives this.
  explicit CudaDevice(const Context& context, bool captures = true, std::optional<DeviceFault> fault = {})
      : context_(context), captures_(captures), injected_faults_(fault) {}

  const std::string& name() const override { return name_; }
  bool host_visible() const override { return false; }
  std::unique_ptr<Buffer> allocate(size_t bytes) override;
  // Pinned.
  std::shared_ptr<std::byte> host_memory(size_t bytes) override {
    context_.use();
    return context_.pinned(bytes);
  }
  std::unique_ptr<Stream> stream() override;
  std::unique_ptr<Stream> adopt(void* queue) override;
  bool reaches(const void* address, size_t bytes) const override;
  // One: kernels fill the device one after the other.
  int stream_count() const override { return 1; }

  size_t cache_bytes() const override { return static_cast<size_t>(context_.facts().cache_bytes); }
  bool captures() const override { return captures_; }
  // As a CUDA graph. Null where the driver, or a library, does not let the work be captured.
  std::unique_ptr<Replay> capture(Stream& stream, const std::function<void()>& work,
                                  std::string& reason) override;
  const Context& context() const { return context_; }
  FaultReports& faults() { return faults_; }
  // Counts the faults that are injected on purpose.
  DeviceFaultCounter& injected_faults() { return injected_faults_; }
  // The content on the device: once for all who ask for it, as long as one of them keeps it. Throws
  // OutOfMemory, and what Stream::wait_on_host throws.
  std::shared_ptr<const Buffer> resident(const std::shared_ptr<const PackedForm>& content);

  // For streams and buffers of the device.
  Context::Place place_of(const void* address) const;
  void add(const std::byte* address, size_t bytes);
  void remove(const std::byte* address);
  void add(CudaStream& stream);
  void remove(CudaStream& stream);
  // Writes what streams have read back for this memory of the host, but not yet put there.
  void deliver(const void* address, size_t bytes);
  // The graph, or the one that these kernels were captured as before, where that is to go wrong.
  ReadyGraph stale_or(ReadyGraph graph, const KernelNames& kernels);

 private:
  bool owns(const void* address) const;

  const Context& context_;
  const bool captures_;
  const std::string name_ = "cuda";
  FaultReports faults_;
  DeviceFaultCounter injected_faults_;
  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, size_t> buffers_;
  std::mutex residents_mutex_;
  std::map<const PackedForm*, std::weak_ptr<const Buffer>> residents_;
  std::mutex captured_mutex_;
  std::map<KernelNames, ReadyGraph> captured_;  // only where replays are to go wrong
  std::mutex streams_mutex_;
  std::set<CudaStream*> streams_;
};

}  // namespace vernier::cuda
