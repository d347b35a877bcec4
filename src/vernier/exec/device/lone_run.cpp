#include "vernier/exec/device/lone_run.h"

#include <chrono>

namespace vernier {

namespace {

constexpr int kRepeats = 10;  // in one reading of the clock

std::vector<std::unique_ptr<Buffer>> allocated(Device& device, std::span<const Tensor> tensors) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (const Tensor& tensor : tensors)
    buffers.push_back(tensor.is_defined() ? device.allocate(std::max<size_t>(tensor.byte_size(), 1))
                                          : nullptr);
  return buffers;
}

std::byte* address(const std::unique_ptr<Buffer>& buffer) {
  return buffer == nullptr ? nullptr : buffer->address();
}

}  // namespace

struct LoneRun::Timing {
  std::function<void()> work;
  std::unique_ptr<Replay> replay;
  double shortest = HUGE_VAL;
};

LoneRun::LoneRun(Device& device, std::span<const Tensor> inputs, std::span<const Tensor> outputs)
    : device_(device),
      stream_(device.stream()),
      inputs_(allocated(device, inputs)),
      outputs_(allocated(device, outputs)) {
  for (const auto& buffer : inputs_) from_.push_back(address(buffer));
  for (const auto& buffer : outputs_) to_.push_back(address(buffer));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_defined()) stream_->copy(inputs[i].raw(), inputs_[i]->address(), inputs[i].byte_size());
  }
  wait();
}

LoneRun::~LoneRun() = default;

void LoneRun::wait() {
  stream_->wait_on_host(stream_->record());
}

void LoneRun::enqueue(const Kernel& kernel) {
  kernel.run({from_.data(), to_.data(), address(scratch_), stream_.get()});
}

void LoneRun::run(const Kernel& kernel, std::span<Tensor> outputs) {
  kernel.prepare();
  if (kernel.scratch_bytes > 0 && (scratch_ == nullptr || scratch_->bytes() < kernel.scratch_bytes)) {
    timings_.clear();  // captured with the address of the old one
    scratch_ = device_.allocate(kernel.scratch_bytes);
  }
  size_t most = scratch_ == nullptr ? 0 : scratch_->bytes();
  for (const auto& buffer : outputs_) most = std::max(most, buffer == nullptr ? 0 : buffer->bytes());
  const std::vector<std::byte> ones(most, std::byte{0xFF});
  for (const auto& buffer : outputs_) {
    if (buffer != nullptr) stream_->copy(ones.data(), buffer->address(), buffer->bytes());
  }
  if (scratch_ != nullptr) stream_->copy(ones.data(), scratch_->address(), scratch_->bytes());
  enqueue(kernel);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_defined())
      stream_->copy(outputs_[i]->address(), outputs[i].mutable_raw(), outputs[i].byte_size());
  }
  wait();
}

void LoneRun::flush(const std::vector<bool>& is_constant) {
  stream_->copy(flushed_from_->address(), flushed_to_->address(), flushed_to_->bytes());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] != nullptr && !is_constant[i])
      stream_->copy(copies_[i]->address(), inputs_[i]->address(), inputs_[i]->bytes());
  }
}

double LoneRun::seconds(Timing& timing) {
  const auto start = std::chrono::steady_clock::now();
  timing.replay ? timing.replay->enqueue() : timing.work();
  wait();
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kRepeats;
  timing.shortest = std::min(timing.shortest, took);
  return took;
}

double LoneRun::time(const Kernel& kernel, bool flushes, const std::vector<bool>& is_constant) {
  flushes = flushes && device_.cache_bytes() > 0;
  if (flushes && flushed_to_ == nullptr) {
    flushed_from_ = device_.allocate(device_.cache_bytes());
    flushed_to_ = device_.allocate(device_.cache_bytes());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      copies_.push_back(inputs_[i] == nullptr ? nullptr : device_.allocate(inputs_[i]->bytes()));
      if (inputs_[i] != nullptr)
        stream_->copy(inputs_[i]->address(), copies_[i]->address(), inputs_[i]->bytes());
    }
    wait();
  }
  const auto timing_of = [&](const Kernel* which) -> Timing& {
    auto& timing = timings_[which];
    if (timing != nullptr) return *timing;
    timing = std::make_unique<Timing>();
    timing->work = [this, which, flushes, is_constant] {
      for (int i = 0; i < kRepeats; ++i) {
        if (flushes) flush(is_constant);
        if (which != nullptr) enqueue(*which);
      }
    };
    timing->work();
    wait();
    std::string refusal;
    if (device_.captures()) timing->replay = device_.capture(*stream_, timing->work, refusal);
    seconds(*timing);
    return *timing;
  };
  if (!flushes) return seconds(timing_of(&kernel));
  Timing& flushing = timing_of(nullptr);
  seconds(flushing);
  constexpr double kLeast = 1e-7;
  return std::max(kLeast, seconds(timing_of(&kernel)) - flushing.shortest);
}

}  // namespace vernier
