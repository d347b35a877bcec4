// Threads of runs in the steady state: none is made and none ends, whatever teams the steps have.
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <list>

#include "engine/weighted_model.h"
#include "vernier/base/thread_limit.h"
#include "vernier/builder/builder.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

std::set<std::string> threads_of_this_process() {
  std::set<std::string> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    all.insert(task.path().filename().string());
  return all;
}

// Steps of much and of little work, own kernels and oneDNN's, so that their teams differ.
Model network() {
  return with_weights(R"(graph "g" (%x: f32[n, 3, 40, 40], %w0: f32[32, 3, 3, 3], %w1: f32[32, 1, 3, 3],
      %w2: f32[64, 32, 1, 1], %w3: f32[64, 64, 3, 3], %w4: f32[64, 10]) -> (%y) {
    %c0: f32[*] = Conv(%x, %w0) {pads = ints[1, 1, 1, 1], strides = ints[2, 2]} version 11 @"c0" from ["c0"]
    %r0: f32[*] = Relu(%c0) version 14 @"r0" from ["r0"]
    %c1: f32[*] = Conv(%r0, %w1) {group = 32, pads = ints[1, 1, 1, 1]} version 11 @"c1" from ["c1"]
    %c2: f32[*] = Conv(%c1, %w2) version 11 @"c2" from ["c2"]
    %c3: f32[*] = Conv(%c2, %w3) {pads = ints[1, 1, 1, 1]} version 11 @"c3" from ["c3"]
    %g: f32[*] = GlobalAveragePool(%c3) version 1 @"g" from ["g"]
    %f: f32[*] = Flatten(%g) version 13 @"f" from ["f"]
    %m: f32[*] = MatMul(%f, %w4) version 13 @"m" from ["m"]
    %y: f32[*] = Softmax(%m) {axis = -1} version 13 @"y" from ["y"]
  })");
}

Tensor image(int64_t batch) {
  Tensor tensor(ElementType::kFloat, {batch, 3, 40, 40});
  auto* values = static_cast<float*>(tensor.mutable_raw());
  for (int64_t i = 0; i < tensor.size(); ++i) values[i] = static_cast<float>(i * 37 % 17) / 16;
  return tensor;
}

std::shared_ptr<const Engine> engine_for(const Model& model, int threads) {
  const ThreadLimit limit(threads);
  BuildOptions options;
  options.tune.level = 0;
  return Builder(model, options).build({}, Judge::kNever).engine;
}

class SteadyThreads : public testing::Test {
 protected:
  // The outputs of all sessions, the same in each round, and the threads that there are afterwards.
  std::vector<Datum> run_all() {
    std::vector<Datum> all;
    for (Session& session : sessions_)
      for (const int64_t batch : {1, 4, 2}) all.push_back(session.run({{"x", image(batch)}}).at("y"));
    return all;
  }

  const Model model_ = network();
  std::list<Session> sessions_;
};

TEST_F(SteadyThreads, NoneIsMadeOrEnded) {
  for (const int threads : {2, 4, 16}) sessions_.emplace_back(engine_for(model_, threads), threads);
  run_all();
  const auto before = threads_of_this_process();
  EXPECT_GE(before.size(), 16U);
  for (int round = 0; round < 20; ++round) run_all();
  // Sizes that no session has met make no thread either.
  for (Session& session : sessions_) session.run({{"x", image(3)}});
  EXPECT_EQ(threads_of_this_process(), before);
}

// As in a container: the numbers of threads stay what was asked for.
TEST_F(SteadyThreads, NoneIsMadeOrEndedWithFewerCores) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    CPU_SET(core, &one);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  for (const int threads : {2, 4}) sessions_.emplace_back(engine_for(model_, threads), threads);
  run_all();
  const auto before = threads_of_this_process();
  for (int round = 0; round < 20; ++round) run_all();
  EXPECT_EQ(threads_of_this_process(), before);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace vernier
