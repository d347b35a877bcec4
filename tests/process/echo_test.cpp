// Values of every kind survive the way to a runner in Python and back.
#include <gmock/gmock.h>

#include "../data/every_type.h"
#include "test_model.h"

namespace vernier {
namespace {

class Echo : public testing::Test {
 protected:
  Echo()
      : runner({"/tmp/model.onnx", nullptr},
               {"echo", child_command("echo.py"), 60, 60, 0, {{"colour", "red"}}}) {}
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
  EXPECT_EQ(runner.description(), (std::map<std::string, std::string>{
                                      {"colour", "red"}, {"engine", "echo 1"}, {"model", "model.onnx"}}));
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

TEST(RemoteEcho, WorksWithoutASharedFolder) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "my model.onnx";
  write_file(path, "model");
  // In place of ssh: a shell that takes the host's name and runs the rest.
  const std::string ssh = "sh -c 'shift; exec sh -c \"$*\"' ssh";
  const std::string echo = child_command("echo.py");
  const std::string command = fmt::format("exec {} {} --ssh {} host {}", quoted_for_shell(find_python("")),
                                          quoted_for_shell(find_runner_script("remote.py").string()),
                                          quoted_for_shell(ssh), echo.substr(std::string("exec ").size()));
  ProcessRunner runner({path, nullptr}, {"far", command, 60, 60, 0, {}});
  EXPECT_EQ(runner.description().at("model"), "my model.onnx");
  EXPECT_TRUE(same(runner.run({{"x", Tensor::scalar(5)}}, {}).find("x")->datum, Tensor::scalar(5)));
  EXPECT_THROW(runner.run({}, {"fail"}), Error);
  EXPECT_TRUE(same(runner.run({{"x", Tensor::scalar(6)}}, {}).find("x")->datum, Tensor::scalar(6)));
}

}  // namespace
}  // namespace vernier
