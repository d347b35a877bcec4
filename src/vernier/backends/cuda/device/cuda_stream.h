// A queue of a GPU.
#pragma once

#include <deque>
#include <functional>
#include <span>

#include "vernier/backends/cuda/device/cuda_device.h"
#include "vernier/backends/cuda/device/staging.h"

namespace vernier::cuda {

// How many blocks a kernel is run by, and of how many threads each is.
struct Grid {
  unsigned x = 1, y = 1, z = 1, threads = 256;
  unsigned shared = 0;  // bytes of shared memory beside what the program declares

  bool operator==(const Grid&) const = default;
};

// Copies from and to memory of the host go through pinned memory, unless that is pinned itself. What is read
// back lies in the caller's memory when the host has waited for it, or when a stream of the device copies
// from there. The host waits inside copy() only where more is under way than pinned memory holds.
class CudaStream : public Stream {
 public:
  explicit CudaStream(CudaDevice& device);
  // A queue of somebody else's, who outlives this: only waits and events are enqueued there.
  CudaStream(CudaDevice& device, StreamHandle queue);
  // Does what is enqueued.
  ~CudaStream() override;

  void wait(Event event) override;
  Event record() override;
  void copy(const void* from, void* to, size_t bytes) override;
  void release(std::unique_ptr<Buffer> buffer) override;
  bool reached(Event event) const override;
  // Throws the first that went wrong in the work of the stream since the last time, also behind the event.
  void wait_on_host(Event event) override;

  // Runs a program; `parameters` are those of its one parameter. `what` is for messages.
  void launch(FunctionHandle function, const Grid& grid, std::span<std::byte> parameters,
              const std::string& what);
  // For libraries that enqueue on the stream themselves; what `work` throws is kept as all that goes wrong.
  void enqueue(const std::function<void(StreamHandle)>& work);
  // See CudaDevice.
  std::unique_ptr<Replay> capture(const std::function<void()>& work, std::string& reason);
  void launch(ReadyGraphHandle graph);
  CudaDevice& device() const { return device_; }
  // Holds what a library keeps from when it first works on this stream; it ends before the stream does.
  std::shared_ptr<void>& kept_by(const void* library) { return kept_[library]; }
  // Where programs of this stream report data without a result.
  int* fault_word() const { return faults_.address(); }
  // See CudaDevice.
  void deliver(const void* address, size_t bytes);

 private:
  // Copied to pinned memory when the event is reached, but not yet to where it is to be.
  struct ReadBack {
    uint64_t value;
    Staging::Block* block;
    void* to;
    size_t bytes;
  };
  struct Released {
    uint64_t value;
    std::unique_ptr<Buffer> buffer;
  };
  // Events are used again after so many: who then asks for one of them waits for a later one, which is as
  // good.
  static constexpr uint64_t kEvents = 256;

  void make_events();
  EventHandle event(uint64_t value) const { return events_[value % kEvents]; }
  void copy_to_device(const std::byte* from, DevicePointer to, size_t bytes);
  void copy_to_host(DevicePointer from, std::byte* to, size_t bytes);
  Staging::Block& take(size_t bytes);
  void finish_before(uint64_t value);
  void lose_read_backs();
  // Keeps what a call of the driver, or something before it, throws, for wait_on_host.
  template <class Work>
  void attempt(const Work& work) {
    if (failure_) return;  // what is enqueued behind a failure is skipped until the host is told
    try {
      context_.use();
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  CudaDevice& device_;
  const Context& context_;
  const bool adopted_;
  StreamHandle handle_ = nullptr;
  std::vector<EventHandle> events_;
  std::atomic<uint64_t> recorded_ = 0;
  std::exception_ptr failure_;
  Staging staging_;
  FaultWord faults_;
  std::mutex read_backs_mutex_;  // another stream may deliver them
  std::deque<ReadBack> read_backs_;
  std::deque<Released> released_;
  std::map<const void*, std::shared_ptr<void>> kept_;
  KernelNames* captured_ = nullptr;  // while it captures
};

}  // namespace vernier::cuda
