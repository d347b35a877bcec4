#include "vernier/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <system_error>
#include <thread>

namespace vernier {

namespace {

// Longer than most steps that one thread runs alone. Waking threads takes some 50 microseconds, and who slept
// may be woken on a core that another works on. On 16 cores threads of EfficientNet-B0 sleep 23 times a run
// after 50 microseconds, and less than once after 200; beside busy processes runs take no longer.
constexpr std::chrono::microseconds kSpin{200};
constexpr int kPausesPerLook = 16;  // at the clock
constexpr uint32_t kJoined = 0xFFFF, kPlace = 0x10000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Waits a little for what another thread does; false if it did not.
template <class Condition>
bool spin_until(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  for (;;) {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (condition()) return true;
      pause();
    }
    if (std::chrono::steady_clock::now() > end) return condition();
  }
}

std::atomic<ThreadPool*> of_process{nullptr};
thread_local bool inside_piece = false;

class InsidePiece {
 public:
  InsidePiece() { inside_piece = true; }
  ~InsidePiece() { inside_piece = false; }
};

}  // namespace

bool inside_parallel_work() {
  return inside_piece;
}

ThreadPool& ThreadPool::instance() {
  // Never destroyed: threads may still run when a process ends. What a child inherits of a pool has no
  // threads.
  [[maybe_unused]] static const bool made = [] {
    of_process = new ThreadPool;
    pthread_atfork(nullptr, nullptr, [] { of_process = new ThreadPool; });
    return true;
  }();
  return *of_process.load(std::memory_order_relaxed);
}

void ThreadPool::run(int64_t chunks, int threads, ChunkFunction work) {
  threads = static_cast<int>(std::min<int64_t>({chunks, threads, kMaxThreads}));
  Job* job = threads > 1 && !inside_piece ? take_job() : nullptr;
  if (job == nullptr) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) work.call(work.data, chunk);
    return;
  }
  if (submit_.load(std::memory_order_acquire) == nullptr) grow_to(threads - 1);
  make_room(*job, threads);
  job->together = false;
  job->ranges = threads;
  job->work = work;
  for (int r = 0; r < threads; ++r) {
    job->unclaimed[static_cast<size_t>(r)].next.store(chunks * r / threads, std::memory_order_relaxed);
    job->unclaimed[static_cast<size_t>(r)].end = chunks * (r + 1) / threads;
  }
  open(*job, threads - 1);
  {
    const InsidePiece inside;
    run_pieces(*job, 0);
  }
  close(*job);
}

bool ThreadPool::run_together(int threads, ChunkFunction work) {
  if (inside_piece || threads > kMaxThreads || submit_.load(std::memory_order_acquire) != nullptr)
    return false;
  const std::lock_guard one(together_);
  grow_to(threads - 1);
  Job* job = size() >= threads - 1 ? take_job() : nullptr;
  if (job == nullptr) return false;
  job->together = true;
  job->ranges = threads;
  job->work = work;
  open(*job, threads - 1);
  {
    const InsidePiece inside;
    work.call(work.data, 0);
  }
  // All have a chunk of their own to run, so nobody may be left out.
  const auto all_joined = [&] { return job->places.load(std::memory_order_relaxed) < kPlace; };
  while (!spin_until(all_joined)) std::this_thread::yield();
  close(*job);
  return true;
}

int ThreadPool::begin_task(ChunkFunction work) {
  if (inside_piece) return -1;
  if (submit_.load(std::memory_order_acquire) == nullptr) grow_to(1);
  Job* job = take_job();
  if (job == nullptr) return -1;
  make_room(*job, 2);
  job->together = false;
  job->ranges = 2;  // the first is that of a caller who helps
  job->work = work;
  for (const int r : {0, 1}) {
    job->unclaimed[static_cast<size_t>(r)].next.store(0, std::memory_order_relaxed);
    job->unclaimed[static_cast<size_t>(r)].end = r;
  }
  open(*job, 1);
  return static_cast<int>(job - jobs_.data());
}

bool ThreadPool::end_task(int task) {
  Job& job = jobs_[static_cast<size_t>(task)];
  const bool is_claimed = job.unclaimed[1].next.fetch_add(1, std::memory_order_relaxed) > 0;
  close(job);
  return is_claimed;
}

void ThreadPool::make_room(Job& job, int ranges) {
  if (job.capacity >= ranges) return;
  job.unclaimed = std::make_unique<Range[]>(static_cast<size_t>(ranges));
  job.capacity = ranges;
}

void ThreadPool::use(Submit submit) {
  const std::lock_guard lock(growing_);
  const Submit* used = nullptr;
  if (submit) used = submits_.emplace_back(std::make_unique<const Submit>(std::move(submit))).get();
  submit_.store(used, std::memory_order_release);
}

