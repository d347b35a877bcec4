// Whatever a child process does, the answer is an Error that says what happened, in bounded time.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>

#include "test_model.h"
#include "vernier/backends/process/child_process.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Fault {
  const char* mode;
  const char* stage;
  const char* message;  // what the error must say
};

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.mode;
}
std::string mode_of(const testing::TestParamInfo<Fault>& info) {
  return info.param.mode;
}

constexpr double kTimeout = 1;      // seconds
constexpr double kLongestTest = 8;  // starting Python takes its time on a busy machine

ProcessOptions options_for(const std::string& mode) {
  ProcessOptions options{"child", child_command("faulty.py", mode), 30, kTimeout, 0, {}};
  if (mode.ends_with("waits")) options.load_timeout = 2;
  return options;
}

class FaultyChild : public testing::TestWithParam<Fault> {};

TEST_P(FaultyChild, IsAnErrorInTime) {
  const Model model = two_output_model();
  const auto begin = std::chrono::steady_clock::now();
  std::string message;
  try {
    ProcessRunner runner({"/tmp/model.onnx", &model}, options_for(GetParam().mode));
    runner.run({{"x", Tensor(ElementType::kFloat, {3})}}, {});
  } catch (const Error& error) {
    message = error.what();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_THAT(message, AllOf(HasSubstr("runner 'child'"), HasSubstr(std::string("stage ") + GetParam().stage),
                             HasSubstr(GetParam().message)));
  EXPECT_LT(took.count(), kLongestTest);
  EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) << "a process is left behind";
}

INSTANTIATE_TEST_SUITE_P(
    Start, FaultyChild,
    testing::Values(Fault{"exits_at_start", "start", "exit status 3; the last it wrote:\nno such device"},
                    Fault{"prints_garbage", "start", "sent 'Hello, I am an engine!', which is not JSON"},
                    Fault{"prints_half_a_line", "start", "after the unfinished line '{\"id\": 1, \"proto'"},
                    Fault{"prints_half_a_line_and_waits", "start", "no answer within 2 s"},
                    Fault{"prints_two_lines", "start", "more than one line, beginning with 'loading'"},
                    Fault{"sends_a_long_line", "start", "a line of more than 4194304 bytes"},
                    Fault{"speaks_another_version", "start",
                          "speaks 'vernier-runner/2', but this Vernier speaks vernier-runner/1"},
                    Fault{"answers_another_request", "start", "lacks the id 1"},
                    Fault{"closes_its_output", "start",
                          "closed its output without an answer; it was stopped by Vernier"},
                    Fault{"leaves_a_grandchild", "start", "ended with exit status 4"},
                    Fault{"refuses_the_model", "load", "no kernel (use opset 17)"}),
    mode_of);

INSTANTIATE_TEST_SUITE_P(
    Run, FaultyChild,
    testing::Values(Fault{"crashes", "run",
                          "killed by signal 11 (Segmentation fault); the last it wrote:\nabout to crash"},
                    Fault{"hangs", "run", "no answer within 1 s; the last it wrote:\nthinking"},
                    Fault{"wrong_shape", "run", "returned 'y' as f32[4], but in the model it is f32[3]"},
                    Fault{"wrong_rank", "run", "returned 'y' as f32[1, 3], but in the model it is f32[3]"},
                    Fault{"wrong_dtype", "run", "returned 'y' as f16[3], but in the model it is f32[3]"},
                    Fault{"drops_an_output", "run", "did not return the output 'z' (f32[2])"},
                    Fault{"adds_an_output", "run",
                          "returned 'w', which is neither an output of the model nor asked for"},
                    Fault{"promises_more_than_it_writes", "run", "the file of outputs lacks it"},
                    Fault{"writes_more_than_it_says", "run", "of which the answer says nothing"},
                    Fault{"truncated", "run", "but the file holds 15 bytes of data"},
                    Fault{"writes_nothing", "run", "it wrote no file of outputs"},
                    Fault{"names_an_output_twice", "run", "says twice that it returned 'y'"},
                    Fault{"runs_backwards", "run", "has -0.5 in 'seconds', which is no time"},
                    Fault{"runs_for_ever", "run", "stage run"}, Fault{"takes_nan", "run", "stage run"},
                    Fault{"says_nothing", "run", "lacks the field 'outputs'"}),
    mode_of);

