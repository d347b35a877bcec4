#include "vernier/backends/simulated/simulated_device.h"

#include <cstring>

#include "vernier/base/error.h"

namespace vernier::simulated {

SimulatedDevice::SimulatedDevice(SimulatedOptions options)
    : options_(std::move(options)),
      memory_(options_.memory_limit),
      executor_(options_.threads ? make_threads_executor(options_.seed) : make_lazy_executor(options_.seed)) {
}

SimulatedDevice::~SimulatedDevice() = default;

std::unique_ptr<Buffer> SimulatedDevice::allocate(size_t bytes) {
  require_alive();
  return std::make_unique<SimulatedBuffer>(*this, bytes);
}

void SimulatedDevice::count_kernel(const std::string& kernel, const std::string& node) {
  if (!faults_.strikes(DeviceFault::Kind::kLoseDevice)) return;
  {
    const std::lock_guard lock(mutex_);
    why_lost_ = fmt::format("{} of node '{}' used an address that is none", kernel, node);
  }
  require_alive();
}

void SimulatedDevice::require_alive() const {
  const std::lock_guard lock(mutex_);
  if (!why_lost_.empty())
    throw internal_error("{} is lost: {}", name_, why_lost_).advise("build or load the engine again");
}

std::unique_ptr<Stream> SimulatedDevice::stream() {
  require_alive();
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

namespace {

class SimulatedReplay : public Replay {
 public:
  SimulatedReplay(SimulatedStream& stream, Commands commands)
      : stream_(stream), commands_(std::move(commands)) {}
  void enqueue() override {
    for (const Command& command : commands_) stream_.enqueue(command);
  }

 private:
  SimulatedStream& stream_;
  const Commands commands_;
};

}  // namespace

std::unique_ptr<Replay> SimulatedDevice::capture(Stream& stream, const std::function<void()>& work,
                                                 std::string& /*reason*/) {
  auto& own = dynamic_cast<SimulatedStream&>(stream);
  Commands commands = own.capture(work);
  make_stale(commands);
  return std::make_unique<SimulatedReplay>(own, std::move(commands));
}

void SimulatedDevice::make_stale(Commands& commands) {
  if (!faults_.expects(DeviceFault::Kind::kStaleReplay)) return;
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.name);
  const std::lock_guard lock(mutex_);
  const auto [before, is_first] = captured_.try_emplace(std::move(names), commands);
  if (is_first) return;
  if (faults_.strikes(DeviceFault::Kind::kStaleReplay)) commands = before->second;
  before->second = commands;
}

void SimulatedDevice::settle(const std::shared_ptr<const Failure>& failure) {
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, queue] : queues_) queue->settle(failure);
}

namespace {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

// The bytes of one side of a copy, and what keeps them.
std::shared_ptr<std::byte> side(const DeviceMemory& memory, const void* address, size_t bytes) {
  if (memory.owns(address)) return memory.at(address, bytes);
  return {std::shared_ptr<void>(), static_cast<std::byte*>(const_cast<void*>(address))};
}

}  // namespace

SimulatedStream::SimulatedStream(SimulatedDevice& device)
    : device_(device),
      number_(device.order().begin_stream()),
      queue_(std::make_shared<CommandQueue>(number_)) {
  device_.add(*this, queue_);
  device_.executor().begin(queue_);
}

SimulatedStream::~SimulatedStream() {
  device_.executor().end(queue_);
  device_.remove(*this);
  device_.order().end_stream(number_);
}

void SimulatedStream::enqueue(const std::string& name, std::span<const Access> accesses,
                              std::function<void()> work) {
  if (captured_ != nullptr)
    return captured_->push_back({name, {accesses.begin(), accesses.end()}, std::move(work)});
  device_.order().enqueue(number_, name, accesses);
  queue_->push([this, work = std::move(work)] {
    device_.require_alive();
    work();
  });
}

void SimulatedStream::enqueue(const Command& command) {
  enqueue(command.name, command.accesses, command.work);
}