ThreadPool::Job* ThreadPool::take_job() {
  thread_local size_t last = 0;  // the one that this thread used before is likely free, and in its cache
  for (size_t i = 0; i < kJobs; ++i) {
    Job& job = jobs_[(last + i) % kJobs];
    if (job.taken.load(std::memory_order_relaxed) || job.taken.exchange(true, std::memory_order_acquire))
      continue;
    last = (last + i) % kJobs;
    return &job;
  }
  return nullptr;  // so many calls are under way that all cores are busy
}

void ThreadPool::open(Job& job, int helpers) {
  job.places.store(static_cast<uint32_t>(helpers) * kPlace, std::memory_order_release);
  open_.fetch_or(uint64_t{1} << (&job - jobs_.data()));
  wake(helpers);
}

void ThreadPool::wake(int helpers) {
  if (const Submit* submit = submit_.load(std::memory_order_acquire)) {
    try {
      // A task that comes too late finds the call closed, or another, which it joins.
      for (int i = 0; i < helpers; ++i)
        (*submit)([this, i] {
          if (!inside_piece) help(i);
        });
    } catch (...) {  // then the caller does it
    }
    return;
  }
  ++calls_;
  // A thread that falls asleep after this has seen the call, or finds that calls_ has changed.
  const int sleeping = sleeping_.load();
  if (sleeping == 0) return;
  if (helpers >= sleeping) return calls_.notify_all();
  for (int i = 0; i < helpers; ++i) calls_.notify_one();
}

void ThreadPool::close(Job& job) {
  job.places.fetch_and(kJoined);
  open_.fetch_and(~(uint64_t{1} << (&job - jobs_.data())));
  if (!spin_until([&] { return job.places.load(std::memory_order_acquire) == 0; })) {
    for (uint32_t joined = 0; (joined = job.places.load(std::memory_order_acquire)) != 0;)
      job.places.wait(joined);
  }
  job.taken.store(false, std::memory_order_release);
}

void ThreadPool::run_pieces(Job& job, int first_range) {
  for (int i = 0; i < job.ranges; ++i) {
    Range& range = job.unclaimed[static_cast<size_t>((first_range + i) % job.ranges)];
    while (range.next.load(std::memory_order_relaxed) < range.end) {
      const int64_t chunk = range.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk < range.end) job.work.call(job.work.data, chunk);
    }
  }
}

// Joins one of the calls that are open; false if there is none.
bool ThreadPool::help(int worker) {
  for (uint64_t open = open_.load(std::memory_order_acquire); open != 0; open &= open - 1) {
    Job& job = jobs_[static_cast<size_t>(std::countr_zero(open))];
    uint32_t places = job.places.load(std::memory_order_relaxed);
    while (places >= kPlace &&
           !job.places.compare_exchange_weak(places, places - kPlace + 1, std::memory_order_acq_rel)) {
    }
    if (places < kPlace) continue;
    const InsidePiece inside;
    if (job.together)
      job.work.call(job.work.data, job.ranges - static_cast<int>(places / kPlace));
    else
      run_pieces(job, 1 + worker % (job.ranges - 1));
    leave(job);
    return true;
  }
  return false;
}

void ThreadPool::leave(Job& job) {
  // From here on the job may be another call's, to which it does no harm to be told once too often.
  if (job.places.fetch_sub(1, std::memory_order_acq_rel) == 1) job.places.notify_one();
}

void ThreadPool::serve(int worker) {
  for (;;) {
    const uint32_t calls = calls_.load();
    if (help(worker)) continue;
    if (spin_until([&] { return calls_.load(std::memory_order_relaxed) != calls; })) continue;
    ++sleeping_;
    calls_.wait(calls);
    --sleeping_;
  }
}

void ThreadPool::bind(std::vector<int> cores) {
  const std::lock_guard lock(growing_);
  cores_ = std::move(cores);
}

// Called while growing_ is held by whoever makes the thread. A core that is not to be had is no reason to do
// without the thread.
void ThreadPool::bind_this(int worker) const {
  if (cores_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cores_[static_cast<size_t>(worker + 1) % cores_.size()]), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

// As far as the system gives them. Waits until they run: whoever begins a thread holds locks of the run-time
// library (those of sanitizers are many), and a child that is forked meanwhile would wait for them for ever.
void ThreadPool::grow_to(int threads) {
  if (size() >= threads) return;
  const std::lock_guard lock(growing_);
  try {
    while (size() < threads) {
      std::thread([this, worker = size()] {
        bind_this(worker);
        ++begun_;
        begun_.notify_one();
        serve(worker);
      }).detach();
      ++size_;
    }
  } catch (const std::system_error&) {
    // No more threads: those that there are do it.
  }
  for (int begun = begun_; begun < size_; begun = begun_) begun_.wait(begun);
}

}  // namespace vernier