TEST(ProcessRunner, RunsAHealthyChild) {
  const Model model = two_output_model();
  ProcessRunner runner({"/tmp/model.onnx", &model}, options_for("good"));
  EXPECT_EQ(runner.description().at("engine"), "child 1");
  EXPECT_EQ(runner.description().at("made of"), "Python");
  for (int i = 0; i < 3; ++i) {
    const Trace trace = runner.run({}, {});
    ASSERT_EQ(trace.entries.size(), 2U);
    EXPECT_EQ(trace.runner, "child");
    EXPECT_TRUE(trace.entries[0].is_output);
    EXPECT_EQ(trace.find("y")->datum.tensor.dims(), Dims{3});
  }
}

TEST(ProcessRunner, StartsAnewAfterACrash) {
  const Model model = two_output_model();
  const TemporaryFolder folder;
  const std::string once = (folder.path() / "crashed").string();
  ProcessOptions options = options_for("good");
  options.command = fmt::format("test -e {0} && {1}; touch {0}; {2}", once,
                                child_command("faulty.py", "good"), child_command("faulty.py", "crashes"));
  ProcessRunner runner({"/tmp/model.onnx", &model}, options);
  EXPECT_THROW(runner.run({}, {}), Error);
  EXPECT_EQ(runner.run({}, {}).entries.size(), 2U);
}

TEST(ProcessRunner, EndsAChildThatWillNotClose) {
  const Model model = two_output_model();
  const auto begin = std::chrono::steady_clock::now();
  {
    ProcessRunner runner({"/tmp/model.onnx", &model}, options_for("is_rude_after_closing"));
    EXPECT_EQ(runner.run({}, {}).entries.size(), 2U);
  }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), kLongestTest);
  EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
}

std::vector<pid_t> numbers_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istream_iterator<pid_t>(file), {}};
}

// Not ended, and no zombie.
bool lives(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z' && text[end + 2] != 'X';
}

// Even by a signal that no program can catch.
TEST(ProcessRunner, ItsChildrenDieWithTheProcess) {
  const TemporaryFolder folder;
  const std::filesystem::path numbers = folder.path() / "numbers", done = folder.path() / "done";
  const pid_t owner = ::fork();
  if (owner == 0) {
    ChildProcess child(fmt::format("echo $$ >{0}; sleep 60 & echo $! >>{0}; touch {1}; wait",
                                   numbers.string(), done.string()));
    child.exchange("", std::chrono::seconds(60), 1);
    ::_exit(1);
  }
  const auto wait_until = [](const auto& condition) {
    for (int i = 0; i < 2000 && !condition(); ++i) ::usleep(5000);
    return condition();
  };
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(done); }));
  const auto children = numbers_in(numbers);
  ASSERT_EQ(children.size(), 2U);
  EXPECT_TRUE(std::all_of(children.begin(), children.end(), lives));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(wait_until([&] { return std::none_of(children.begin(), children.end(), lives); }));
}

TEST(ProcessRunner, SaysThatACommandIsMissing) {
  const Model model = two_output_model();
  try {
    ProcessRunner runner({"/tmp/model.onnx", &model}, parse_runner_option("mine=no-such-program --x"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'mine'"), HasSubstr("command not found")));
  }
}

TEST(ProcessRunner, ParsesItsOption) {
  const auto options = parse_runner_option("far=ssh host run a=b");
  EXPECT_EQ(options.name, "far");
  EXPECT_EQ(options.command, "ssh host run a=b");
  for (const char* wrong : {"", "x", "=x", "x="}) EXPECT_THROW(parse_runner_option(wrong), Error) << wrong;
}

}  // namespace
}  // namespace vernier
