// Sessions through the public interface: what they yield.
#include <numeric>
#include <optional>

#include "api/dense_session.h"

namespace vernier::test {
namespace {

TEST_F(Dense, SaysWhatItTakesAndYields) {
  ASSERT_EQ(engine.inputs().size(), 1U);
  const TensorInfo& input = engine.inputs()[0];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(input.type, ElementType::kFloat);
  EXPECT_FALSE(input.has_default);
  ASSERT_EQ(input.shape.size(), 2U);
  EXPECT_EQ(input.shape[0].size, -1);
  EXPECT_EQ(input.shape[0].symbol, "N");
  EXPECT_EQ(input.shape[1].size, 3);
  ASSERT_EQ(engine.outputs().size(), 1U);
  EXPECT_EQ(engine.outputs()[0].shape[0].symbol, "N");
  EXPECT_EQ(engine.outputs()[0].shape[1].size, 2);
}

TEST_F(Dense, ReadsBoundMemoryAtEachRun) {
  expect_right_bits();
  x[0] = 7;
  const Outputs changed = session.run();
  EXPECT_THAT(copy<float>(changed["y"]), ElementsAreArray(dense_result(x)));
  EXPECT_THAT(changed["y"].dims(), ElementsAreArray({2, 2}));
  EXPECT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed.at(0).data(), changed["y"].data());
}

TEST_F(Dense, SizesMayChangeBetweenRuns) {
  for (const size_t rows : {5, 1, 2, 0, 5}) {
    std::vector<float> values(rows * 3);
    std::iota(values.begin(), values.end(), -4.F);
    session.bind_input("x", values, {static_cast<int64_t>(rows), 3});
    const Outputs outputs = session.run();
    EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(values)));
  }
}

TEST_F(Dense, WritesIntoBoundMemoryOfAnyAlignment) {
  std::vector<float> memory(6, -1);
  session.bind_input("x", std::span<const float>(x), {2, 3});
  session.bind_output("y", std::span<float>(memory).subspan(1, 4), {2, 2});
  const Outputs outputs = session.run();
  EXPECT_EQ(outputs["y"].data(), memory.data() + 1);
  auto expected = dense_result(x);
  expected.insert(expected.begin(), -1);
  expected.push_back(-1);
  EXPECT_THAT(memory, ElementsAreArray(expected));
}

TEST_F(Dense, OutputsOutliveLaterRunsAndTheSession) {
  std::optional<Session> mortal(std::in_place, engine);
  mortal->bind_input("x", x, {2, 3});
  const Outputs first = mortal->run();
  const auto expected = dense_result(x);
  x.assign(6, 1);
  const Outputs second = mortal->run();
  EXPECT_NE(first["y"].data(), second["y"].data());
  mortal.reset();
  EXPECT_THAT(copy<float>(first["y"]), ElementsAreArray(expected));
  EXPECT_THAT(copy<float>(second["y"]), ElementsAreArray(dense_result(x)));
}

TEST_F(Dense, MemoryThatWasUnboundIsNotTouchedAgain) {
  session.bind_input("x", x, {2, 3});
  auto memory = std::make_unique<std::vector<float>>(4);
  session.bind_output("y", *memory, {2, 2});
  session.run();
  session.unbind("y");
  memory.reset();  // under AddressSanitizer, a later access is found
  expect_right_bits();
  expect_right_bits();
}

TEST_F(Dense, AMovedSessionIsUsable) {
  session.bind_input("x", x, {2, 3});
  Session other = std::move(session);
  expect_error(ErrorCode::kUsage, {"moved"}, [&] { session.run(); });
  const Outputs outputs = other.run();
  EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(x)));
}

