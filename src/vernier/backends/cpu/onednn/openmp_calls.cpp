#include "vernier/backends/cpu/onednn/openmp_calls.h"

#include <dlfcn.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "vernier/backends/cpu/onednn/imported_functions.h"
#include "vernier/backends/cpu/onednn/invalid_operations.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

// What OpenMP's functions tell the calling thread. Regions inside regions have one thread.
struct Region {
  int thread = 0, threads = 1;
  bool inside = false;
};
thread_local Region region;
thread_local int team_threads = 0;     // of the next region; 0: as many as the process uses
thread_local int threads_at_team = 0;  // what thread_count() was when the team was told
thread_local TeamKind team_kind_of_thread = TeamKind::kPieces;

int max_threads() {
  // A limit that was set since is for what is made inside, weights that are packed on one thread, say.
  const int threads = thread_count();
  return team_threads > 0 && threads == threads_at_team ? team_threads : threads;
}

struct Call {
  void (*body)(void*);
  void* data;
  int threads;
  InvalidOperations* watch;
  std::barrier<>* barrier;  // null: the threads are run in any order
};
thread_local const Call* call_of_thread = nullptr;

void run_thread(void* data, int64_t thread) {
  const Call& call = *static_cast<const Call*>(data);
  const Region before = std::exchange(region, {static_cast<int>(thread), call.threads, call.threads > 1});
  const Call* const call_before = std::exchange(call_of_thread, &call);
  if (call.watch != nullptr)
    call.watch->watch([&] { call.body(call.data); });
  else
    call.body(call.data);
  call_of_thread = call_before;
  region = before;
}

void run_region(void (*body)(void*), void* data, unsigned wanted, unsigned /*flags*/) {
  Call call{body, data, wanted > 0 ? static_cast<int>(wanted) : max_threads(), InvalidOperations::of_thread(),
            nullptr};
  const PieceFunction work{run_thread, &call};
  const bool alone = region.inside || inside_parallel_work() || call.threads == 1;
  if (!alone && team_kind_of_thread == TeamKind::kPieces)
    return ThreadPool::instance().run(call.threads, thread_count(), work);
  if (!alone && team_kind_of_thread == TeamKind::kLastFirst) {
    for (int thread = call.threads; thread-- > 0;) run_thread(&call, thread);
    return;
  }
  if (!alone) {
    std::barrier<> barrier(call.threads);
    call.barrier = &barrier;
    if (ThreadPool::instance().run_together(call.threads, work)) return;
    call.barrier = nullptr;
  }
  call.threads = 1;  // as OpenMP does where it has no more threads
  run_thread(&call, 0);
}

void meet() {
  if (call_of_thread == nullptr || call_of_thread->threads == 1) return;
  if (call_of_thread->barrier != nullptr) return call_of_thread->barrier->arrive_and_wait();
  // Its threads run one after the other, and the first would wait for ever.
  std::fputs("vernier: a primitive of oneDNN waits for its threads, which team_kind() does not know\n",
             stderr);
  std::abort();
}

int thread_number() {
  return region.thread;
}
int thread_total() {
  return region.threads;
}
int is_inside() {
  return region.inside ? 1 : 0;
}

// Of the run-time library of OpenMP that oneDNN would use.
void limit_openmp_to_one_thread() {
  if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

}  // namespace

const std::string& take_openmp_calls() {
  static const std::string reason = [] {
    constexpr const char* kPrefixes[] = {"GOMP_", "omp_", "__kmpc_"};
    const Replacement replacements[] = {{"GOMP_parallel", reinterpret_cast<void*>(run_region)},
                                        {"GOMP_barrier", reinterpret_cast<void*>(meet)},
                                        {"omp_get_max_threads", reinterpret_cast<void*>(max_threads)},
                                        {"omp_get_num_threads", reinterpret_cast<void*>(thread_total)},
                                        {"omp_get_thread_num", reinterpret_cast<void*>(thread_number)},
                                        {"omp_in_parallel", reinterpret_cast<void*>(is_inside)}};
    // The function's address in the library itself, not that of a stub in the program.
    const void* inside = dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
    return replace_imports(inside, kPrefixes, replacements);
  }();
  return reason;
}

OneDnnTeam::OneDnnTeam(int threads, TeamKind kind)
    : threads_before_(std::exchange(team_threads, threads)),
      count_before_(std::exchange(threads_at_team, thread_count())),
      kind_before_(std::exchange(team_kind_of_thread, kind)) {
  if (!take_openmp_calls().empty()) limit_openmp_to_one_thread();
}

OneDnnTeam::~OneDnnTeam() {
  team_threads = threads_before_;
  threads_at_team = count_before_;
  team_kind_of_thread = kind_before_;
}

// oneDNN 2.6.3: of the forward primitives only gemm's threads wait for each other, where they share a copy of
// a matrix or split the sums of one.
TeamKind team_kind(std::string_view implementation) {
  constexpr std::string_view kPieces[] = {"brg", "jit", "simple", "wino", "ref", "dw", "nchw", "nspc"};
  const bool is_known = std::any_of(std::begin(kPieces), std::end(kPieces),
                                    [&](std::string_view name) { return implementation.starts_with(name); });
  return is_known && implementation.find("gemm:") == std::string_view::npos ? TeamKind::kPieces
                                                                            : TeamKind::kTogether;
}

}  // namespace vernier::cpu
