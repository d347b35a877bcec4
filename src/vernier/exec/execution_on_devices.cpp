// The part of a run that concerns accelerators: copies, waits, constants that lie there, and what is seen of
// them.
#include <chrono>

#include "vernier/exec/device/device_constants.h"
#include "vernier/exec/execution.h"
#include "vernier/exec/laid_out.h"

namespace vernier {

// The streams, and what never changes on the devices that they work for.
void Execution::open_streams() {
  std::map<int, size_t> opened;  // by device
  for (const int device : plan_->streams)
    streams_.push_back(&session_.stream(*plan_->devices[static_cast<size_t>(device)], opened[device]++));
  for (size_t i = 0; i < plan_->slots.size(); ++i) {
    const Slot& slot = plan_->slots[i];
    if (!slot.on_device || slot.storage != static_cast<SlotId>(i)) continue;
    Stream& stream = session_.stream(*plan_->devices[static_cast<size_t>(slot.device)], 0);
    memory_[i] = slot.on_device->address(stream);
  }
}

Stream* Execution::stream_of(const Step& step) const {
  return step.stream == kCallersThread ? nullptr : streams_[static_cast<size_t>(step.stream)];
}

void Execution::enqueue_copy(const Step& step) {
  const size_t bytes = plan_->slots[static_cast<size_t>(step.inputs[0])].bytes();
  stream_of(step)->copy(address(step.inputs[0]), const_cast<void*>(address(step.outputs[0])), bytes);
}

void Execution::enqueue(const Step& step) {
  if (step.copies)
    enqueue_copy(step);
  else
    run_kernel(step);
}

bool Execution::only_enqueues(const RunOptions& options) const {
  return options.stream != nullptr && only_device_ != kHost && options.stream_device == only_device_;
}

void Execution::follow(const RunOptions& options) {
  const Event begin = options.stream->record();
  if (!only_enqueues(options)) return options.stream->wait_on_host(begin);
  for (Stream* stream : streams_) stream->wait(begin);
}

void Execution::end(const RunOptions& options) {
  if (!only_enqueues(options)) return wait_for(plan_->end_waits);
  for (const size_t step : plan_->end_waits) options.stream->wait(events_[step]);
  session_.leave(*options.stream);
}

void Execution::tell_devices(const Step& step) const {
  const auto tell = [&](SlotId id, void (Device::*what)(const void*, size_t)) {
    if (id == kNoSlot) return;
    const Slot& slot = plan_->slots[static_cast<size_t>(id)];
    if (slot.bytes() == 0) return;
    for (size_t device = 1; device < plan_->devices.size(); ++device)
      (plan_->devices[device]->*what)(address(id), slot.bytes());
  };
  for (const SlotId id : step.inputs) tell(id, &Device::host_reads);
  for (const auto& captured : step.captured) {
    for (const SlotId id : captured.second) tell(id, &Device::host_reads);
  }
  for (const SlotId id : step.outputs) {
    // A datum that the step makes itself lies in memory of its own.
    const bool is_made = id == kNoSlot || plan_->slots[static_cast<size_t>(id)].home == Slot::Home::kMade;
    if (!is_made) tell(id, &Device::host_writes);
  }
}

void Execution::wait_for(const std::vector<size_t>& steps) {
  for (const size_t step : steps) events_[step].stream->wait_on_host(events_[step]);
}

// After a run that was broken off nothing may still use the memory of the session, or the caller's.
void Execution::drain() noexcept {
  for (Stream* stream : streams_) {
    try {
      stream->wait_on_host(stream->record());
    } catch (const std::exception&) {  // the run has failed already
    }
  }
}

Tensor Execution::fetched(SlotId id, const Step& step) {
  const Slot& slot = plan_->slots[static_cast<size_t>(id)];
  Tensor lies(slot.operand.element, slot.operand.memory_dims());
  Stream& stream = *stream_of(step);
  stream.copy(address(id), lies.mutable_raw(), slot.bytes());
  stream.wait_on_host(stream.record());
  return laid_out(nodes_.kernels(), lies, slot.operand, Layout::kPlain);
}

void Execution::wait_for_inputs(const Step& step) {
  Stream* stream = stream_of(step);
  if (stream == nullptr) return wait_for(step.waits);
  for (const size_t other : step.waits) stream->wait(events_[other]);
}

void Execution::run_observed(size_t index, const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Step& step = plan_->steps[index];
  const Observer& observer = *options.observer;
  const ObservedStep seen(*this, step);
  if (observer.before) {
    wait_for_inputs(step);
    observer.before(seen);
  }
  const auto start = Clock::now();
  run_step(index, options);
  if (Stream* stream = stream_of(step)) stream->wait_on_host(stream->record());  // it is looked at
  if (observer.after) observer.after(seen, (Clock::now() - start).count());
}

}  // namespace vernier
