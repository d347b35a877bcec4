// A queue of the simulated device.
#pragma once

#include "vernier/backends/simulated/simulated_device.h"

namespace vernier::simulated {

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
  SimulatedDevice& device() const { return device_; }
  size_t number() const { return number_; }

 private:
  SimulatedDevice& device_;
  const size_t number_;
  std::shared_ptr<CommandQueue> queue_;
};

}  // namespace vernier::simulated
