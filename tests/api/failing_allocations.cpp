// Makes each allocation of building and running a model fail in turn: the k-th alone, and all from the k-th
// on, for every k until nothing fails any more. Each time the error must say so, nothing may be left behind,
// and engine and session must go on with the right bits. What fails is operator new, and the memory of
// tensors and arenas, where Vernier itself asks; oneDNN, protobuf and the threads' runtime are left alone,
// since they may end the process.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "api/models.h"
#include "vernier/base/memory.h"
#include "vernier/vernier.h"
#include "vernier/vernier_c.h"

namespace {

constexpr int64_t kNever = INT64_MAX;
std::atomic<int64_t> countdown{kNever};  // allocations until one fails
std::atomic<bool> for_good{false};       // whether all after it fail, too
std::atomic<int64_t> failed{0}, live{0};

bool must_fail() {
  if (countdown.load() == kNever) return false;
  const int64_t left = countdown.fetch_sub(1);
  const bool fails = for_good ? left <= 0 : left == 0;
  if (fails) ++failed;
  return fails;
}

// Whether code at this address is Vernier's or the standard library's on its behalf.
bool is_ours(const void* caller) {
  thread_local bool asking = false;
  if (asking) return false;
  asking = true;
  Dl_info info{};
  const bool known = dladdr(caller, &info) != 0 && info.dli_fname != nullptr;
  asking = false;
  if (!known) return true;
  for (const char* library : {"libdnnl", "libgomp", "libprotobuf", "libc.so", "ld-linux"}) {
    if (std::strstr(info.dli_fname, library) != nullptr) return false;
  }
  return true;
}

// In front of each block: whether it is counted.
void* allocate(size_t bytes, size_t alignment, const void* caller) {
  const bool counted = is_ours(caller);
  if (counted && must_fail()) throw std::bad_alloc();
  const size_t header = std::max<size_t>(alignment, 16);
  const size_t size = (bytes + header + header - 1) / header * header;
  auto* memory = static_cast<char*>(std::aligned_alloc(header, size));
  if (memory == nullptr) throw std::bad_alloc();
  memory[0] = counted ? 1 : 0;
  if (counted) ++live;
  return memory + header;
}

void release(void* memory, size_t alignment) noexcept {
  if (memory == nullptr) return;
  char* block = static_cast<char*>(memory) - std::max<size_t>(alignment, 16);
  if (block[0] != 0) --live;
  std::free(block);
}

struct Watch : vernier::MemoryWatch {
  void allocating(size_t bytes) override {
    if (must_fail()) throw vernier::OutOfMemory(bytes);
    ++live;
  }
  void released() noexcept override { --live; }
};

}  // namespace

