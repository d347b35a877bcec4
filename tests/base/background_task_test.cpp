// Work that another thread does meanwhile, or nobody.
#include "vernier/base/background_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "vernier/base/thread_limit.h"
#include "vernier/base/thread_pool.h"

namespace vernier {
namespace {

TEST(BackgroundTask, IsRunByAnotherThreadMeanwhile) {
  const ThreadLimit two(2);
  std::latch ran(1);
  std::thread::id by;
  BackgroundTask task([&] {
    by = std::this_thread::get_id();
    ran.count_down();
  });
  ran.wait();  // for ever, if it were for finish() to run it
  EXPECT_TRUE(task.finish());
  EXPECT_TRUE(task.finish());
  EXPECT_NE(by, std::this_thread::get_id());
}

TEST(BackgroundTask, IsNotBegunWithOneThread) {
  const ThreadLimit one(1);
  bool ran = false;
  BackgroundTask task([&] { ran = true; });
  EXPECT_FALSE(task.finish());
  EXPECT_FALSE(ran);
}

// Threads of the caller's that never come: nobody waits for them, and the work is not begun when it is over.
TEST(BackgroundTask, ThatNobodyBeginsIsOverWhenItIsFinished) {
  const ThreadLimit two(2);
  std::function<void()> kept;
  ThreadPool::instance().use([&](std::function<void()> task) { kept = std::move(task); });
  bool ran = false;
  {
    BackgroundTask task([&] { ran = true; });
    EXPECT_FALSE(task.finish());
  }
  ASSERT_TRUE(kept);
  kept();
  ThreadPool::instance().use(nullptr);
  EXPECT_FALSE(ran);
}

TEST(BackgroundTask, IsWaitedForOnceBegun) {
  const ThreadLimit two(2);
  std::latch begun(1);
  std::atomic<bool> done{false};
  {
    BackgroundTask task([&] {
      begun.count_down();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = true;
    });
    begun.wait();
  }
  EXPECT_TRUE(done);
}

TEST(BackgroundTask, CallsOfTheCallerGoOnBesideIt) {
  const ThreadLimit three(3);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> tasks{0}, chunks{0};
    BackgroundTask task([&] { ++tasks; });
    auto body = [&](int64_t) { ++chunks; };
    const auto call = [](void* data, int64_t chunk) { (*static_cast<decltype(body)*>(data))(chunk); };
    ThreadPool::instance().run(64, 3, {call, &body});
    EXPECT_EQ(chunks, 64);
    EXPECT_EQ(task.finish() ? 1 : 0, tasks);
  }
}

}  // namespace
}  // namespace vernier