Commands SimulatedStream::capture(const std::function<void()>& work) {
  Commands commands;
  captured_ = &commands;
  try {
    work();
  } catch (...) {
    captured_ = nullptr;
    throw;
  }
  captured_ = nullptr;
  return commands;
}

void SimulatedStream::require_no_capture(const char* what) const {
  if (captured_ != nullptr) throw internal_error("{} is no part of what a stream captures", what);
}

void SimulatedStream::wait(Event event) {
  require_no_capture("a wait");
  if (device_.faults().strikes(DeviceFault::Kind::kDropWait)) return;
  auto other = device_.queue_of(event.stream);
  if (other && other->has_recorded(event.value)) {
    device_.order().wait(number_, other->number(), event.value);
    return queue_->push_wait({std::move(other), event.value});
  }
  const std::string whose =
      other ? fmt::format("stream {}", other->number()) : "a stream that the device does not have";
  queue_->push([number = number_, value = event.value, whose] {
    throw internal_error("stream {} waits for event {} of {}, which was not recorded before", number, value,
                         whose);
  });
}

Event SimulatedStream::record() {
  require_no_capture("an event");
  const uint64_t value = queue_->push_record();
  device_.order().record(number_, value);
  return {this, value};
}

void SimulatedStream::copy(const void* from, void* to, size_t bytes) {
  if (!device_.memory().owns(from) || !device_.memory().owns(to)) {
    require_no_capture("memory of the host");
    device_.count_copy(bytes);
  }
  const bool dropped = device_.faults().strikes(DeviceFault::Kind::kDropCopy);
  const Access accesses[] = {{from, bytes, false}, {to, bytes, true}};
  enqueue("copy", accesses, [this, from, to, bytes, dropped] {
    if (bytes == 0) return;
    const auto source = side(device_.memory(), from, bytes);
    const auto target = side(device_.memory(), to, bytes);
    // An earlier run often left the right content there.
    if (dropped) return poison({target.get(), bytes});
    std::memcpy(target.get(), source.get(), bytes);
  });
}

void SimulatedStream::release(std::unique_ptr<Buffer> buffer) {
  require_no_capture("a release");
  if (!buffer) return;
  if (device_.faults().strikes(DeviceFault::Kind::kFreeEarly)) return;
  const Access access{buffer->address(), buffer->bytes(), true};
  device_.order().enqueue(number_, "release", {&access, 1});
  if (auto* own = dynamic_cast<SimulatedBuffer*>(buffer.get())) own->released_in_order();
  // Commands can be copied, a unique pointer cannot.
  queue_->push_release([held = std::shared_ptr<Buffer>(std::move(buffer))]() mutable { held.reset(); });
}

bool SimulatedStream::reached(Event event) const {
  const auto queue = device_.queue_of(event.stream);
  return queue && event.value >= 1 && queue->has_reached(event.value);
}

void SimulatedStream::wait_on_host(Event event) {
  require_no_capture("a wait of the host");
  if (event.stream != this || !queue_->has_recorded(event.value))
    throw internal_error("the host waits on stream {} for event {}, which it has not recorded", number_,
                         event.value);
  device_.executor().finish(queue_, event.value);
  device_.order().host_waits(number_, event.value);
  const auto failure = queue_->failure_before(event.value);
  if (failure) device_.settle(failure);
  const auto races = device_.order().take_findings();
  if (races.empty() && failure) std::rethrow_exception(failure->error);
  if (races.empty()) return;
  const std::string besides = failure ? "; and " + text_of(failure->error) : "";
  throw internal_error("{}{}", fmt::join(races, "; "), besides);
}

std::string SimulatedDevice::code_of(const std::string& program, const std::string& compiled) {
  const std::lock_guard lock(codes_mutex_);
  const auto [at, is_new] = codes_.try_emplace(program, compiled);
  compiled_ += is_new ? 1 : 0;
  return at->second;
}

void SimulatedDevice::take(const Payloads& codes) {
  const std::lock_guard lock(codes_mutex_);
  codes_.insert(codes.begin(), codes.end());
}

size_t SimulatedDevice::compiled() const {
  const std::lock_guard lock(codes_mutex_);
  return compiled_;
}

}  // namespace vernier::simulated
