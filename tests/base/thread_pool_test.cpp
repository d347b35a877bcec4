// The pool: chunks, who runs them, and which threads there are.
#include "vernier/base/thread_pool.h"

#include <gtest/gtest.h>

#include <barrier>
#include <filesystem>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "vernier/base/threads.h"

namespace vernier {
namespace {

template <class Body>
ChunkFunction chunk_function(Body& body) {
  return {[](void* data, int64_t chunk) { (*static_cast<Body*>(data))(chunk); }, &body};
}

std::vector<int> visits(int64_t chunks, int threads) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(chunks));
  auto body = [&](int64_t chunk) { ++seen[static_cast<size_t>(chunk)]; };
  ThreadPool::instance().run(chunks, threads, chunk_function(body));
  return {seen.begin(), seen.end()};
}

std::set<std::string> threads_of_this_process() {
  std::set<std::string> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    all.insert(task.path().filename().string());
  return all;
}

TEST(ThreadPool, EveryPieceRunsOnce) {
  for (const int threads : {1, 2, 3, 16})
    for (const int64_t chunks : {0, 1, 2, 5, 16, 1000})
      for (int round = 0; round < 50; ++round)
        ASSERT_EQ(visits(chunks, threads), std::vector<int>(static_cast<size_t>(chunks), 1));
}

// Gives the pool its own threads back.
struct Lent {
  explicit Lent(ThreadPool::Submit submit) { ThreadPool::instance().use(std::move(submit)); }
  ~Lent() { ThreadPool::instance().use(nullptr); }
};

TEST(ThreadPool, ThreadsOfTheCallersHelp) {
  std::mutex mutex;
  std::set<std::thread::id> helped;
  std::vector<std::jthread> threads;
  const int own = ThreadPool::instance().size();
  {
    const Lent lent([&](std::function<void()> task) {
      const std::lock_guard lock(mutex);
      threads.emplace_back(std::move(task));
    });
    for (int round = 0; round < 20; ++round) {
      std::latch all_begun(3);  // three threads have a chunk at the same time
      auto body = [&](int64_t) {
        all_begun.arrive_and_wait();
        const std::lock_guard lock(mutex);
        helped.insert(std::this_thread::get_id());
      };
      ThreadPool::instance().run(3, 3, chunk_function(body));
    }
    EXPECT_FALSE(ThreadPool::instance().run_together(2, {[](void*, int64_t) {}, nullptr}));
  }
  EXPECT_GE(helped.size(), 3U);
  EXPECT_EQ(ThreadPool::instance().size(), own);
}

TEST(ThreadPool, NobodyWaitsForThreadsOfTheCallers) {
  {
    const Lent lent([](std::function<void()>) {});  // a pool that is shut down
    EXPECT_EQ(visits(1000, 4), std::vector<int>(1000, 1));
  }
  {
    const Lent lent([](std::function<void()>) { throw std::runtime_error("the queue is full"); });
    EXPECT_EQ(visits(1000, 4), std::vector<int>(1000, 1));
  }
  std::vector<std::function<void()>> late;
  {
    const Lent lent([&](std::function<void()> task) { late.push_back(std::move(task)); });
    EXPECT_EQ(visits(1000, 4), std::vector<int>(1000, 1));
  }
  ASSERT_EQ(late.size(), 3U);
  for (const auto& task : late) task();
  EXPECT_EQ(visits(1000, 4), std::vector<int>(1000, 1));
}

TEST(ThreadPool, ManyCallersAtOnce) {
  std::atomic<int64_t> sum = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 12; ++caller) {
      callers.emplace_back([&, caller] {
        auto body = [&](int64_t chunk) { sum += chunk; };
        for (int round = 0; round < 1000; ++round)
          ThreadPool::instance().run(10, 2 + caller % 4, chunk_function(body));
      });
    }
  }
  EXPECT_EQ(sum, 12 * 1000 * 45);
}

// Another call holds all helpers, as a busy machine would: the work is done without them.
TEST(ThreadPool, ACallerDoesNotWaitForThreadsThatHaveNotBegun) {
  constexpr int kThreads = 4;
  std::latch all_inside(kThreads), done(1);
  auto hold = [&](int64_t) {
    all_inside.count_down();
    done.wait();
  };
  std::jthread holder([&] { ThreadPool::instance().run(kThreads, kThreads, chunk_function(hold)); });
  all_inside.wait();
  const int helpers = ThreadPool::instance().size();
  std::set<std::thread::id> ran;
  std::vector<std::jthread> holders;  // of helpers that other tests have made
  std::latch others_inside(std::max(1, helpers - kThreads + 2));
  auto hold_others = [&](int64_t) {
    others_inside.count_down();
    done.wait();
  };
  if (const int rest = helpers - (kThreads - 1); rest > 0) {
    holders.emplace_back(
        [&, rest] { ThreadPool::instance().run(rest + 1, rest + 1, chunk_function(hold_others)); });
    others_inside.wait();
  }
  auto note = [&](int64_t) { ran.insert(std::this_thread::get_id()); };
  ThreadPool::instance().run(100, kThreads, chunk_function(note));
  EXPECT_EQ(ran, std::set{std::this_thread::get_id()});
  done.count_down();
}

TEST(ThreadPool, PiecesThatWaitForOneAnotherRunTogether) {
  for (const int threads : {2, 4, 16}) {
    for (int round = 0; round < 20; ++round) {
      std::barrier meeting(threads);
      std::vector<std::atomic<int>> seen(static_cast<size_t>(threads));
      auto body = [&](int64_t chunk) {
        ++seen[static_cast<size_t>(chunk)];
        meeting.arrive_and_wait();
      };
      ASSERT_TRUE(ThreadPool::instance().run_together(threads, chunk_function(body)));
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, CallsThatWantAllTogetherFollowOneAnother) {
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([] {
      for (int round = 0; round < 100; ++round) {
        std::barrier meeting(3);
        auto body = [&](int64_t) { meeting.arrive_and_wait(); };
        EXPECT_TRUE(ThreadPool::instance().run_together(3, chunk_function(body)));
      }
    });
  }
}

TEST(ThreadPool, InsideAPieceNothingIsSharedAgain) {
  auto body = [&](int64_t) {
    EXPECT_TRUE(inside_parallel_work());
    auto inner = [thread = std::this_thread::get_id()](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
    };
    ThreadPool::instance().run(8, 4, chunk_function(inner));
    EXPECT_FALSE(ThreadPool::instance().run_together(2, chunk_function(inner)));
  };
  ThreadPool::instance().run(8, 4, chunk_function(body));
  EXPECT_FALSE(inside_parallel_work());
}

// libgomp ends threads whenever a team is smaller than the one before, and makes them again for a larger one.
TEST(ThreadPool, TeamsOfAnySizeMakeAndEndNoThreads) {
  visits(64, 16);
  const auto before = threads_of_this_process();
  for (int round = 0; round < 100; ++round) {
    for (const int threads : {2, 16, 3, 1, 4}) visits(64, threads);
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until helpers sleep
  }
  EXPECT_EQ(threads_of_this_process(), before);
}

TEST(AvailableCores, AreNoMoreThanTheQuota) {
  EXPECT_EQ(cores_of_quota("max 100000"), 0);
  EXPECT_EQ(cores_of_quota("400000 100000"), 4);
  EXPECT_EQ(cores_of_quota("150000 100000"), 2);
  EXPECT_EQ(cores_of_quota("1000 100000"), 1);
  EXPECT_EQ(cores_of_quota(""), 0);
  EXPECT_GE(available_cores(), 1);
}

}  // namespace
}  // namespace vernier
