// Calls from a process that was made by fork. The threads of OpenMP stay behind in the parent, but the thread
// that forked counts on them and would wait for ever.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>

namespace vernier::api {

// True in the one thread that a child has from its parent.
bool came_through_fork() noexcept;
// Runs `task` in a thread that the child made itself, which gets threads of its own, and waits for it. `task`
// may throw.
void run_in_fresh_thread(const std::function<void()>& task);

// What `call` gives, which may use OpenMP.
template <class Call>
auto with_openmp(const Call& call) {
  if (!came_through_fork()) return call();
  using Result = decltype(call());
  if constexpr (std::is_void_v<Result>) {
    run_in_fresh_thread([&] { call(); });
  } else {
    std::optional<Result> result;
    run_in_fresh_thread([&] { result.emplace(call()); });
    return std::move(*result);
  }
}

}  // namespace vernier::api
