#include "vernier/exec/device/host_device.h"

#include <cstring>

#include "vernier/exec/scratch.h"

namespace vernier {

namespace {

class HostBuffer : public Buffer {
 public:
  explicit HostBuffer(size_t bytes) : address_(memory_.at_least(bytes)), bytes_(bytes) {}
  std::byte* address() const override { return address_; }
  size_t bytes() const override { return bytes_; }

 private:
  Scratch memory_;
  std::byte* address_;
  size_t bytes_;
};

class HostStream : public Stream {
 public:
  void wait(Event) override {}
  Event record() override { return {this, ++recorded_}; }
  void copy(const void* from, void* to, size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void release(std::unique_ptr<Buffer>) override {}
  bool reached(Event) const override { return true; }
  void wait_on_host(Event) override {}

 private:
  uint64_t recorded_ = 0;
};

class Host : public Device {
 public:
  const std::string& name() const override { return name_; }
  bool host_visible() const override { return true; }
  std::unique_ptr<Buffer> allocate(size_t bytes) override { return std::make_unique<HostBuffer>(bytes); }
  std::unique_ptr<Stream> stream() override { return std::make_unique<HostStream>(); }
  int stream_count() const override { return 1; }

 private:
  std::string name_ = "cpu";
};

}  // namespace

Device& host_device() {
  static Host host;
  return host;
}

}  // namespace vernier
