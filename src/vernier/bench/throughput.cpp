#include "vernier/bench/throughput.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "vernier/base/threads.h"
#include "vernier/engine/engine_device.h"
#include "vernier/engine/session.h"
#include "vernier/exec/bind_inputs.h"

namespace vernier {

double throughput(const std::shared_ptr<const Engine>& engine, const NamedData& inputs, size_t sessions,
                  double seconds) {
  using Clock = std::chrono::steady_clock;
  const int threads = thread_count();  // the caller's: a new thread knows nothing of them
  std::atomic<size_t> runs{0}, ready{0};
  std::atomic<bool> go{false}, stop{false};
  std::vector<std::exception_ptr> failures(sessions);
  const auto serve = [&](size_t index) {
    try {
      Session session(engine, threads);
      const auto bound = in_host_memory(*engine, bind_inputs(engine->graph(), inputs));
      std::vector<Datum> outputs;
      session.run(bound, outputs, {});
      ++ready;
      while (!go) std::this_thread::yield();
      while (!stop) {
        session.run(bound, outputs, {});
        ++runs;
      }
    } catch (...) {
      failures[index] = std::current_exception();
      ++ready;
    }
  };
  Clock::time_point start, end;
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < sessions; ++i) threads.emplace_back(serve, i);
    while (ready < sessions) std::this_thread::yield();
    start = Clock::now();
    go = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    threads.clear();
    end = Clock::now();
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return static_cast<double>(runs) / std::chrono::duration<double>(end - start).count();
}

}  // namespace vernier
