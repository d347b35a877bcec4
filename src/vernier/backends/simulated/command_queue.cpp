#include "vernier/backends/simulated/command_queue.h"

#include <utility>

namespace vernier::simulated {

void CommandQueue::append(Command command) {
  command.position = enqueued_++;
  commands_.push_back(std::move(command));
  changed_.notify_all();
}

void CommandQueue::push(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  append(Command{.work = std::move(work)});
}

void CommandQueue::push_release(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  append(Command{.work = std::move(work), .is_release = true});
}

void CommandQueue::push_wait(Awaited event) {
  const std::lock_guard lock(mutex_);
  append(Command{.awaited = std::move(event)});
}

uint64_t CommandQueue::push_record() {
  const std::lock_guard lock(mutex_);
  append(Command{.records = ++recorded_});
  return recorded_;
}

bool CommandQueue::has_recorded(uint64_t value) const {
  const std::lock_guard lock(mutex_);
  return value >= 1 && value <= recorded_;
}

bool CommandQueue::has_reached(uint64_t value) const {
  const std::lock_guard lock(mutex_);
  return reached_ >= value;
}

void CommandQueue::await(uint64_t value) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= value; });
}

std::shared_ptr<const Failure> CommandQueue::failure_before(uint64_t value) const {
  const std::lock_guard lock(mutex_);
  return failure_ && failed_since_ <= value ? failure_ : nullptr;
}

void CommandQueue::settle(const std::shared_ptr<const Failure>& failure) {
  const std::lock_guard lock(mutex_);
  if (failure_ != failure) return;
  failure_.reset();
  skipped_before_ = enqueued_;
}

bool CommandQueue::is_ready() const {
  Awaited awaited;
  {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) return false;
    awaited = commands_.front().awaited;
  }
  return !awaited.queue || awaited.queue->has_reached(awaited.value);
}

std::vector<CommandQueue::Awaited> CommandQueue::awaited_before(uint64_t value) const {
  const std::lock_guard lock(mutex_);
  std::vector<Awaited> result;
  for (const Command& command : commands_) {
    if (command.records == value) break;
    if (command.awaited.queue) result.push_back(command.awaited);
  }
  return result;
}

std::shared_ptr<const Failure> CommandQueue::run(const Command& command, bool skip) const {
  if (command.awaited.queue) {
    command.awaited.queue->await(command.awaited.value);
    return command.awaited.queue->failure_before(command.awaited.value);
  }
  if (!command.work || (skip && !command.is_release)) return nullptr;
  try {
    command.work();
  } catch (...) {
    return std::make_shared<Failure>(Failure{std::current_exception()});
  }
  return nullptr;
}

void CommandQueue::step() {
  Command command;
  bool skip = false;
  {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) return;
    command = std::move(commands_.front());
    commands_.pop_front();
    skip = failure_ || command.position < skipped_before_;
  }
  auto failure = run(command, skip);
  command.work = nullptr;  // what it holds ends before its event is reached
  const std::lock_guard lock(mutex_);
  if (failure && !failure_ && command.position >= skipped_before_) {
    failure_ = std::move(failure);
    failed_since_ = reached_ + 1;
  }
  if (command.records != 0) reached_ = command.records;
  changed_.notify_all();
}

bool CommandQueue::await_command() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || !commands_.empty(); });
  return !commands_.empty();
}

void CommandQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace vernier::simulated
