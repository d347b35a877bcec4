// Values of every kind survive the way to a runner in Python and back.
#include "../data/every_type.h"
#include "test_model.h"

namespace vernier {
namespace {

class Echo : public testing::Test {
 protected:
  Echo() : runner({"/tmp/model.onnx", nullptr}, {"echo", child_command("echo.py"), 60, 60, 0, {{"colour", "red"}}}) {}
  ProcessRunner runner;
};

TEST_F(Echo, ReturnsEveryType) {
  const auto sent = values_of_every_type();
  const Trace trace = runner.run(sent, {});
  EXPECT_EQ(trace.entries.size(), sent.size());
  for (const auto& [name, datum] : sent) {
    const TraceEntry* entry = trace.find(name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_TRUE(same(entry->datum, datum)) << name;
    EXPECT_TRUE(entry->is_output);
  }
  EXPECT_THAT(trace.notes, testing::ElementsAre("echoed"));
  EXPECT_EQ(runner.last_seconds(), 0.25);
}

TEST_F(Echo, HasADescription) {
  EXPECT_EQ(runner.description(),
            (std::map<std::string, std::string>{{"colour", "red"}, {"engine", "echo 1"}, {"model", "model.onnx"}}));
}

TEST_F(Echo, SurvivesItsOwnErrors) {
  for (const auto& [tap, message] : {std::pair{"fail", "cannot tap"}, {"raise", "ZeroDivisionError: oops"}}) {
    try {
      runner.run({}, {tap});
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(message));
    }
  }
  EXPECT_EQ(runner.run({{"x", Tensor::scalar(1)}}, {}).entries.size(), 1U);
}

}  // namespace
}  // namespace vernier
