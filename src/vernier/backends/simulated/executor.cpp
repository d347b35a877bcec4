#include "vernier/backends/simulated/executor.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "vernier/base/error.h"

namespace vernier::simulated {

namespace {

using Queue = std::shared_ptr<CommandQueue>;

class LazyExecutor : public Executor {
 public:
  explicit LazyExecutor(uint64_t seed) : random_(seed) {}

  void begin(Queue queue) override {
    const std::lock_guard lock(mutex_);
    queues_.push_back(std::move(queue));
  }

  void end(const Queue& queue) override {
    finish(queue, queue->push_record());
    const std::lock_guard lock(mutex_);
    std::erase(queues_, queue);
  }

  void finish(const Queue& queue, uint64_t value) override {
    const std::lock_guard lock(mutex_);
    std::map<const CommandQueue*, uint64_t> needed;
    require(*queue, value, needed);
    // How much of what nobody has asked for is done, too: nothing, everything, or some.
    const auto zeal = draw(5);
    while (!queue->has_reached(value)) {
      const bool only_needed = draw(4) >= zeal;
      std::vector<CommandQueue*> ready;
      for (const Queue& each : queues_) {
        const auto wanted = needed.find(each.get());
        const bool is_needed = wanted != needed.end() && !each->has_reached(wanted->second);
        if ((is_needed || !only_needed) && each->is_ready()) ready.push_back(each.get());
      }
      if (ready.empty())
        throw internal_error("event {} of stream {} cannot be reached", value, queue->number());
      ready[draw(ready.size())]->step();
    }
  }

 private:
  uint64_t draw(uint64_t below) { return random_() % below; }

  // All events that have to be reached before this one.
  static void require(const CommandQueue& queue, uint64_t value,
                      std::map<const CommandQueue*, uint64_t>& needed) {
    uint64_t& known = needed[&queue];
    if (known >= value) return;
    known = value;
    for (const auto& [other, event] : queue.awaited_before(value)) require(*other, event, needed);
  }

  std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<Queue> queues_;
};

}  // namespace

std::unique_ptr<Executor> make_lazy_executor(uint64_t seed) {
  return std::make_unique<LazyExecutor>(seed);
}

namespace {

using Queue = std::shared_ptr<CommandQueue>;

void pause(std::mt19937_64& random) {
  const auto drawn = random() % 64;
  if (drawn < 16) std::this_thread::yield();
  if (drawn >= 48) std::this_thread::sleep_for(std::chrono::microseconds(drawn));
}

void work(CommandQueue& queue, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (queue.await_command()) {
    pause(random);
    queue.step();
  }
}

class ThreadsExecutor : public Executor {
 public:
  explicit ThreadsExecutor(uint64_t seed) : seed_(seed) {}

  void begin(Queue queue) override {
    const std::lock_guard lock(mutex_);
    std::thread& thread = threads_[queue.get()];
    thread = std::thread([queue, seed = seed_ + 1000003 * queue->number()] { work(*queue, seed); });
  }

  void end(const Queue& queue) override {
    queue->close();
    std::thread thread;
    {
      const std::lock_guard lock(mutex_);
      thread = std::move(threads_.at(queue.get()));
      threads_.erase(queue.get());
    }
    thread.join();
  }

  void finish(const Queue& queue, uint64_t value) override { queue->await(value); }

 private:
  const uint64_t seed_;
  std::mutex mutex_;
  std::map<const CommandQueue*, std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> make_threads_executor(uint64_t seed) {
  return std::make_unique<ThreadsExecutor>(seed);
}

}  // namespace vernier::simulated
