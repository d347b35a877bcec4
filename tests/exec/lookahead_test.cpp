// Plans that are made ahead of sizes that change by the same step.
#include "vernier/exec/lookahead.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <thread>

#include "exec/no_kernels.h"
#include "vernier/base/thread_limit.h"
#include "vernier/base/threads.h"

namespace vernier {
namespace {

// A program of one input, whose plans are noted as they are made: for how many rows, and by which thread.
class LookaheadTest : public testing::Test {
 protected:
  LookaheadTest() {
    auto graph = std::make_unique<Graph>();
    graph->outputs = {graph->add_input("x", ValueType::of(ElementType::kFloat, Shape{Dim::symbol("n"), 4}))};
    const auto compile = [this](const Graph&, const std::vector<ValueType>& inputs, Program::Bindings, bool) {
      return make((*inputs[0].tensor.shape)[0].constant().value());
    };
    program_ = std::make_unique<Program>(std::move(graph), compile, kernels_);
    ahead_ = std::make_unique<Lookahead>(*program_);
  }

  std::shared_ptr<const Plan> make(int64_t rows) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(thread_count(), 3);
    made_.emplace(rows, std::this_thread::get_id());
    noted_.notify_all();
    if (rows > most_) throw bad_input("too many rows");
    auto plan = std::make_shared<Plan>();
    plan->resized = std::make_shared<Graph>();  // as plans of further sizes are, which no program keeps
    return plan;
  }

  // Whether the plan was there when it was asked for.
  bool run(int64_t rows) {
    const std::vector<Datum> inputs{Tensor(ElementType::kFloat, {rows, 4})};
    const auto key = Program::key(inputs);
    const bool was_there = ahead_->take(key) != nullptr;
    if (!was_there) program_->plan(inputs);
    ahead_->note(key, inputs, {});
    return was_there;
  }

  bool run_all(std::initializer_list<int64_t> rows) {
    return std::any_of(rows.begin(), rows.end(), [&](int64_t each) { return run(each); });
  }

  // Whether a plan for so many rows is made within the time.
  bool is_made(int64_t rows, std::chrono::milliseconds time = std::chrono::seconds(10)) {
    std::unique_lock lock(mutex_);
    return noted_.wait_for(lock, time, [&] { return made_.contains(rows); });
  }
  // By which threads they were made for so many rows.
  std::vector<std::thread::id> makers(int64_t rows) {
    const std::lock_guard lock(mutex_);
    std::vector<std::thread::id> found;
    for (auto [at, end] = made_.equal_range(rows); at != end; ++at) found.push_back(at->second);
    return found;
  }
  bool is_not_made(int64_t rows) { return !is_made(rows, std::chrono::milliseconds(20)); }

  const ThreadLimit threads_{3};
  const NoKernels kernels_;
  int64_t most_ = 1000;
  std::mutex mutex_;
  std::condition_variable noted_;
  std::multimap<int64_t, std::thread::id> made_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Lookahead> ahead_;
};

TEST_F(LookaheadTest, TheNextPlanIsMadeByAnotherThread) {
  EXPECT_FALSE(run_all({3, 4, 5}));
  ASSERT_TRUE(is_made(6));
  EXPECT_TRUE(run(6));
  ASSERT_EQ(makers(6).size(), 1U);
  EXPECT_NE(makers(6)[0], std::this_thread::get_id());
  ASSERT_TRUE(is_made(7));
}

TEST_F(LookaheadTest, SizesMayShrinkUntilThereIsNothing) {
  run_all({4, 2});
  EXPECT_TRUE(is_not_made(0));  // it was one step
  run(0);
  EXPECT_TRUE(is_not_made(-2));
}

TEST_F(LookaheadTest, NothingIsMadeForSizesThatChangeAnyhow) {
  EXPECT_FALSE(run_all({3, 4, 6, 9, 5, 5, 5, 1}));
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(made_.size(), 8U);
}

TEST_F(LookaheadTest, APlanForOtherSizesThanCameIsNotTaken) {
  run_all({3, 4, 5});
  ASSERT_TRUE(is_made(6));
  EXPECT_FALSE(run(8));
  EXPECT_EQ(makers(8).size(), 1U);
}

// Whoever runs at these sizes is told then.
TEST_F(LookaheadTest, SizesThatHaveNoPlanAreNoErrorAhead) {
  most_ = 5;
  run_all({3, 4, 5});
  ASSERT_TRUE(is_made(6));
  EXPECT_THROW(run(6), Error);
}

TEST(ProgramKey, AdvancesSizesAlone) {
  const auto key_of = [](ElementType type, const Dims& dims) {
    const std::vector<Datum> inputs{Tensor(type, dims)};
    return Program::key(inputs);
  };
  const auto advance = [&](const Program::Key& from, const Program::Key& to) {
    Program::Key key = to, step = to;
    for (size_t i = 0; i < step.size(); ++i) step[i] -= from[i];
    std::vector<ValueType> types{ValueType::of(ElementType::kFloat, Shape{2, 3})};
    const bool moved = Program::advance(key, types, step);
    return moved ? types[0].text() : "";
  };
  const auto from = key_of(ElementType::kFloat, {1, 3});
  EXPECT_EQ(advance(from, key_of(ElementType::kFloat, {2, 3})), "f32[3, 3]");
  EXPECT_EQ(advance(from, key_of(ElementType::kInt64, {2, 3})), "");
  EXPECT_EQ(advance(key_of(ElementType::kFloat, {5, 3}), key_of(ElementType::kFloat, {2, 3})),
            "");  // -1 rows
}

}  // namespace
}  // namespace vernier
