// Whatever happens in a forked child is reported, and ends that child alone.
#include "vernier/base/forked_work.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "vernier/base/error.h"
#include "vernier/base/threads.h"

namespace vernier {
namespace {

using testing::HasSubstr;

constexpr double kSeconds = 20;  // nothing here takes so long unless it hangs

ForkedResult run(const std::function<std::string(ForkedProgress&)>& work, double step_seconds = kSeconds) {
  return run_forked(
      [&](ForkedProgress& progress) {
        progress.begin(7);
        return work(progress);
      },
      step_seconds);
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

TEST(ForkedWork, TheAnswerComesBackAndNothingElse) {
  int changed = 1;
  const ForkedResult result = run([&](ForkedProgress&) {
    changed = 2;
    return std::string("the answer");
  });
  EXPECT_EQ(result.answer, "the answer");
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(changed, 1);
  EXPECT_FALSE(has_children());
}

TEST(ForkedWork, AnswersMayBeLong) {
  EXPECT_EQ(run([](ForkedProgress&) { return std::string(3'000'000, 'x'); }).answer.size(), 3'000'000U);
  EXPECT_EQ(run([](ForkedProgress&) { return std::string(); }).answer, "");
}

TEST(ForkedWork, ThreadsOfTheChildWork) {
  std::atomic<int64_t> sum = 0;
  parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  const ForkedResult result = run([&](ForkedProgress&) {
    parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    return std::to_string(sum);
  });
  EXPECT_EQ(result.answer, "2000");
  EXPECT_EQ(sum, 1000);
}

TEST(ForkedWork, ACrashIsTold) {
  for (const int signal : {SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGBUS}) {
    const ForkedResult result = run([&](ForkedProgress& progress) {
      progress.begin(9);
      std::raise(signal);
      return std::string("an answer");
    });
    EXPECT_EQ(result.failure, fmt::format("crashed: signal {} ({})", signal, ::strsignal(signal)));
    EXPECT_EQ(result.task, 9U);
    EXPECT_FALSE(has_children());
  }
  const auto killed = run([](ForkedProgress&) -> std::string { return std::raise(SIGKILL), ""; });
  EXPECT_THAT(killed.failure, HasSubstr("was killed: signal 9 (Killed), as the system does where memory"));
}

// A fault of the processor, not a signal that is sent.
TEST(ForkedWork, AccessToNoMemoryIsTold) {
  const auto result = run([](ForkedProgress&) {
    void* forbidden = ::sbrk(0);  // beyond what the process has
    static_cast<volatile char*>(forbidden)[size_t{1} << 30] = 1;
    return std::string();
  });
  EXPECT_EQ(result.failure, "crashed: signal 11 (Segmentation fault)");
}

TEST(ForkedWork, AnEndWithoutAnAnswerIsTold) {
  for (const int status : {0, 3}) {
    const auto result = run([&](ForkedProgress&) -> std::string { ::_exit(status); });
    EXPECT_EQ(result.failure, fmt::format("ended the process with exit status {}", status));
  }
}

TEST(ForkedWork, AChildThatHangsIsKilled) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run(
      [](ForkedProgress&) -> std::string {
        for (;;) ::pause();
      },
      0.3);
  EXPECT_EQ(result.failure, "did not end within 0.3 s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_FALSE(has_children());
}

TEST(ForkedWork, TheLimitIsOfOneStep) {
  const auto result = run(
      [](ForkedProgress& progress) {
        for (uint64_t step = 0; step < 20; ++step) {
          progress.begin(step);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return std::string("done");
      },
      1);
  EXPECT_EQ(result.answer, "done");
}

TEST(ForkedWork, AChildThatCannotBeginIsAnError) {
  try {
    run_forked([](ForkedProgress&) -> std::string { ::_exit(1); }, kSeconds);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("--isolate-trials"));
  }
}

// The children of a process that is killed do not outlive it.
TEST(ForkedWork, TheChildEndsWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    run([&](ForkedProgress&) -> std::string {
      const pid_t own = ::getpid();
      if (::write(ends[1], &own, sizeof own) < 0) ::_exit(1);
      for (;;) ::pause();
    });
    ::_exit(0);
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(::kill(child, 0), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    // Whoever adopts it may leave it a zombie, which has no memory map.
    std::string map = fmt::format("/proc/{}/statm", child);
    FILE* file = std::fopen(map.c_str(), "r");
    int pages = 0;
    gone = file == nullptr || std::fscanf(file, "%d", &pages) != 1 || pages == 0;
    if (file != nullptr) std::fclose(file);
    ::usleep(10'000);
  }
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace vernier
