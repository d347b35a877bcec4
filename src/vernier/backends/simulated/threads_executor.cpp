#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "vernier/backends/simulated/executor.h"

namespace vernier::simulated {

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
