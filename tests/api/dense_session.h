// Tests of sessions share this.
#pragma once

#include <gmock/gmock.h>

#include "api/models.h"
#include "vernier/vernier.h"

namespace vernier::test {
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

inline const std::vector<float> kInput = {1, 2, 3, -1, 0.5, 4};

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

}  // namespace vernier::test
