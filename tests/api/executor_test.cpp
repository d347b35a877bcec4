// Engines that work with threads of the application's.
#include <atomic>
#include <thread>

#include "api/dense_session.h"
#include "vernier/vernier_c.h"

namespace vernier::test {
namespace {

std::vector<float> run_of(const Engine& engine, int threads) {
  Session session(engine, {.threads = threads});
  std::vector<float> images(64 * 8 * 8);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 37) / 37;
  session.bind_input(engine.inputs()[0].name, images, {64, 1, 8, 8});
  const Outputs outputs = session.run();
  return copy<float>(outputs.at(0));
}

struct Executor : ::testing::Test {
  const Engine engine = Engine::build(kDigits);
  const std::vector<float> expected = run_of(engine, 1);
  std::atomic<int> submitted = 0, run = 0;
  ~Executor() override { use_executor(nullptr); }
};

TEST_F(Executor, ItsThreadsRunTheSameBits) {
  use_executor([&](std::function<void()> task) {
    ++submitted;
    std::jthread([&, task = std::move(task)] {
      task();
      ++run;
    }).detach();
  });
  EXPECT_THAT(run_of(engine, 3), ElementsAreArray(expected));
  EXPECT_GT(submitted, 0);
  while (run < submitted) std::this_thread::yield();
  const int before = submitted;
  use_executor(nullptr);
  EXPECT_THAT(run_of(engine, 3), ElementsAreArray(expected));
  EXPECT_EQ(submitted, before);
}

TEST_F(Executor, InC) {
  const auto submit = [](void* context, void (*task)(void*), void* data) {
    ++*static_cast<std::atomic<int>*>(context);
    task(data);  // in the calling thread, before it begins itself
  };
  ASSERT_EQ(vernier_use_executor(submit, &submitted), VERNIER_OK);
  EXPECT_THAT(run_of(engine, 3), ElementsAreArray(expected));
  EXPECT_GT(submitted, 0);
  ASSERT_EQ(vernier_use_executor(nullptr, nullptr), VERNIER_OK);
}

}  // namespace
}  // namespace vernier::test
