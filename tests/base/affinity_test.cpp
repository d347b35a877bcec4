#include "vernier/base/affinity.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/wait.h>

#include <mutex>
#include <set>
#include <thread>

#include "vernier/base/error.h"
#include "vernier/base/thread_pool.h"
#include "vernier/base/threads.h"

namespace vernier {
namespace {

std::vector<int> cores_of_thread() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

TEST(Affinity, ListsOfCores) {
  using testing::ElementsAre;
  EXPECT_THAT(parse_cores("0"), ElementsAre(0));
  EXPECT_THAT(parse_cores("8,0-3"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_cores("1-2,2,1"), ElementsAre(1, 2));
  for (const char* list : {"", ",", "1,", "3-1", "-1", "a", "1-", "1x", "0-99999999", " 1"})
    EXPECT_THROW(parse_cores(list), Error) << list;
}

// In a child: what it binds stays bound. Its exit status says what went wrong.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Affinity, ThreadsOfThePoolHaveACoreEach) {
  const auto available = cores_of_thread();
  if (available.size() < 2) GTEST_SKIP() << "needs two cores";
  const std::vector<int> two(available.begin(), available.begin() + 2);
  EXPECT_EQ(in_child([&] {
              run_on_cores(two);
              if (cores_of_thread() != two) return 1;
              std::mutex mutex;
              std::set<std::vector<int>> helpers;
              const auto caller = std::this_thread::get_id();
              // Until the helper has had a chunk.
              for (int attempt = 0; attempt < 10000 && helpers.empty(); ++attempt) {
                auto look = [&](int64_t) {
                  const std::lock_guard lock(mutex);
                  if (std::this_thread::get_id() != caller) helpers.insert(cores_of_thread());
                };
                ThreadPool::instance().run(
                    64, 2,
                    {[](void* data, int64_t chunk) { (*static_cast<decltype(look)*>(data))(chunk); }, &look});
              }
              return helpers == std::set{std::vector{two[1]}} ? 0 : 2;
            }),
            0);
}

TEST(Affinity, CoresThatAreNotToBeHadAreRefused) {
  const auto before = cores_of_thread();
  EXPECT_THROW(run_on_cores({CPU_SETSIZE - 1}), Error);
  EXPECT_THROW(run_on_cores({-1}), Error);
  EXPECT_THROW(run_on_cores({}), Error);
  EXPECT_THROW(cores_of_node(1000), Error);
  EXPECT_THROW(prefer_memory_of_node(5000), Error);
  EXPECT_EQ(cores_of_thread(), before);
}

}  // namespace
}  // namespace vernier
