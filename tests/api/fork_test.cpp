// Processes that are forked from one that has run: libraries of threads do not survive that by themselves.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "api/dense_session.h"
#include "vernier/vernier_c.h"

namespace vernier::test {
namespace {

constexpr int kRight = 42;

// The exit status of a child that calls this; a signal (of the alarm, if it hangs) as a negative number.
int status_of_child(const std::function<bool()>& child) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(30);
    try {
      _exit(child() ? kRight : 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
      _exit(2);
    }
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Large enough that its products are shared by threads.
struct Forked : ::testing::Test {
  const ModelFile model{R"(graph "g" (%x: f32[256, 256], %w: f32[256, 256]) -> (%y) {
    %a: f32[*] = MatMul(%x, %w) version 24 @"a" from ["a"]
    %b: f32[*] = Softmax(%a) {axis = 1} version 24 @"b" from ["b"]
    %y: f32[*] = MatMul(%b, %w) version 24 @"y" from ["y"]
  })"};
  std::vector<float> x = std::vector<float>(256 * 256, 0.25F);
  Engine engine = Engine::build(model.path());
  Session session = bound(engine);
  std::vector<float> expected = result(session.run());

  Forked() {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
    expected = result(session.run());
  }
  Session bound(const Engine& of) {
    Session made(of, {.threads = 2});
    for (const char* input : {"x", "w"}) made.bind_input(input, x, {256, 256});
    return made;
  }
  static std::vector<float> result(const Outputs& outputs) { return copy<float>(outputs["y"]); }
};

TEST_F(Forked, RunsASessionThatWasThere) {
  EXPECT_EQ(
      status_of_child([&] { return result(session.run()) == expected && result(session.run()) == expected; }),
      kRight);
  EXPECT_EQ(result(session.run()), expected);
}

TEST_F(Forked, BuildsAndRunsAnEngineOfItsOwn) {
  EXPECT_EQ(status_of_child([&] {
              const Engine made = Engine::build(model.path());
              return result(bound(made).run()) == expected;
            }),
            kRight);
}

TEST_F(Forked, RunsInTheBackground) {
  session.run_async().wait();  // its thread stays with the parent
  EXPECT_EQ(status_of_child([&] {
              const bool same = result(session.run_async().wait()) == expected;
              Session gone = std::move(session);  // ends, with the thread it made
              return same;
            }),
            kRight);
  EXPECT_EQ(result(session.run_async().wait()), expected);
}

TEST_F(Forked, ProfilesAndForksAgain) {
  EXPECT_EQ(status_of_child([&] {
              if (session.profile(1).empty()) return false;
              return status_of_child([&] { return result(session.run()) == expected; }) == kRight;
            }),
            kRight);
}

TEST_F(Forked, ErrorsReachTheCaller) {
  EXPECT_EQ(status_of_child([&] {
              return error_of([] { Engine::build("/nonexistent.onnx"); }).code() == ErrorCode::kBadInput &&
                     error_of([&] { Engine::load(model.path()); }).code() == ErrorCode::kBadInput;
            }),
            kRight);
}

TEST(ForkedLoop, ARunThatIsUnderWayStaysWithTheParent) {
  const Engine engine = Engine::build(loop_model().path());
  Session session(engine, {.threads = 1});
  std::vector<float> state(16, 0.1F);
  std::vector<int64_t> trips = {1'000'000'000};
  session.bind_input("s", state, {4, 4});
  session.bind_input("trips", trips, {});
  Event event = session.run_async();
  EXPECT_EQ(status_of_child([&] {
              if (error_of([&] { session.run(); }).code() != ErrorCode::kBusy) return false;
              return error_of([&] { event.wait(); }).code() == ErrorCode::kUnsupported;
            }),
            kRight);
  EXPECT_EQ(status_of_child([&] {
              Event dropped = std::move(event);
              return true;
            }),
            kRight);
  session.cancel();
  expect_error(ErrorCode::kCancelled, {}, [&] { event.wait(); });
}

TEST_F(Forked, ThroughTheInterfaceInC) {
  vernier_engine* c_engine = nullptr;
  vernier_session* c_session = nullptr;
  ASSERT_EQ(vernier_engine_build(model.path().c_str(), &c_engine), VERNIER_OK);
  ASSERT_EQ(vernier_session_create(c_engine, 2, &c_session), VERNIER_OK);
  const int64_t dims[2] = {256, 256};
  for (const char* input : {"x", "w"})
    ASSERT_EQ(vernier_session_bind_input(c_session, input, VERNIER_FLOAT, dims, 2, x.data()), VERNIER_OK);
  ASSERT_EQ(vernier_session_run(c_session), VERNIER_OK);
  EXPECT_EQ(status_of_child([&] {
              vernier_tensor y;
              vernier_engine* other = nullptr;
              if (vernier_session_run(c_session) != VERNIER_OK) return false;
              if (vernier_session_output(c_session, "y", &y) != VERNIER_OK) return false;
              const auto* values = static_cast<const float*>(y.data);
              return std::equal(expected.begin(), expected.end(), values) &&
                     vernier_engine_build(model.path().c_str(), &other) == VERNIER_OK;
            }),
            kRight);
  vernier_session_release(c_session);
  vernier_engine_release(c_engine);
}

}  // namespace
}  // namespace vernier::test
