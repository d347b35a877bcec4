// Runs in the background, cancelled runs, and handles that die in every order.
#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <thread>

#include "api/models.h"
#include "vernier/vernier.h"

namespace vernier::test {
namespace {

using ::testing::ElementsAreArray;

template <class T>
std::vector<T> copy(const TensorView& view) {
  const auto values = view.values<T>();
  return {values.begin(), values.end()};
}

ErrorCode code_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

struct Async : ::testing::Test {
  Engine engine = Engine::build(dense_model().path());
  std::vector<float> x = {1, 2, 3, -1, 0.5, 4};

  Session bound() {
    Session session(engine, {.threads = 1});
    session.bind_input("x", x, {2, 3});
    return session;
  }
};

// A run that takes minutes, unless it is cancelled.
struct Endless : ::testing::Test {
  Engine engine = Engine::build(loop_model().path());
  Session session{engine, {.threads = 1}};
  std::vector<float> state = std::vector<float>(16, 0.1F);
  std::vector<int64_t> trips = {1'000'000'000};

  Endless() {
    session.bind_input("s", state, {4, 4});
    session.bind_input("trips", trips, {});
  }
  void expect_usable() {
    trips[0] = 3;
    const Outputs outputs = session.run();
    Session other(engine, {.threads = 1});
    other.bind_input("s", state, {4, 4});
    other.bind_input("trips", trips, {});
    const Outputs expected = other.run();
    EXPECT_EQ(copy<float>(outputs["y"]), copy<float>(expected["y"]));
  }
};

TEST_F(Async, TheEventGivesTheOutputs) {
  Session session = bound();
  for (int i = 0; i < 50; ++i) {
    x[0] = static_cast<float>(i);
    Event event = session.run_async();
    const Outputs outputs = event.wait();
    EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(x)));
    EXPECT_EQ(code_of([&] { event.wait(); }), ErrorCode::kUsage);
    EXPECT_TRUE(event.ready());
  }
}

TEST_F(Async, ASessionIsBusyUntilItsEventWasWaitedFor) {
  Session session = bound();
  std::vector<float> y(4);
  Event event = session.run_async();
  EXPECT_EQ(code_of([&] { session.run(); }), ErrorCode::kBusy);
  EXPECT_EQ(code_of([&] { Event other = session.run_async(); }), ErrorCode::kBusy);
  EXPECT_EQ(code_of([&] { session.bind_input("x", x, {2, 3}); }), ErrorCode::kBusy);
  EXPECT_EQ(code_of([&] { session.bind_output("y", y, {2, 2}); }), ErrorCode::kBusy);
  EXPECT_EQ(code_of([&] { session.unbind("x"); }), ErrorCode::kBusy);
  EXPECT_EQ(code_of([&] { session.profile(); }), ErrorCode::kBusy);
  const Outputs outputs = event.wait();
  EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(x)));
  const Outputs again = session.run();
  EXPECT_THAT(copy<float>(again["y"]), ElementsAreArray(dense_result(x)));
}

TEST_F(Async, FourThreadsOnOneEngine) {
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> mine = x;
      Session session(engine, {.threads = 1});
      for (int i = 0; i < 100; ++i) {
        mine.resize(static_cast<size_t>(3 * (1 + (t + i) % 3)), 2);
        mine[0] = static_cast<float>(t * 100 + i);
        session.bind_input("x", mine, {static_cast<int64_t>(mine.size() / 3), 3});
        Event event = session.run_async();
        const Outputs outputs = event.wait();
        right += copy<float>(outputs["y"]) == dense_result(mine) ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 400);
}

TEST_F(Async, HandlesDieInEveryOrder) {
  enum { kEngine, kSession, kEvent };
  std::vector<int> order = {kEngine, kSession, kEvent};
  do {
    std::optional<Engine> mortal = Engine::build(dense_model().path());
    std::optional<Session> session(std::in_place, *mortal, SessionOptions{.threads = 1});
    session->bind_input("x", x, {2, 3});
    std::optional<Event> event = session->run_async();
    for (const int each : order) {
      if (each == kEngine) mortal.reset();
      if (each == kSession) session.reset();
      if (each == kEvent) event.reset();
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Async, AnEventOutlivesItsSessionAndItsEngine) {
  std::optional<Engine> mortal = Engine::build(dense_model().path());
  std::optional<Session> session(std::in_place, *mortal, SessionOptions{.threads = 1});
  session->bind_input("x", x, {2, 3});
  Event event = session->run_async();
  session.reset();  // waits
  mortal.reset();
  EXPECT_TRUE(event.ready());
  const Outputs outputs = event.wait();
  EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(x)));
}

TEST_F(Async, AnEventThatIsOverwrittenOrDroppedFreesItsSession) {
  Session one = bound(), two = bound();
  Event event = one.run_async();
  event = two.run_async();
  one.run();
  Event& same = event;
  event = std::move(same);
  { const Event dropped = std::move(event); }
  two.run();
}

TEST_F(Endless, CancelEndsARunAndTheSessionStaysUsable) {
  Event event = session.run_async();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(event.ready());
  session.cancel();
  EXPECT_EQ(code_of([&] { event.wait(); }), ErrorCode::kCancelled);
  expect_usable();
}

TEST_F(Endless, CancelRightAfterTheStart) {
  Event event = session.run_async();
  session.cancel();
  EXPECT_EQ(code_of([&] { event.wait(); }), ErrorCode::kCancelled);
  expect_usable();
}

TEST_F(Endless, CancelFromAnotherThreadEndsRun) {
  std::atomic<bool> ended = false;
  std::jthread other([&] {
    while (!ended) {
      session.cancel();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(code_of([&] { session.run(); }), ErrorCode::kCancelled);
  ended = true;
  other.join();
  expect_usable();
}

TEST_F(Endless, CancelWithoutARunDoesNothing) {
  session.cancel();
  expect_usable();
}

TEST_F(Endless, TwoThreadsAtOnceAreRefused) {
  Event event = session.run_async();
  std::jthread other([&] { EXPECT_EQ(code_of([&] { session.run(); }), ErrorCode::kBusy); });
  other.join();
  session.cancel();
  EXPECT_EQ(code_of([&] { event.wait(); }), ErrorCode::kCancelled);
}

// A run may have ended before it is cancelled, but not one after the other. That a run stops before its very
// next step is tested in tests/engine.
TEST(Cancel, EndsAChainBetweenItsSteps) {
  const Engine engine = Engine::build(long_model(400).path());
  Session session(engine, {.threads = 1});
  const std::vector<float> x(64 * 64, 0.01F);
  session.bind_input("x", x, {64, 64});
  const Outputs whole = session.run();
  const auto expected = copy<float>(whole["y"]);
  int cancelled = 0;
  for (int runs = 0; cancelled < 20; ++runs) {
    ASSERT_LT(runs, 2000);
    Event event = session.run_async();
    session.cancel();
    try {
      const Outputs outputs = event.wait();
      EXPECT_EQ(copy<float>(outputs["y"]), expected);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      ++cancelled;
    }
  }
  const Outputs after = session.run();
  EXPECT_EQ(copy<float>(after["y"]), expected);
}

}  // namespace
}  // namespace vernier::test
