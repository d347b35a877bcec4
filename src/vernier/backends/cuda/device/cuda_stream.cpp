#include "vernier/backends/cuda/device/cuda_stream.h"

#include <cstring>

#include "vernier/base/error.h"
#include "vernier/base/threads.h"

namespace vernier::cuda {

namespace {

// By several threads where there is much to copy: one alone takes a fraction of what memory yields.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr int64_t kPart = int64_t{256} << 10;  // bytes: less is copied before another thread wakes
  parallel_for(static_cast<int64_t>(bytes), kPart, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace

CudaStream::CudaStream(CudaDevice& device)
    : device_(device), context_(device.context()), adopted_(false), staging_(context_), faults_(context_) {
  context_.use();
  context_.check(context_.api().create_stream(&handle_, kNonBlockingStream), "making a stream");
  make_events();
}

CudaStream::CudaStream(CudaDevice& device, StreamHandle queue)
    : device_(device),
      context_(device.context()),
      adopted_(true),
      handle_(queue),
      staging_(context_),
      faults_(context_) {
  context_.use();
  make_events();
}

void CudaStream::make_events() {
  events_.resize(kEvents);
  for (EventHandle& event : events_)
    context_.check(context_.api().create_event(&event, kEventWithoutTiming), "making an event");
  device_.add(*this);
}

CudaStream::~CudaStream() {
  device_.remove(*this);
  if (!adopted_) context_.api().synchronize_stream(handle_);
  kept_.clear();
  released_.clear();
  for (const EventHandle event : events_) context_.api().destroy_event(event);
  if (!adopted_) context_.api().destroy_stream(handle_);
}

void CudaStream::wait(Event event) {
  if (event.stream == this || device_.injected_faults().strikes(DeviceFault::Kind::kDropWait)) return;
  const auto* other = dynamic_cast<const CudaStream*>(event.stream);
  attempt([&] {
    if (other == nullptr || event.value == 0 || event.value > other->recorded_)
      throw internal_error("a stream waits for event {}, which was not recorded before", event.value);
    context_.check(context_.api().wait_event(handle_, other->event(event.value), 0),
                   "waiting for another stream");
  });
}

Event CudaStream::record() {
  const uint64_t value = recorded_ + 1;
  attempt([&] { context_.check(context_.api().record_event(event(value), handle_), "recording an event"); });
  recorded_ = value;
  return {this, value};
}

void CudaStream::copy(const void* from, void* to, size_t bytes) {
  if (bytes == 0 || device_.injected_faults().strikes(DeviceFault::Kind::kDropCopy)) return;
  attempt([&] {
    using Place = Context::Place;
    const Place left = device_.place_of(from), right = device_.place_of(to);
    const auto source = reinterpret_cast<DevicePointer>(from), target = reinterpret_cast<DevicePointer>(to);
    const DriverApi& api = context_.api();
    if (left != Place::kGpu && right == Place::kGpu) device_.deliver(from, bytes);
    if (left == Place::kGpu && right == Place::kGpu)
      context_.check(api.device_to_device(target, source, bytes, handle_), "a copy on the GPU");
    else if (left == Place::kPinned && right == Place::kGpu)
      context_.check(api.host_to_device(target, from, bytes, handle_), "a copy to the GPU");
    else if (right == Place::kGpu)
      copy_to_device(static_cast<const std::byte*>(from), target, bytes);
    else if (left == Place::kGpu && right == Place::kPinned)
      context_.check(api.device_to_host(to, source, bytes, handle_), "a copy from the GPU");
    else if (left == Place::kGpu)
      copy_to_host(source, static_cast<std::byte*>(to), bytes);
    else
      throw internal_error("a copy from memory of the host to memory of the host");
  });
}

Staging::Block& CudaStream::take(size_t bytes) {
  if (Staging::Block* block = staging_.take(bytes)) return *block;
  const uint64_t first = [&] {
    const std::lock_guard lock(read_backs_mutex_);
    return read_backs_.front().value;
  }();
  const Event until = first <= recorded_ ? Event{this, first} : record();
  context_.check(context_.api().synchronize_event(event(until.value)), "waiting for what is read back");
  finish_before(until.value);
  Staging::Block* block = staging_.take(bytes);
  if (block == nullptr) throw internal_error("no pinned memory is free after all copies have ended");
  return *block;
}

void CudaStream::copy_to_device(const std::byte* from, DevicePointer to, size_t bytes) {
  while (bytes > 0) {
    Staging::Block& block = take(bytes);
    const size_t part = std::min(bytes, block.bytes);
    copy_bytes(block.memory.get(), from, part);
    context_.check(context_.api().host_to_device(to, block.memory.get(), part, handle_), "a copy to the GPU");
    context_.check(context_.api().record_event(block.used, handle_), "recording an event");
    from += part;
    to += part;
    bytes -= part;
  }
}

void CudaStream::copy_to_host(DevicePointer from, std::byte* to, size_t bytes) {
  while (bytes > 0) {
    Staging::Block& block = take(bytes);
    const size_t part = std::min(bytes, block.bytes);
    context_.check(context_.api().device_to_host(block.memory.get(), from, part, handle_),
                   "a copy from the GPU");
    context_.check(context_.api().record_event(block.used, handle_), "recording an event");
    block.lent = true;
    const std::lock_guard lock(read_backs_mutex_);
    read_backs_.push_back({recorded_ + 1, &block, to, part});
    from += part;
    to += part;
    bytes -= part;
  }
}

void CudaStream::release(std::unique_ptr<Buffer> buffer) {
  if (buffer) released_.push_back({recorded_ + 1, std::move(buffer)});
}

// The event of this value is reached.
void CudaStream::finish_before(uint64_t value) {
  {
    const std::lock_guard lock(read_backs_mutex_);
    while (!read_backs_.empty() && read_backs_.front().value <= value) {
      const ReadBack& done = read_backs_.front();
      copy_bytes(static_cast<std::byte*>(done.to), done.block->memory.get(), done.bytes);
      done.block->lent = false;
      read_backs_.pop_front();
    }
  }
  while (!released_.empty() && released_.front().value <= value) released_.pop_front();
}

// As if the host looked at its memory before anything of what is read back has come there.
void CudaStream::lose_read_backs() {
  const std::lock_guard lock(read_backs_mutex_);
  for (const ReadBack& each : read_backs_) each.block->lent = false;
  read_backs_.clear();
}

void CudaStream::deliver(const void* address, size_t bytes) {
  const std::lock_guard lock(read_backs_mutex_);
  const auto* begin = static_cast<const std::byte*>(address);
  for (const ReadBack& each : read_backs_) {
    const auto* to = static_cast<const std::byte*>(each.to);
    if (to >= begin + bytes || begin >= to + each.bytes) continue;
    context_.check(context_.api().synchronize_event(each.block->used), "waiting for what is read back");
    copy_bytes(static_cast<std::byte*>(each.to), each.block->memory.get(), each.bytes);
  }
}

bool CudaStream::reached(Event event) const {
  if (event.stream != this || event.value == 0 || event.value > recorded_) return false;
  return context_.api().query_event(this->event(event.value)) == kSuccess;
}

void CudaStream::wait_on_host(Event event) {
  if (event.stream != this || event.value == 0 || event.value > recorded_)
    throw internal_error("the host waits for event {}, which the stream has not recorded", event.value);
  if (!failure_ && device_.injected_faults().strikes(DeviceFault::Kind::kDropWait)) return lose_read_backs();
  if (!failure_)
    attempt([&] {
      context_.check(context_.api().synchronize_event(this->event(event.value)), "work on the GPU");
    });
  if (failure_) {
    // Nothing may still use the caller's memory, or what is to be freed, when the failure is told.
    context_.api().synchronize_stream(handle_);
    finish_before(recorded_ + 1);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  finish_before(event.value);
  device_.faults().tell(faults_.take());
}

void CudaStream::launch(FunctionHandle function, const Grid& grid, std::span<std::byte> parameters,
                        const std::string& what) {
  if (captured_ != nullptr) captured_->push_back(what);
  attempt([&] {
    void* arguments[] = {parameters.data()};
    context_.check(context_.api().launch(function, grid.x, grid.y, grid.z, grid.threads, 1, 1, grid.shared,
                                         handle_, arguments, nullptr),
                   what);
  });
}

void CudaStream::launch(ReadyGraphHandle graph) {
  attempt([&] { context_.check(context_.api().launch_graph(graph, handle_), "a captured part of the run"); });
}

void CudaStream::enqueue(const std::function<void(StreamHandle)>& work) {
  attempt([&] { work(handle_); });
}

}  // namespace vernier::cuda
