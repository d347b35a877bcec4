// Work shared among threads: all of it is done once, whoever comes to help.
#include "vernier/base/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <thread>
#include <vector>

namespace vernier {
namespace {

class ThreadsTest : public testing::Test {
 protected:
  void SetUp() override { set_thread_count(4); }
  void TearDown() override { set_thread_count(0); }
};

// How often each index was met.
std::vector<int> visits(int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  return {seen.begin(), seen.end()};
}

TEST_F(ThreadsTest, EveryIndexIsMetOnce) {
  for (const int64_t count : {0, 1, 3, 64, 1000})
    for (int round = 0; round < 200; ++round)
      EXPECT_EQ(visits(count, 1), std::vector<int>(static_cast<size_t>(count), 1));
}

TEST_F(ThreadsTest, OthersHelp) {
  for (int round = 0; round < 20; ++round) {
    std::barrier all(4);  // is passed by four threads or none
    parallel_for(4, 1, [&](int64_t, int64_t) { all.arrive_and_wait(); });
  }
}

TEST_F(ThreadsTest, OthersHelpManyCallers) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum = 0;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round)
        parallel_for(16, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 8 * 500 * 16);
}

TEST_F(ThreadsTest, WhatIsNestedRunsInItsThread) {
  std::atomic<int> inner = 0;
  parallel_for(8, 1, [&](int64_t, int64_t) {
    const auto thread = std::this_thread::get_id();
    parallel_for(8, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      inner += static_cast<int>(end - begin);
    });
  });
  EXPECT_EQ(inner, 64);
}

TEST_F(ThreadsTest, AnExceptionReachesTheCaller) {
  for (int64_t bad = 0; bad < 8; ++bad) {
    EXPECT_THROW(parallel_for(8, 1,
                              [&](int64_t begin, int64_t) {
                                if (begin == bad) throw std::runtime_error("bad");
                              }),
                 std::runtime_error);
  }
  EXPECT_EQ(visits(100, 1), std::vector<int>(100, 1));
}

TEST_F(ThreadsTest, AForkedChildWorks) {
#ifdef VERNIER_SANITIZED
  GTEST_SKIP() << "a child inherits the sanitizers' locks as the helpers held them";
#endif
  visits(100, 1);  // there are helpers, which a child does not inherit
  const pid_t child = fork();
  if (child == 0) {
    std::barrier all(4);
    parallel_for(4, 1, [&](int64_t, int64_t) { all.arrive_and_wait(); });
    _exit(visits(100, 1) == std::vector<int>(100, 1) ? 42 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

}  // namespace
}  // namespace vernier
