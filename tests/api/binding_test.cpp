// Inputs that cannot be bound, run or read are refused with a text that says what was expected, and the
// session goes on.
#include "api/dense_session.h"

namespace vernier::test {
namespace {

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

}  // namespace
}  // namespace vernier::test
