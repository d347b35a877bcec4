// Caches through the public interfaces: an output in the memory of an input, from run to run.
#include "api/dense_session.h"
#include "vernier/vernier_c.h"

namespace vernier::test {
namespace {

// Two lists of rows of four that grow by x, and the sum of each.
ModelFile growing_model() {
  return ModelFile(R"(graph "g" (%x: f32[2, new, 4], %past: f32[2, old, 4]) -> (%sum, %present) {
    const %rows = i64[1] hex"0100000000000000"
    %present: f32[*] = Concat(%past, %x) {axis = 1} version 24 @"grow" from ["grow"]
    %sum: f32[*] = ReduceSum(%present, %rows) {keepdims = 0} version 24 @"sum" from ["sum"]
  })");
}

struct Growing : ::testing::Test {
  static constexpr int64_t kCapacity = 5;
  Engine engine = Engine::build(growing_model().path());
  Session session{engine, {.threads = 1}};
  std::vector<float> memory = std::vector<float>(2 * kCapacity * 4, 7);
  std::vector<float> x;

  void bind(int64_t rows = 0) {
    session.bind_cache("past", "present", ElementType::kFloat, {2, kCapacity, 4}, memory.data(), rows);
  }
  Outputs run(int64_t rows, float value) {
    x.assign(static_cast<size_t>(2 * rows * 4), value);
    session.bind_input("x", x, {2, rows, 4});
    return session.run();
  }
  // Gives what a run with `rows` new rows yields.
  std::vector<float> result(const char* output, int64_t rows, float value) {
    const Outputs outputs = run(rows, value);
    return copy<float>(outputs[output]);
  }
};

TEST_F(Growing, EachRunGoesOnBehindTheOneBefore) {
  bind();
  EXPECT_EQ(result("sum", 2, 1), std::vector<float>(8, 2));
  EXPECT_EQ(session.cache_rows("past"), 2);
  EXPECT_EQ(result("sum", 1, 3), std::vector<float>(8, 5));
  EXPECT_EQ(session.cache_rows("past"), 3);
  EXPECT_EQ(memory, (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 7, 7, 7, 7, 7, 7, 7, 7,
                                        1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 7, 7, 7, 7, 7, 7, 7, 7}));
  session.set_cache_rows("past", 1);
  EXPECT_EQ(result("sum", 1, 5), std::vector<float>(8, 6));
  Event event = session.run_async();
  expect_error(ErrorCode::kBusy, {}, [&] { session.cache_rows("past"); });
  const Outputs outputs = event.wait();
  EXPECT_EQ(copy<float>(outputs["sum"]), std::vector<float>(8, 11));
  EXPECT_EQ(session.cache_rows("past"), 3);
  EXPECT_FALSE(session.profile(1).empty());
  EXPECT_EQ(session.cache_rows("past"), 3);
}

TEST_F(Growing, WhatTheCacheHoldsIsReadThere) {
  bind();
  const Outputs outputs = run(1, 1);
  expect_error(ErrorCode::kUsage, {"'present'", "cache"}, [&] { outputs["present"]; });
  session.unbind("present");
  expect_error(ErrorCode::kBadInput, {"'past'", "not given"}, [&] { session.run(); });
  const std::vector<float> past = {1, 2, 3, 4, 5, 6, 7, 8};
  session.bind_input("past", past, {2, 1, 4});
  EXPECT_EQ(result("present", 1, 1), (std::vector<float>{1, 2, 3, 4, 1, 1, 1, 1, 5, 6, 7, 8, 1, 1, 1, 1}));
  expect_error(ErrorCode::kBadInput, {"'past'", "no cache"}, [&] { session.cache_rows("past"); });
}

TEST_F(Growing, RowsThatTheCallerWroteAreThePast) {
  std::fill(memory.begin(), memory.begin() + 4, 2.0F);
  std::fill_n(memory.begin() + kCapacity * 4, 4, 2.0F);
  bind(1);
  EXPECT_EQ(result("sum", 1, 1), std::vector<float>(8, 3));
}

TEST_F(Growing, WhatDoesNotFitIsSaid) {
  const auto bind_as = [&](const char* past, const char* present, std::vector<int64_t> dims, int64_t rows) {
    session.bind_cache(past, present, ElementType::kFloat, dims, memory.data(), rows);
  };
  expect_error(ErrorCode::kBadInput, {"'other'"}, [&] { bind_as("other", "present", {2, 5, 4}, 0); });
  expect_error(ErrorCode::kBadInput, {"'other'"}, [&] { bind_as("past", "other", {2, 5, 4}, 0); });
  expect_error(ErrorCode::kBadInput, {"'past'", "f32[2, old, 4]"}, [&] {
    bind_as("past", "present", {2, 5, 3}, 0);
  });
  expect_error(ErrorCode::kBadInput, {"'past'", "5 rows", "6"}, [&] {
    bind_as("past", "present", {2, 5, 4}, 6);
  });
  expect_error(ErrorCode::kBadInput, {"rank 1"}, [&] { bind_as("past", "present", {5}, 0); });
  expect_error(ErrorCode::kBadInput, {"null"}, [&] {
    session.bind_cache("past", "present", ElementType::kFloat, {2, 5, 4}, nullptr);
  });
  bind();
  expect_error(ErrorCode::kBadInput, {"input 'x'", "overlaps", "'past'"}, [&] {
    session.bind_input("x", std::span<float>(memory).subspan(24, 8), {2, 1, 4});
  });
  expect_error(ErrorCode::kBadInput, {"output 'sum'", "overlaps", "'past'"}, [&] {
    session.bind_output("sum", std::span<float>(memory).subspan(0, 8), {2, 4});
  });
  expect_error(ErrorCode::kBadInput, {"'past'", "5 rows", "-1"}, [&] { session.set_cache_rows("past", -1); });
  expect_error(ErrorCode::kBadInput, {"'past'", "no room"}, [&] { run(6, 1); });
  EXPECT_EQ(session.cache_rows("past"), 0);
  EXPECT_EQ(result("sum", 5, 1), std::vector<float>(8, 5));
}

