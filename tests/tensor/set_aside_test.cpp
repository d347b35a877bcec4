#include "vernier/tensor/set_aside.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "vernier/base/file.h"

namespace vernier {
namespace {

Tensor counted(int64_t size, double first) {
  std::vector<double> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i % 1000);
  return Tensor::from_doubles(ElementType::kFloat, {size}, values);
}

// Counts the files that this process has mapped now. (Sanitizers keep what else was freed.)
size_t resident_bytes() {
  size_t all = 0, resident = 0, of_files = 0;
  std::ifstream("/proc/self/statm") >> all >> resident >> of_files;
  return of_files * static_cast<size_t>(::getpagesize());
}

constexpr int64_t kMillion = 1 << 20;

TEST(SetAside, HoldsTheSameElements) {
  const Tensor tensor = counted(kMillion, 1);
  const Tensor aside = set_aside(tensor);
  EXPECT_TRUE(aside.is_deferred());
  EXPECT_TRUE(aside.identical(tensor));
  EXPECT_EQ(aside.dims(), tensor.dims());
}

TEST(SetAside, SmallTensorsStay) {
  EXPECT_FALSE(set_aside(counted(16, 1)).is_deferred());
  EXPECT_FALSE(set_aside(Tensor()).is_defined());
}

TEST(SetAside, TakesNoMemoryNorWhatWasReadLongAgo) {
  constexpr int kMany = 64;  // of 4 MiB
  std::vector<Tensor> all;
  const size_t before = resident_bytes();
  for (int i = 0; i < kMany; ++i) all.push_back(set_aside(counted(kMillion, i)));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kMany; ++i) {
      const auto values = all[static_cast<size_t>(i)].values<float>();
      EXPECT_EQ(values.front(), static_cast<float>(i));
      EXPECT_EQ(values.back(), static_cast<float>(i + (kMillion - 1) % 1000));
      EXPECT_LT(resident_bytes(), before + (size_t{16} << 20)) << round << ", " << i;
    }
  }
}

// Memory that was given back for others is read again.
TEST(SetAside, MemoryOnceGivenIsGood) {
  const Tensor first = set_aside(counted(kMillion, 7));
  const auto values = first.values<float>();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(set_aside(counted(kMillion, i)).values<float>()[1], i + 1.0F);
  EXPECT_EQ(values[2], 9.0F);
}

TEST(SetAside, OfSeveralThreads) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 20; ++i) {
        const Tensor tensor = counted(kMillion / 8, 100 * thread + i);
        EXPECT_TRUE(set_aside(tensor).identical(tensor));
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST(SetAside, AForkedChildHasItsOwn) {
  Tensor mine = set_aside(counted(kMillion, 1));
  const pid_t child = ::fork();
  if (child == 0) {
    const Tensor other = counted(kMillion, 500);
    const Tensor kept = set_aside(other);
    const bool is_there = mine.values<float>()[3] == 4;
    mine = Tensor();  // which frees space in no file that is the child's
    ::_exit(is_there && kept.identical(other) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(mine.identical(counted(kMillion, 1)));
}

TEST(SetAside, LeavesNoFile) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    const Tensor kept = set_aside(counted(kMillion, 1));
    ::_exit(kept.is_deferred() && std::filesystem::is_empty(folder.path()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// As on a full disk, or where there is no folder for it.
TEST(SetAside, StaysInMemoryWhereThereIsNoFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TMPDIR", "/nowhere/at/all", 1);
    const Tensor tensor = counted(kMillion, 1);
    const Tensor kept = set_aside(tensor);
    ::_exit(!kept.is_deferred() && kept.identical(tensor) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace vernier