void* operator new(size_t bytes) {
  return allocate(bytes, 0, __builtin_return_address(0));
}
void* operator new[](size_t bytes) {
  return allocate(bytes, 0, __builtin_return_address(0));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept {
  release(memory, 0);
}
void operator delete[](void* memory) noexcept {
  release(memory, 0);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory, 0);
}
void operator delete[](void* memory, size_t) noexcept {
  release(memory, 0);
}
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
void operator delete(void* memory, size_t, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
void operator delete[](void* memory, size_t, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}

namespace {

using namespace vernier;

int faults = 0;

void fault(const char* scenario, int64_t k, const char* text) {
  std::printf("%s, allocation %lld%s: %s\n", scenario, static_cast<long long>(k),
              for_good ? " and all after it" : "", text);
  if (++faults > 20) std::exit(1);
}

// Arms the fault, calls, disarms; gives what was thrown.
template <class Call>
std::optional<ErrorCode> outcome(int64_t k, bool all, const Call& call) {
  std::optional<ErrorCode> code;
  for_good = all;
  failed = 0;
  countdown = k;
  try {
    call();
    countdown = kNever;
  } catch (const Error& error) {
    countdown = kNever;
    code = error.code();
  } catch (...) {
    countdown = kNever;
    code = ErrorCode::kInternal;
  }
  return code;
}

// `call` leaves nothing behind, whether it throws or not; `check` holds after each failure.
template <class Call, class Check>
void fail_each(const char* scenario, const Call& call, const Check& check) {
  for (int i = 0; i < 3; ++i) call();  // what is made once per process is made now
  int64_t k = 0, failures = 0;
  for (const bool all : {false, true}) {
    for (k = 0;; ++k) {
      const int64_t before = live;
      const auto code = outcome(k, all, call);
      const int64_t left = live - before;
      if (failed == 0) {
        if (code) fault(scenario, k, "an error though nothing failed");
        break;
      }
      ++failures;
      if (!code)
        fault(scenario, k, "failed, and nobody was told");
      else if (*code != ErrorCode::kOutOfMemory)
        fault(scenario, k, "another error than out of memory");
      if (left > 0) fault(scenario, k, "memory was left behind");
      if (!check()) fault(scenario, k, "the result afterwards is wrong");
    }
  }
  std::printf("%s: %lld allocations, %lld failures survived\n", scenario, static_cast<long long>(k),
              static_cast<long long>(failures));
}

struct Scenarios {
  test::ModelFile file = test::dense_model();
  std::vector<float> x = {1, 2, 3, -1, 0.5F, 4};
  std::vector<float> expected = test::dense_result(x);

  bool is_right(const Outputs& outputs) const {
    const TensorView view = outputs["y"];
    const auto y = view.values<float>();
    return std::equal(y.begin(), y.end(), expected.begin(), expected.end());
  }

  void build() const {
    fail_each(
        "build", [&] { Engine::build(file.path()); },
        [&] {
          Session session(Engine::build(file.path()), {.threads = 1});
          session.bind_input("x", x, {2, 3});
          return is_right(session.run());
        });
  }

  // A first run: the plan, the kernels and the arena are made in it.
  void first_run() const {
    fail_each(
        "first run",
        [&] {
          const Engine engine = Engine::build(file.path());
          Session session(engine, {.threads = 1});
          session.bind_input("x", x, {2, 3});
          session.run();
        },
        [] { return true; });
  }

  // Later runs, of a session that goes on after each failure.
  void later_runs(Session& session) const {
    fail_each(
        "run", [&] { session.run(); }, [&] { return is_right(session.run()); });
    fail_each(
        "run_async", [&] { session.run_async().wait(); }, [&] { return is_right(session.run()); });
    fail_each(
        "bind",
        [&] {
          session.bind_input("x", x, {2, 3});
        },
        [&] { return is_right(session.run()); });
  }

  // New sizes on a session that has run before: what fails must leave the old plan alone.
  void new_sizes() const {
    const std::vector<float> row = {1, 2, 3};
    fail_each(
        "new sizes",
        [&] {
          const Engine fresh = Engine::build(file.path());
          Session mortal(fresh, {.threads = 1});
          mortal.bind_input("x", x, {2, 3});
          mortal.run();
          mortal.bind_input("x", row, {1, 3});
          mortal.run();
        },
        [] { return true; });
  }

  // Through the C interface nothing is thrown, and the status says it.
  void c_interface() const {
    const std::string path = file.path().string();
    fail_each(
        "C",
        [&] {
          const int64_t dims[2] = {2, 3};
          vernier_engine* engine = nullptr;
          vernier_session* session = nullptr;
          int status = vernier_engine_build(path.c_str(), &engine);
          if (status == 0) status = vernier_session_create(engine, 1, &session);
          if (status == 0)
            status = vernier_session_bind_input(session, "x", VERNIER_FLOAT, dims, 2, x.data());
          if (status == 0) status = vernier_session_run(session);
          vernier_session_release(session);
          vernier_engine_release(engine);
          if (status != 0) throw Error(static_cast<ErrorCode>(status));
        },
        [] { return true; });
  }
};

}  // namespace

int main() {
  Watch watch;
  set_memory_watch(&watch);
  {
    const Scenarios scenarios;
    {
      Session session(Engine::build(scenarios.file.path()), {.threads = 1});
      session.bind_input("x", scenarios.x, {2, 3});
      scenarios.later_runs(session);
    }
    scenarios.build();
    scenarios.first_run();
    scenarios.new_sizes();
    scenarios.c_interface();
  }
  set_memory_watch(nullptr);
  return faults == 0 ? 0 : 1;
}
