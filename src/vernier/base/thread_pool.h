// Threads that wait for work, since making one takes longer than most chunks of work.
//
// Work comes in chunks that whoever is free claims. So the caller never waits for a thread that has not
// begun: a thread that another process keeps from its core leaves its chunks to the others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace vernier {

// Runs one chunk of [0, chunks). Must not throw.
struct ChunkFunction {
  void (*call)(void* data, int64_t chunk);
  void* data;
};

// The process has one pool. Its threads live until the process ends; a forked child starts with none.
class ThreadPool {
 public:
  static ThreadPool& instance();

  // Runs each chunk once, in the caller and meanwhile in up to `threads` - 1 others, and returns when all are
  // done. The chunks are dealt in as many runs of neighbours as there are threads, and each thread begins
  // with its own: so what one thread wrote in one call is likely read by the same one in the next. Who has no
  // more takes from the others. A call from inside a chunk runs in the calling thread.
  void run(int64_t chunks, int threads, ChunkFunction work);

  // Runs `threads` chunks at the same time, each in a thread of its own, and waits for threads to begin: for
  // chunks that wait for one another. One such call runs at a time. Gives false, and runs nothing, if there
  // are not that many threads, if they are somebody else's (they may never begin), or if the caller is inside
  // a chunk.
  bool run_together(int threads, ChunkFunction work);

  // For BackgroundTask: has another thread run chunk 0 while the caller goes on. Gives a number for
  // end_task(), or -1 if the caller is inside a chunk, or so much is under way that no other thread would run
  // it.
  int begin_task(ChunkFunction work);
  // Waits if a thread has begun it; false if none has: then none will.
  bool end_task(int task);

  // From now on threads of somebody else's help instead of the pool's own: `submit` has a task run once, in
  // any thread, soon, late, or never. It is called with a few tasks for each call of run(), by any thread,
  // and kept for good; what it throws counts as never. An empty function: the pool's own threads. No call is
  // under way meanwhile.
  using Submit = std::function<void(std::function<void()> task)>;
  void use(Submit submit);

  // Threads that are made from now on are bound to one of these cores each; the first is left to the caller
  // as long as others are free. No call is under way meanwhile.
  void bind(std::vector<int> cores);

  // Threads that were made so far.
  int size() const { return size_.load(std::memory_order_relaxed); }

  // More threads than these never work on one call.
  static constexpr int kMaxThreads = 256;

 private:
  // Chunks [next, end) that nobody has claimed yet. A line of memory each, for claims come from all threads.
  struct alignas(64) Range {
    std::atomic<int64_t> next;
    int64_t end;
  };
  // A call under way. Its memory belongs to the pool and is used again and again, so whoever looks at it too
  // late finds it closed, or another call, which can be joined as well.
  struct alignas(64) Job {
    // How many threads may still join (upper half) and how many have joined and not left (lower half). A
    // thread joins by exchanging both at once; what else is here was written before that was possible.
    std::atomic<uint32_t> places{0};
    std::atomic<bool> taken{false};  // by a caller
    bool together = false;           // each thread that joins runs one chunk, and then leaves
    int ranges = 0;
    ChunkFunction work{};
    std::unique_ptr<Range[]> unclaimed;
    int capacity = 0;  // ranges that there is memory for
  };

  static constexpr int kJobs = 64;

  static void make_room(Job& job, int ranges);
  void grow_to(int threads);
  void serve(int worker);
  void bind_this(int worker) const;
  bool help(int worker);
  Job* take_job();
  void open(Job& job, int helpers);
  void wake(int helpers);
  // Waits until those that have joined have left; then the job belongs to nobody.
  void close(Job& job);
  static void run_pieces(Job& job, int first_range);
  void leave(Job& job);

  std::array<Job, kJobs> jobs_;
  std::atomic<uint64_t> open_{0};   // a bit for each job that threads may join
  std::atomic<uint32_t> calls_{0};  // counts openings: what idle threads sleep on
  std::atomic<int> sleeping_{0};
  std::atomic<int> size_{0}, begun_{0};
  std::mutex growing_, together_;
  std::atomic<const Submit*> submit_{nullptr};          // null: own threads help
  std::vector<int> cores_;                              // empty: threads run where the system has them run
  std::vector<std::unique_ptr<const Submit>> submits_;  // all there were: a thread may be about to call one
};

// Inside a chunk of a call of several threads, and not in a region that was made serial.
bool inside_parallel_work();

}  // namespace vernier
