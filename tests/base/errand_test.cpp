// Work that another thread does meanwhile, or nobody.
#include "vernier/base/errand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "vernier/base/thread_limit.h"
#include "vernier/base/thread_pool.h"

namespace vernier {
namespace {

TEST(Errand, IsRunByAnotherThreadMeanwhile) {
  const ThreadLimit two(2);
  std::latch ran(1);
  std::thread::id by;
  Errand errand([&] {
    by = std::this_thread::get_id();
    ran.count_down();
  });
  ran.wait();  // for ever, if it were for finish() to run it
  EXPECT_TRUE(errand.finish());
  EXPECT_TRUE(errand.finish());
  EXPECT_NE(by, std::this_thread::get_id());
}

TEST(Errand, IsNotBegunWithOneThread) {
  const ThreadLimit one(1);
  bool ran = false;
  Errand errand([&] { ran = true; });
  EXPECT_FALSE(errand.finish());
  EXPECT_FALSE(ran);
}

// Threads of the caller's that never come: nobody waits for them, and the work is not begun when it is over.
TEST(Errand, ThatNobodyBeginsIsOverWhenItIsFinished) {
  const ThreadLimit two(2);
  std::function<void()> kept;
  ThreadPool::instance().use([&](std::function<void()> task) { kept = std::move(task); });
  bool ran = false;
  {
    Errand errand([&] { ran = true; });
    EXPECT_FALSE(errand.finish());
  }
  ASSERT_TRUE(kept);
  kept();
  ThreadPool::instance().use(nullptr);
  EXPECT_FALSE(ran);
}

TEST(Errand, IsWaitedForOnceBegun) {
  const ThreadLimit two(2);
  std::latch begun(1);
  std::atomic<bool> done{false};
  {
    Errand errand([&] {
      begun.count_down();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = true;
    });
    begun.wait();
  }
  EXPECT_TRUE(done);
}

TEST(Errand, CallsOfTheCallerGoOnBesideIt) {
  const ThreadLimit three(3);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> errands{0}, pieces{0};
    Errand errand([&] { ++errands; });
    auto body = [&](int64_t) { ++pieces; };
    const auto call = [](void* data, int64_t piece) { (*static_cast<decltype(body)*>(data))(piece); };
    ThreadPool::instance().run(64, 3, {call, &body});
    EXPECT_EQ(pieces, 64);
    EXPECT_EQ(errand.finish() ? 1 : 0, errands);
  }
}

}  // namespace
}  // namespace vernier
