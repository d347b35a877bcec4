// Parts of runs that are captured once and replayed: what they are, and what is found of a stale one.
#include <gmock/gmock.h>

#include "exec/no_kernels.h"
#include "simulated/graph_requests.h"
#include "vernier/exec/execution.h"

namespace vernier::simulated {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

// y = relu(a b + c), as an engine with sessions.
class Replays : public ::testing::Test {
 protected:
  void build(const SimulatedOptions& options) {
    backend_.emplace(options);
    auto model = parse_graph(R"(
        graph "chain" (%a: f32[2, 3], %b: f32[3, 2], %c: f32[2, 2]) -> (%y) {
          %m: f32[2, 2] = MatMul(%a, %b) version 13 @"matmul" from ["matmul"]
          %s: f32[2, 2] = Add(%m, %c) version 13 @"add" from ["add"]
          %y: f32[2, 2] = Relu(%s) version 13 @"relu" from ["relu"]
        })");
    plan_ = std::make_shared<const Plan>(
        make_plan(std::move(model.graph), Backends(host_, {&*backend_}), {}, packed_));
  }

  struct Session {
    explicit Session(const Replays& test) : nodes(test.host_), execution(test.plan_, nodes, memory) {}

    static Datum floats(Dims dims, const std::vector<float>& values) {
      return Tensor::from(ElementType::kFloat, std::move(dims), values);
    }
    std::vector<float> run(float c, const RunOptions& options = {}) {
      const std::vector<Datum> inputs = {floats({2, 3}, {1, -2, 3, 4, 5, -6}),
                                         floats({3, 2}, {1, 0, 2, 1, -1, 3}), floats({2, 2}, {c, c, c, c})};
      execution.run(inputs, outputs, options);
      const auto y = outputs[0].tensor.values<float>();
      return {y.begin(), y.end()};
    }
    size_t captured() {
      size_t count = 0;
      for (const auto& entry : memory.replays().entries()) count += entry.replay != nullptr;
      return count;
    }

    DynamicShapeExecutor nodes;
    SessionMemory memory;
    Execution execution;
    std::vector<Datum> outputs;
  };

  static std::vector<float> expected(float c) {
    return {std::max(c - 6, 0.0F), std::max(c + 7, 0.0F), std::max(c + 20, 0.0F), std::max(c - 13, 0.0F)};
  }

  NoKernels host_;
  PackedConstants packed_;
  std::optional<SimulatedBackend> backend_;
  std::shared_ptr<const Plan> plan_;
};

TEST_F(Replays, ComputeWhatTheStepsDo) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    build({.seed = seed, .streams = 1});
    Session session(*this);
    for (const float c : {1.0F, 10.0F, -3.0F, 40.0F}) EXPECT_EQ(session.run(c), expected(c));
    EXPECT_EQ(session.captured(), 1U);
    EXPECT_EQ(session.memory.replays().entries().front().runs, 4U);
    EXPECT_THAT(backend_->device().findings(), IsEmpty());
  }
}

TEST_F(Replays, TheFirstRunCapturesNothing) {
  build({.streams = 1});
  Session session(*this);
  session.run(1);
  EXPECT_EQ(session.captured(), 0U);
  session.run(1);
  EXPECT_EQ(session.captured(), 1U);
}

TEST_F(Replays, OtherAddressesAreCapturedAgain) {
  build({.streams = 1});
  Session session(*this);
  for (const float c : {1.0F, 2.0F}) session.run(c);
  session.memory.at_least(backend_->device(), size_t{1} << 20);  // as a plan with a larger arena would
  for (const float c : {3.0F, 30.0F, 5.0F}) EXPECT_EQ(session.run(c), expected(c));
  EXPECT_EQ(session.captured(), 2U);
}

TEST_F(Replays, AStaleReplayOfMemoryThatHasMovedIsFound) {
  build({.streams = 1, .fault = DeviceFault{DeviceFault::Kind::kStaleReplay, 0}});
  Session session(*this);
  for (const float c : {1.0F, 2.0F}) session.run(c);
  session.memory.at_least(backend_->device(), size_t{1} << 20);
  EXPECT_EQ(session.run(3), expected(3));  // step by step
  EXPECT_THAT([&] { session.run(4); }, ThrowsMessage<Error>(HasSubstr("use of freed memory")));
}

TEST_F(Replays, SessionsDoNotShareThem) {
  build({.streams = 1});
  Session one(*this), other(*this);
  for (const float c : {1.0F, 10.0F, -3.0F}) {
    EXPECT_EQ(one.run(c), expected(c));
    EXPECT_EQ(other.run(c + 20), expected(c + 20));
  }
  EXPECT_EQ(one.captured(), 1U);
  EXPECT_EQ(other.captured(), 1U);
}

// Its results go to the memory of the first session.
TEST_F(Replays, AStaleReplayOfAnotherSessionIsFound) {
  build({.streams = 1, .fault = DeviceFault{DeviceFault::Kind::kStaleReplay, 0}});
  Session one(*this), other(*this);
  for (const float c : {1.0F, 10.0F}) one.run(c);
  EXPECT_EQ(other.run(20), expected(20));
  EXPECT_NE(other.run(30), expected(30));
}

TEST_F(Replays, WhoWatchesSeesEachStep) {
  build({.streams = 1});
  Session session(*this);
  size_t steps = 0;
  Observer observer;
  observer.after = [&](const ObservedStep&, int64_t) { ++steps; };
  for (int run = 0; run < 3; ++run) session.run(1, {.observer = &observer});
  EXPECT_EQ(steps, 3 * plan_->steps.size());
  EXPECT_THAT(session.memory.replays().entries(), IsEmpty());
}

