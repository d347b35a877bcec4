// An accelerator in software. It exists so that transfers, waits, lifetimes and errors of devices are proven
// where there is none.
#pragma once

#include <atomic>
#include <set>

#include "vernier/backends/shared/faults/device_fault.h"
#include "vernier/backends/simulated/device_memory.h"
#include "vernier/backends/simulated/executor.h"
#include "vernier/backends/simulated/happens_before.h"
#include "vernier/exec/device/device.h"
#include "vernier/exec/kernel.h"

namespace vernier::simulated {

using vernier::DeviceFault;

// The tactic of contractions that computes them twice, and so takes twice as long.
inline constexpr const char* kTwice = "simulated:twice";

struct SimulatedOptions {
  uint64_t seed = 0;                 // of the order in which streams work
  int streams = 2;                   // Device::stream_count
  bool threads = false;              // streams are threads; else nothing is done before the host waits
  std::set<std::string> lacks = {};  // operators without kernels: "Gather", "com.microsoft::Gelu"
  bool captures = true;              // Device::captures
  bool tactics = false;              // whether contractions have kTwice beside its own choice
  std::optional<DeviceFault> fault = {};
  size_t memory_limit = 0;  // bytes; 0: none
};

// Holds what a kernel or a copy does, and all the memory that it uses.
struct Command {
  std::string name;
  std::vector<Access> accesses;
  std::function<void()> work;
};
using Commands = std::vector<Command>;

// Memory of the device faults where the host touches it. Streams do nothing in an order that waits do not
// force (executor.h), and races are found whatever the order is (happens_before.h): each is an internal error
// that the next wait_on_host of any stream throws, once. Outlives its streams and buffers. Thread-safe.
class SimulatedDevice : public Device {
 public:
  explicit SimulatedDevice(SimulatedOptions options = {});
  ~SimulatedDevice() override;

  const std::string& name() const override { return name_; }
  bool host_visible() const override { return false; }
  std::unique_ptr<Buffer> allocate(size_t bytes) override;
  std::unique_ptr<Stream> stream() override;
  bool reaches(const void* address, size_t bytes) const override { return memory_.holds(address, bytes); }
  int stream_count() const override { return options_.streams; }
  bool captures() const override { return options_.captures; }
  // Its commands are enqueued again one by one. What reads or writes memory of the host is no part of them,
  // nor are waits, records and releases: each is an internal error, as no real accelerator takes it.
  std::unique_ptr<Replay> capture(Stream& stream, const std::function<void()>& work,
                                  std::string& reason) override;
  const SimulatedOptions& options() const { return options_; }

  void host_reads(const void* address, size_t bytes) override;
  void host_writes(const void* address, size_t bytes) override;
  // All races so far, each a sentence that names both commands, their streams and the bytes.
  std::vector<std::string> findings() const { return order_.findings(); }

  // Bytes that were copied so far between its memory and that of the host.
  size_t copied_bytes() const { return copied_bytes_; }

  // For streams, buffers and kernels of the device.
  DeviceMemory& memory() { return memory_; }
  HappensBefore& order() { return order_; }
  Executor& executor() { return *executor_; }
  void add(const Stream& stream, std::shared_ptr<CommandQueue> queue);
  void remove(const Stream& stream);
  // Null where the device has no such stream (any more).
  std::shared_ptr<CommandQueue> queue_of(const Stream* stream) const;
  DeviceFaultCounter& faults() { return faults_; }
  void count_copy(size_t bytes) { copied_bytes_ += bytes; }
  void settle(const std::shared_ptr<const Failure>& failure);
  // Told of each run of a kernel, which may be the one that loses the device.
  void count_kernel(const std::string& kernel, const std::string& node);
  // Throws where the device is lost, and says which kernel lost it.
  void require_alive() const;
  // The machine code of a program: what a payload brought, or `compiled`, which is counted once a program.
  std::string code_of(const std::string& program, const std::string& compiled);
  void take(const Payloads& codes);
  size_t compiled() const;

 private:
  void make_stale(Commands& commands);

  const std::string name_ = "simulated";
  const SimulatedOptions options_;
  DeviceMemory memory_;
  HappensBefore order_;
  std::unique_ptr<Executor> executor_;
  DeviceFaultCounter faults_{options_.fault};
  std::atomic<size_t> copied_bytes_{0};
  mutable std::mutex mutex_;
  std::map<std::vector<std::string>, Commands> captured_;  // by their names, where a replay is to be stale
  std::map<const Stream*, std::shared_ptr<CommandQueue>> queues_;
  std::string why_lost_;  // "" while it works
  mutable std::mutex codes_mutex_;
  Payloads codes_;
  size_t compiled_ = 0;
};

// Memory of the simulated device.
class SimulatedBuffer : public Buffer {
 public:
  SimulatedBuffer(SimulatedDevice& device, size_t bytes)
      : device_(device), address_(device.memory().allocate(bytes)), bytes_(bytes) {}
  // Unless a stream does it in its turn, the host frees it, and races with work that still uses it.
  ~SimulatedBuffer() override {
    if (!released_) device_.order().host_uses("freeing", {address_, bytes_, true});
    device_.memory().free(address_);
  }

  std::byte* address() const override { return address_; }
  size_t bytes() const override { return bytes_; }
  void released_in_order() { released_ = true; }

 private:
  SimulatedDevice& device_;
  std::byte* address_;
  size_t bytes_;
  bool released_ = false;
};

// A queue of the simulated device.
class SimulatedStream : public Stream {
 public:
  explicit SimulatedStream(SimulatedDevice& device);
  // Does what is enqueued.
  ~SimulatedStream() override;

  // A wait for an event that was not recorded before could never end. It is an error of the stream, so what
  // is enqueued always comes to an end.
  void wait(Event event) override;
  Event record() override;
  // Memory of the host is read and written when the copy runs.
  void copy(const void* from, void* to, size_t bytes) override;
  void release(std::unique_ptr<Buffer> buffer) override;
  // Nothing runs because somebody asks. Where streams are no threads, only waits make them go on.
  bool reached(Event event) const override;
  // Also throws what went wrong in other streams that work before the event waited for, and races.
  void wait_on_host(Event event) override;

  // Work of a kernel, which may throw; `accesses` are all the memory that it uses.
  void enqueue(const std::string& name, std::span<const Access> accesses, std::function<void()> work);
  // The same for what is captured. See SimulatedDevice::capture.
  void enqueue(const Command& command);
  Commands capture(const std::function<void()>& work);
  SimulatedDevice& device() const { return device_; }
  size_t number() const { return number_; }

 private:
  void require_no_capture(const char* what) const;

  SimulatedDevice& device_;
  const size_t number_;
  std::shared_ptr<CommandQueue> queue_;
  Commands* captured_ = nullptr;  // while it captures
};

}  // namespace vernier::simulated