TEST_F(Growing, OtherSumsAreNoCache) {
  // The sum is no list of rows.
  session.bind_cache("past", "sum", ElementType::kFloat, {2, kCapacity, 4}, memory.data());
  expect_error(ErrorCode::kBadInput, {"'past'", "'sum'"}, [&] { run(1, 1); });
}

std::vector<float> sums_of(const Outputs& outputs) {
  return copy<float>(outputs["sum"]);
}

// In memory of the session's: on the device where the engine computes, or the host.
TEST(KeptCaches, StayInTheSessionUntilTheyAreRead) {
  for (const std::vector<std::string>& devices : {std::vector<std::string>{}, {"simulated"}}) {
    const Engine engine = Engine::build(growing_model().path(), {.devices = devices});
    Session session(engine, {.threads = 1});
    const size_t before = session.memory_bytes();
    session.keep_cache("past", "present", ElementType::kFloat, {2, 5, 4});
    EXPECT_GE(session.memory_bytes(), before + 2 * 5 * 4 * sizeof(float));
    std::vector<float> x(16, 1), rows(2 * 3 * 4);
    session.bind_input("x", x, {2, 2, 4});
    EXPECT_EQ(sums_of(session.run()), std::vector<float>(8, 2));
    x.assign(8, 3);
    session.bind_input("x", x, {2, 1, 4});
    EXPECT_EQ(sums_of(session.run()), std::vector<float>(8, 5));
    EXPECT_EQ(session.cache_rows("past"), 3);
    session.read_cache("past", rows.data(), rows.size() * sizeof(float));
    EXPECT_EQ(rows, (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3,  //
                                        1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3}));
    expect_error(ErrorCode::kBadInput, {"'past'", "96 bytes", "95"},
                 [&] { session.read_cache("past", rows.data(), rows.size() * sizeof(float) - 1); });
    EXPECT_FALSE(session.profile(1).empty());
    session.set_cache_rows("past", 1);
    EXPECT_EQ(sums_of(session.run()), std::vector<float>(8, 4));
    session.unbind("past");
    expect_error(ErrorCode::kBadInput, {"no cache"}, [&] { session.read_cache("past", rows.data(), 0); });
  }
}

TEST(KeptCaches, OfAnotherTypeAreRefused) {
  const Engine engine = Engine::build(growing_model().path());
  Session session(engine);
  const auto keep = [&](ElementType type, const std::vector<int64_t>& dims) {
    session.keep_cache("past", "present", type, dims);
  };
  expect_error(ErrorCode::kBadInput, {"'past'"}, [&] { keep(ElementType::kDouble, {2, 5, 4}); });
  expect_error(ErrorCode::kBadInput, {"'past'"}, [&] { keep(ElementType::kFloat, {-2, 5, 4}); });
  expect_error(ErrorCode::kBadInput, {"rank 1"}, [&] { keep(ElementType::kFloat, {5}); });
}

TEST_F(Growing, TheCInterfaceDoesTheSame) {
  vernier_engine* c_engine = nullptr;
  const ModelFile model = growing_model();
  ASSERT_EQ(vernier_engine_build(model.path().c_str(), &c_engine), VERNIER_OK);
  vernier_session* c_session = nullptr;
  ASSERT_EQ(vernier_session_create(c_engine, 1, &c_session), VERNIER_OK);
  const int64_t dims[] = {2, kCapacity, 4}, new_dims[] = {2, 2, 4};
  ASSERT_EQ(
      vernier_session_bind_cache(c_session, "past", "present", VERNIER_FLOAT, dims, 3, memory.data(), 0),
      VERNIER_OK);
  x.assign(16, 1);
  ASSERT_EQ(vernier_session_bind_input(c_session, "x", VERNIER_FLOAT, new_dims, 3, x.data()), VERNIER_OK);
  for (const int64_t expected : {2, 4}) {
    ASSERT_EQ(vernier_session_run(c_session), VERNIER_OK);
    int64_t rows = -1;
    ASSERT_EQ(vernier_session_cache_rows(c_session, "past", &rows), VERNIER_OK);
    EXPECT_EQ(rows, expected);
  }
  EXPECT_EQ(vernier_session_run(c_session), VERNIER_ERROR_BAD_INPUT);
  ASSERT_EQ(vernier_session_set_cache_rows(c_session, "past", 0), VERNIER_OK);
  EXPECT_EQ(vernier_session_run(c_session), VERNIER_OK);
  EXPECT_EQ(vernier_session_cache_rows(c_session, "other", nullptr), VERNIER_ERROR_USAGE);
  vernier_session_release(c_session);
  vernier_engine_release(c_engine);
}

}  // namespace
}  // namespace vernier::test