TEST_F(Dense, ProfilesAndMemory) {
  session.bind_input("x", x, {2, 3});
  session.run();
  const auto layers = session.profile(3);
  ASSERT_FALSE(layers.empty());
  std::vector<std::string> nodes;
  for (const LayerTime& layer : layers) {
    EXPECT_FALSE(layer.kernel.empty());
    EXPECT_GE(layer.milliseconds, 0);
    nodes.insert(nodes.end(), layer.nodes.begin(), layer.nodes.end());
  }
  EXPECT_THAT(nodes, ::testing::UnorderedElementsAre("p", "r"));
  expect_right_bits();
  // The memory is that of the plan that was built; without one it is nothing before the first run.
  Session fresh(engine), unplanned(Engine::build(strings_model().path(), {.verify = false}));
  EXPECT_GT(fresh.memory_bytes(), 0U);
  EXPECT_LE(fresh.memory_bytes(), session.memory_bytes());
  EXPECT_EQ(unplanned.memory_bytes(), 0U);
}

TEST(Api, ALoadedEngineGivesTheSameBits) {
  const Engine engine = Engine::load(dense_engine().path());  // the file may go, the mapping stays
  EXPECT_EQ(engine.inputs()[0].shape[0].symbol, "N");
  Session session(engine, {.threads = 1});
  for (const int64_t rows : {2, 1}) {  // with the plan of the file, and with a new one
    std::vector<float> x(static_cast<size_t>(rows) * 3);
    std::iota(x.begin(), x.end(), -1.F);
    session.bind_input("x", x, {rows, 3});
    const Outputs outputs = session.run();
    EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(x)));
  }
}

TEST(Api, TheNumberOfThreadsChangesNoBit) {
  const Engine engine = Engine::build(kDigits);
  std::vector<float> image(64);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 7) / 6;
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3, 0}) {
    Session session(engine, {.threads = threads});
    session.bind_input("image", image, {1, 1, 8, 8});
    const Outputs outputs = session.run();
    results.push_back(copy<float>(outputs.at(0)));
    EXPECT_EQ(results.back(), results.front());
  }
  EXPECT_EQ(results.front().size(), 10U);
  expect_error(ErrorCode::kUsage, {"-1 threads"}, [&] { Session(engine, {.threads = -1}); });
}

TEST(Api, PassesCanBeSwitchedOff) {
  const Engine exact = Engine::build(kDigits, {.exact_passes_only = true});
  const Engine all = Engine::build(kDigits);
  const std::vector<float> image(64, 0.5F);
  const auto steps = [&](const Engine& engine) {
    Session session(engine, {.threads = 1});
    session.bind_input("image", image, {1, 1, 8, 8});
    return session.profile(1).size();
  };
  EXPECT_GT(steps(exact), steps(all));  // BatchNormalization stays
}

TEST(Api, WorkingMemoryHasALimit) {
  const std::vector<float> image(64, 0.5F);
  for (const size_t limit : {size_t{0}, size_t{1} << 20, size_t{1000}}) {
    const auto run = [&] {
      Session session(Engine::build(kDigits, {.deterministic = true, .workspace = limit}), {.threads = 2});
      session.bind_input("image", image, {1, 1, 8, 8});
      return session.run();
    };
    if (limit == 1000)
      expect_error(ErrorCode::kUnsupported, {"working memory", "are allowed", "--workspace"}, run);
    else
      EXPECT_EQ(run().size(), 1U);
  }
}

TEST(Api, BadModelsAreSaidWithTheirFile) {
  const Error missing = error_of([] { Engine::build("/nowhere/model.onnx"); });
  EXPECT_EQ(missing.code(), ErrorCode::kBadInput);
  EXPECT_STREQ(missing.file(), "/nowhere/model.onnx");
  const Error no_engine = error_of([] { Engine::load(kDigits); });
  EXPECT_EQ(no_engine.code(), ErrorCode::kBadInput);
  EXPECT_EQ(no_engine.file(), kDigits.string());
  const Error no_type =
      error_of([] { Engine::build(kDigits, {.precision = {.layer_precisions = "stem_conv:fp33"}}); });
  EXPECT_STREQ(no_type.advice(), "there are fp32, fp16, bf16 and int8, and tf32 for products of fp32");
  EXPECT_EQ(no_type.what(),
            fmt::format("{}: 'fp33' is no precision ({})", kDigits.string(), no_type.advice()));
  EXPECT_STREQ(missing.advice(), "");
  const std::vector<std::byte> noise(100, std::byte{0x5a});
  expect_error(ErrorCode::kBadInput, {}, [&] { Engine::build(std::span<const std::byte>(noise)); });
}

