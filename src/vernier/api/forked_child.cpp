#include "vernier/api/forked_child.h"

#include <pthread.h>

#include <exception>
#include <semaphore>

#include "vernier/api/worker.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::api {

namespace {

thread_local bool forked = false;
Worker* fresh_thread = nullptr;  // of this process; used by the forked thread alone, and never destroyed

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
  forked = true;
  fresh_thread = nullptr;  // the parent's, if it is a child itself
});

}  // namespace

bool came_through_fork() noexcept {
  return forked;
}

void run_in_fresh_thread(const std::function<void()>& task) {
  if (fresh_thread == nullptr) fresh_thread = new Worker;
  std::binary_semaphore done(0);
  std::exception_ptr failure;
  const int threads = omp_get_max_threads();
  fresh_thread->post([&] {
    try {
      const cpu::ThreadScope scope(threads);
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    done.release();
  });
  done.acquire();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vernier::api