TEST_F(Replays, ARunThatIsToldToStopDoes) {
  build({.streams = 1});
  Session session(*this);
  for (int run = 0; run < 3; ++run) session.run(1);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(session.run(1, {.stop = &stop}), Stopped);
  EXPECT_EQ(session.run(2), expected(2));
}

TEST_F(Replays, ADeviceThatCapturesNothingIsNotAsked) {
  build({.streams = 1, .captures = false});
  Session session(*this);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(session.run(2), expected(2));
  EXPECT_THAT(session.memory.replays().entries(), IsEmpty());
}

std::vector<std::string> splits_of(const Plan& plan) {
  std::vector<std::string> reasons;
  for (const ReplaySplit& split : replay_segments(plan).splits) reasons.push_back(split.reason);
  return reasons;
}

std::shared_ptr<const Plan> plan_of_chain(const SimulatedBackend& backend, const Backend& host,
                                          PackedConstants& packed) {
  auto model = parse_graph(R"(
      graph "chain" (%x: f32[4]) -> (%y) {
        %a: f32[4] = Neg(%x) version 13 @"a" from ["a"]
        %b: f32[4] = Abs(%a) version 13 @"b" from ["b"]
        %c: f32[4] = Sigmoid(%b) version 13 @"c" from ["c"]
        %d: f32[4] = Neg(%c) version 13 @"d" from ["d"]
        %y: f32[4] = Abs(%d) version 13 @"y" from ["y"]
      })");
  return std::make_shared<const Plan>(
      make_plan(std::move(model.graph), Backends(host, {&backend}), {}, packed));
}

TEST(ReplaySegments, WhatSplitsThemIsNamed) {
  const NoKernels host;
  PackedConstants packed;
  const SimulatedBackend backend({.streams = 1, .lacks = {"Sigmoid"}});
  const auto plan = plan_of_chain(backend, host, packed);
  EXPECT_THAT(splits_of(*plan), ElementsAre("a copy from simulated to cpu",
                                            "'c' runs on the CPU: the simulated device lacks Sigmoid",
                                            "a copy from cpu to simulated"));
  const auto found = replay_segments(*plan).segments;
  ASSERT_EQ(found.size(), 2U);
  for (const ReplaySegment& segment : found) {
    EXPECT_EQ(segment.end - segment.first, 2U);
    for (size_t i = segment.first; i < segment.end; ++i) EXPECT_NE(plan->steps[i].kernel, nullptr);
  }
}

TEST(ReplaySegments, WhatNothingSplitsIsOne) {
  const NoKernels host;
  PackedConstants packed;
  const SimulatedBackend backend({.streams = 1});
  const auto plan = plan_of_chain(backend, host, packed);
  EXPECT_THAT(splits_of(*plan), IsEmpty());
  const auto found = replay_segments(*plan).segments;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].end - found[0].first, 5U);
}

// Work that a real accelerator cannot capture is an error here.
TEST(SimulatedCapture, TakesNothingOfTheHostAndNoOtherStream) {
  SimulatedDevice device({.streams = 1});
  SimulatedStream stream(device), other(device);
  const auto buffer = device.allocate(8);
  float host = 1;
  std::string reason;
  const Event before = other.record();
  const std::function<void()> wrong[] = {
      [&] { stream.copy(&host, buffer->address(), 4); }, [&] { stream.copy(buffer->address(), &host, 4); },
      [&] { stream.wait(before); }, [&] { stream.record(); }, [&] { stream.release(device.allocate(4)); }};
  for (const auto& work : wrong)
    EXPECT_THAT([&] { device.capture(stream, work, reason); },
                ThrowsMessage<Error>(HasSubstr("is no part of what a stream captures")));
  stream.wait_on_host(stream.record());  // it captures no more
}

TEST(SimulatedCapture, DoesNothingBeforeItIsEnqueued) {
  SimulatedDevice device({.streams = 1});
  SimulatedStream stream(device);
  int count = 0;
  std::string reason;
  const auto replay = device.capture(
      stream, [&] { stream.enqueue("count", {}, [&] { ++count; }); }, reason);
  stream.wait_on_host(stream.record());
  EXPECT_EQ(count, 0);
  for (int i = 0; i < 3; ++i) replay->enqueue();
  stream.wait_on_host(stream.record());
  EXPECT_EQ(count, 3);
}

TEST(ReplayStoreTest, KeepsThoseThatWereAskedForLast) {
  ReplayStore store;
  const std::vector<const void*> here(3, &store), there(3, nullptr);
  ReplayStore::Entry* first = &store.entry(1, 0, here);
  EXPECT_EQ(&store.entry(1, 0, here), first);
  EXPECT_EQ(first->runs, 2U);
  EXPECT_NE(&store.entry(1, 0, there), first);
  EXPECT_NE(&store.entry(1, 5, here), first);
  EXPECT_NE(&store.entry(2, 0, here), first);
  for (size_t step = 0; step < 2 * ReplayStore::kMostEntries; ++step) {
    store.entry(3, step, here);
    EXPECT_EQ(&store.entry(1, 0, here), first);
  }
  EXPECT_EQ(store.entries().size(), ReplayStore::kMostEntries);
  EXPECT_EQ(store.entry(2, 0, here).runs, 1U);  // a new one
}

}  // namespace
}  // namespace vernier::simulated