TEST(Api, SizesThatOnlyRunningTells) {
  const Engine engine = Engine::build(where_model().path());
  Session session(engine);
  std::vector<float> x = {0, 2, 0, 3};
  session.bind_input("x", x, {4});
  const Outputs first = session.run();
  EXPECT_THAT(copy<int64_t>(first["where"]), ElementsAreArray({1, 3}));
  std::vector<int64_t> memory(3);
  session.bind_output("where", memory, {1, 3});
  expect_error(ErrorCode::kBadInput, {"output 'where'", "i64[1, 2]", "i64[1, 3]"}, [&] { session.run(); });
  x[0] = 1;
  session.run();
  EXPECT_THAT(memory, ElementsAreArray({0, 1, 3}));
}

TEST(Api, OutputsThatAreInputsOrViewsHaveMemoryOfTheirOwn) {
  const Engine engine = Engine::build(views_model().path());
  Session session(engine, {.threads = 1});
  std::vector<float> x = {0, 1, 0, -1, 2, 0}, bound(6), bound_view(6);
  session.bind_input("x", x, {2, 3});
  const Outputs free = session.run();
  session.bind_output("v", bound_view, {6});
  session.bind_output("x", bound, {2, 3});
  const Outputs outputs = session.run();
  EXPECT_EQ(bound, x);
  EXPECT_EQ(bound_view, copy<float>(outputs["y"]));
  EXPECT_EQ(outputs["v"].data(), bound_view.data());
  const auto before = x;
  x.assign(6, 9);
  EXPECT_EQ(copy<float>(free["x"]), before);
  EXPECT_EQ(copy<float>(free["v"]), bound_view);
}

TEST(Api, AnInputWithADefaultMayBeLeftOut) {
  EXPECT_EQ(Engine::build(default_model().path()).inputs().size(), 1U);  // the other is a constant
  BuildOptions options;
  options.keep_defaults = true;
  const Engine engine = Engine::build(default_model().path(), options);
  EXPECT_TRUE(engine.inputs()[1].has_default);
  Session session(engine);
  const std::vector<float> x = {10, 20}, b = {5, 5};
  session.bind_input("x", x, {2});
  const auto result = [&] {
    const Outputs outputs = session.run();
    return copy<float>(outputs["y"]);
  };
  EXPECT_THAT(result(), ElementsAreArray({11, 22}));
  session.bind_input("b", b, {2});
  EXPECT_THAT(result(), ElementsAreArray({15, 25}));
  session.unbind("b");
  EXPECT_THAT(result(), ElementsAreArray({11, 22}));
}

TEST(Api, WhatIsNoTensorIsSaid) {
  const Engine engine = Engine::build(sequence_model().path());
  EXPECT_FALSE(engine.outputs()[0].is_tensor);
  Session session(engine);
  std::vector<float> x = {0, 0};
  session.bind_input("x", x, {2});
  const Outputs outputs = session.run();
  EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray({1, 1}));
  expect_error(ErrorCode::kUnsupported, {"'s'", "no tensor"}, [&] { outputs["s"]; });
  expect_error(ErrorCode::kUnsupported, {"output 's'"}, [&] { session.bind_output("s", x, {2}); });
}

TEST(Api, StringsAreStdStrings) {
  const Engine engine = Engine::build(strings_model().path());
  Session session(engine);
  std::vector<std::string> x = {"a long text that does not fit into the object itself", "b"}, y(2);
  session.bind_input("x", x, {2});
  const Outputs outputs = session.run();
  EXPECT_THAT(copy<std::string>(outputs["y"]), ElementsAreArray({x[0] + x[0], x[1] + x[1]}));
  expect_error(ErrorCode::kUnsupported, {"output 'y'", "strings"}, [&] { session.bind_output("y", y, {2}); });
}

}  // namespace
}  // namespace vernier::test
