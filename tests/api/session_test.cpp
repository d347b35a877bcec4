// Sessions through the public interface: what they yield, and what they say when they are used wrongly.
#include <gmock/gmock.h>

#include <numeric>

#include "api/models.h"
#include "vernier/vernier.h"

namespace vernier::test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const std::vector<float> kInput = {1, 2, 3, -1, 0.5, 4};

// The error of a call, which must throw.
template <class Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal);
}

template <class Call>
void expect_error(ErrorCode code, const std::vector<std::string>& says, const Call& call) {
  const Error error = error_of(call);
  EXPECT_EQ(error.code(), code) << error.what();
  for (const std::string& text : says) EXPECT_THAT(error.what(), HasSubstr(text));
}

template <class T>
std::vector<T> copy(const TensorView& view) {
  const auto values = view.values<T>();
  return {values.begin(), values.end()};
}

struct Dense : ::testing::Test {
  Engine engine = Engine::build(dense_model().path());
  Session session{engine, {.threads = 1}};
  std::vector<float> x = kInput;

  void expect_right_bits() {
    session.bind_input("x", x, {2, 3});
    const Outputs outputs = session.run();
    EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(x)));
  }
};

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

TEST_F(Dense, WhatCannotBeBoundIsSaid) {
  std::vector<double> doubles(6);
  std::vector<float> short_one(3);
  const std::vector<int64_t> strides = {4, 8};
  expect_error(ErrorCode::kBadInput, {"'z'"}, [&] { session.bind_input("z", x, {2, 3}); });
  expect_error(ErrorCode::kBadInput, {"input 'x'", "f32[N, 3]", "f64[2, 3]"}, [&] {
    session.bind_input("x", doubles, {2, 3});
  });
  expect_error(ErrorCode::kBadInput, {"input 'x'", "f32[N, 3]", "f32[3, 2]"}, [&] {
    session.bind_input("x", x, {3, 2});
  });
  expect_error(ErrorCode::kBadInput, {"input 'x'", "f32[N, 3]", "f32[6]"},
               [&] { session.bind_input("x", x, {6}); });
  expect_error(ErrorCode::kBadInput, {"'x'", "3 elements", "6"}, [&] {
    session.bind_input("x", short_one, {2, 3});
  });
  expect_error(ErrorCode::kBadInput, {"input 'x'", "negative"}, [&] {
    session.bind_input("x", ElementType::kFloat, {-2, 3}, x.data());
  });
  expect_error(ErrorCode::kBadInput, {"input 'x'", "null"}, [&] {
    session.bind_input("x", ElementType::kFloat, {2, 3}, nullptr);
  });
  expect_error(ErrorCode::kBadInput, {"input 'x'", "aligned"}, [&] {
    session.bind_input("x", ElementType::kFloat, {1, 3}, reinterpret_cast<const char*>(x.data()) + 1);
  });
  expect_error(ErrorCode::kBadInput, {"input 'x'", "99 is no element type"}, [&] {
    session.bind_input("x", static_cast<ElementType>(99), {2, 3}, x.data());
  });
  expect_error(ErrorCode::kBadInput, {}, [&] {
    session.bind_input("x", ElementType::kFloat, {int64_t{1} << 62, 3}, x.data());
  });
  expect_error(ErrorCode::kUnsupported, {"input 'x'", "strides"}, [&] {
    session.bind_input("x", ElementType::kFloat, {2, 3}, x.data(), strides);
  });
  expect_error(ErrorCode::kBadInput, {"'z'"}, [&] { session.unbind("z"); });
  expect_right_bits();
}

TEST_F(Dense, DenseStridesAreStrides) {
  session.bind_input("x", ElementType::kFloat, {2, 3}, x.data(), std::vector<int64_t>{12, 4});
  const Outputs outputs = session.run();
  EXPECT_THAT(copy<float>(outputs["y"]), ElementsAreArray(dense_result(x)));
}

TEST_F(Dense, OutputsThatCannotBeBoundAreSaid) {
  session.bind_input("x", x, {2, 3});
  std::vector<float> memory(4), wide(6);
  std::vector<int32_t> integers(4);
  expect_error(ErrorCode::kBadInput, {"output 'z'"}, [&] { session.bind_output("z", memory, {2, 2}); });
  expect_error(ErrorCode::kBadInput, {"output 'y'", "f32[N, 2]", "i32[2, 2]"}, [&] {
    session.bind_output("y", integers, {2, 2});
  });
  expect_error(ErrorCode::kBadInput, {"output 'y'", "f32[N, 2]", "f32[2, 3]"}, [&] {
    session.bind_output("y", wide, {2, 3});
  });
  expect_error(ErrorCode::kBadInput, {"output 'y'", "overlaps", "input 'x'"}, [&] {
    session.bind_output("y", std::span<float>(x).subspan(2, 4), {2, 2});
  });
  session.bind_output("y", memory, {2, 2});
  expect_error(ErrorCode::kBadInput, {"input 'x'", "overlaps", "output 'y'"}, [&] {
    session.bind_input("x", std::span<float>(memory).subspan(0, 3), {1, 3});
  });
  session.bind_output("y", wide, {3, 2});
  expect_error(ErrorCode::kBadInput, {"output 'y'", "f32[2, 2]", "f32[3, 2]"}, [&] { session.run(); });
  session.unbind("y");
  expect_right_bits();
}

TEST_F(Dense, AMissingInputIsNamed) {
  expect_error(ErrorCode::kBadInput, {"input 'x'", "f32[N, 3]", "not given"}, [&] { session.run(); });
  expect_error(ErrorCode::kBadInput, {"input 'x'"}, [&] { const Event event = session.run_async(); });
  expect_right_bits();
  session.unbind("x");
  expect_error(ErrorCode::kBadInput, {"input 'x'"}, [&] { session.run(); });
  expect_right_bits();
}

TEST_F(Dense, AnUnknownOutputOrAnotherTypeIsSaid) {
  session.bind_input("x", x, {2, 3});
  const Outputs outputs = session.run();
  expect_error(ErrorCode::kUsage, {"'z'"}, [&] { outputs["z"]; });
  expect_error(ErrorCode::kUsage, {"1 outputs"}, [&] { outputs.at(1); });
  expect_error(ErrorCode::kUsage, {"FLOAT", "INT64"}, [&] { outputs["y"].values<int64_t>(); });
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
  Session fresh(engine);
  EXPECT_EQ(fresh.memory_bytes(), 0U);
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

TEST(Api, BadModelsAreSaidWithTheirFile) {
  const Error missing = error_of([] { Engine::build("/nowhere/model.onnx"); });
  EXPECT_EQ(missing.code(), ErrorCode::kBadInput);
  EXPECT_STREQ(missing.file(), "/nowhere/model.onnx");
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
  const Engine engine = Engine::build(default_model().path());
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
