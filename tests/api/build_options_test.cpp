// Tests what an application says of a build, and what it is told of the engine.
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/wait.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <sstream>

#include "api/models.h"
#include "vernier/vernier.h"
#include "vernier/vernier_c.h"

namespace vernier::test {
namespace {

using testing::HasSubstr;
using v1::BuildOptions;
using v1::Engine;
using v1::Error;
using v1::ErrorCode;
using v1::Session;
using v1::Verdict;

std::string refusal(const BuildOptions& options) {
  try {
    Engine::build(dense_model().path(), options);
    return "built";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(BuildOptions, EnginesAreTunedAndJudged) {
  const Engine engine = Engine::build(kDigits);
  const v1::BuildReport& report = engine.report();
  EXPECT_EQ(report.verdict, Verdict::kPass);
  ASSERT_EQ(report.outputs.size(), engine.outputs().size());
  EXPECT_LT(report.outputs[0].planned, 1e-5);
  EXPECT_GT(report.verdict_seconds, 0);
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("free dimensions are tuned at image: 1x1x8x8")));
}

TEST(BuildOptions, WhoDoesNotAskGetsNoVerdict) {
  EXPECT_EQ(Engine::build(kDigits, {.verify = false}).report().verdict, Verdict::kNotVerified);
}

TEST(BuildOptions, Precision) {
  BuildOptions options;
  options.precision.bf16 = true;
  const Engine engine = Engine::build(kDigits, options);
  EXPECT_EQ(engine.report().verdict, Verdict::kPass);
  EXPECT_GT(engine.report().outputs[0].declared, 1e-4);  // the price of bfloat16
  options.precision.fp16 = true;
  EXPECT_THAT(refusal(options), HasSubstr("exclude each other"));
  options.precision = {.layer_precisions = "p:nonsense"};
  EXPECT_THAT(refusal(options), HasSubstr("nonsense"));
}

// Weights of int4, of the node that the file names.
std::filesystem::path blocks_of_head(const ModelFile& beside) {
  const auto file = beside.path().parent_path() / "blocks.json";
  std::ofstream(file) << R"({"tensors": {}, "weights": {"head": {"type": "i4", "block": 32}}})";
  return file;
}

TEST(BuildOptions, WeightsInBlocks) {
  const ModelFile beside = dense_model();  // whose folder goes with it
  BuildOptions options;
  options.precision.int4 = true;
  EXPECT_THAT(refusal(options), HasSubstr("--int4 needs to be told"));
  options.precision.calibration = blocks_of_head(beside);
  const Engine engine = Engine::build(kDigits, options);
  EXPECT_EQ(engine.report().verdict, Verdict::kPass);
  EXPECT_GT(engine.report().outputs[0].declared, 1e-4);  // the price of four bits
}

TEST(BuildOptions, ProfilesSayWhichSizesRun) {
  BuildOptions options{.profiles = {{{.input = "x", .min = {1, 3}, .opt = {2, 3}, .max = {4, 3}}}},
                       .verify = false};
  Session session(Engine::build(dense_model().path(), options), {.threads = 1});
  const std::vector<float> four(12, 1), five(15, 1);
  session.bind_input("x", four, {4, 3});
  EXPECT_EQ(session.run().size(), 1U);
  session.bind_input("x", five, {5, 3});
  EXPECT_THROW(session.run(), Error);
  options.profiles[0][0].min = {1};
  EXPECT_THAT(refusal(options), HasSubstr("1 smallest, 2 tuned and 2 largest sizes"));
}

TEST(BuildOptions, WhatWasTimedIsKept) {
  const ModelFile beside = dense_model();  // whose folder goes with it
  const auto file = beside.path().parent_path() / "timings.json";
  Engine::build(kDigits, {.timing_cache = file, .verify = false});
  EXPECT_GT(std::filesystem::file_size(file), 0U);
  std::ofstream(file) << "no cache";
  EXPECT_THROW(Engine::build(kDigits, {.timing_cache = file}), Error);
}

// The names of the tactics, other than the backend's own choice, of which a timing cache knows the times for
// some operator.
std::set<std::string> timed_tactics(const std::filesystem::path& cache) {
  std::ifstream file(cache);
  std::set<std::string> names;
  bool of_operator = false;
  for (std::string line; std::getline(file, line) && line.find("\"verdicts\"") == line.npos;) {
    const size_t first = line.find('"') + 1, last = line.find("\": ");
    if (last == line.npos) continue;
    const std::string name = line.substr(first, last - first);
    if (line.back() == '{')
      of_operator = !name.starts_with("plan ");  // layouts of a whole plan are timed under all options
    else if (of_operator && !name.empty())
      names.insert(name);
  }
  return names;
}

TEST(BuildOptions, TacticsAreTriedWhereTheyAreAllowed) {
  const ModelFile model = depthwise_model();
  const auto timed = [&](BuildOptions options) {
    options.timing_cache = model.path().parent_path() / "timings.json";
    std::filesystem::remove(options.timing_cache);
    options.verify = false;
    Engine::build(model.path(), options);
    return timed_tactics(options.timing_cache);
  };
  const std::set<std::string> all = timed({});  // who says nothing gets a tuned engine
  ASSERT_FALSE(all.empty());
  const std::string one = *all.begin();
  EXPECT_FALSE(timed({.denied_tactics = {one}}).contains(one));
  EXPECT_EQ(timed({.allowed_tactics = {one}}), std::set{one});
  EXPECT_EQ(timed({.optimization_level = 0}), std::set<std::string>());
}

TEST(BuildOptions, LevelsAndTactics) {
  EXPECT_THAT(refusal({.optimization_level = 6}), HasSubstr("from 0 to 5"));
  EXPECT_EQ(refusal({.optimization_level = 0, .denied_tactics = {"winograd"}}), "built");
}

int forks = 0;

void count_forks() {
  [[maybe_unused]] static const int registered = ::pthread_atfork([] { ++forks; }, nullptr, nullptr);
  forks = 0;
}

TEST(BuildOptions, TrialsRunInChildProcessesWhereThatIsAsked) {
  count_forks();
  const ModelFile beside = dense_model();  // whose folder goes with it
  const auto folder = beside.path().parent_path();
  BuildOptions options{.optimization_level = 4, .timing_cache = folder / "one.json", .verify = false};
  Engine::build(kDigits, options);
  EXPECT_EQ(forks, 0);
  options = {.optimization_level = 4, .timing_cache = folder / "other.json", .isolate_trials = true};
  const Engine engine = Engine::build(kDigits, options);
  EXPECT_GT(forks, 0);
  EXPECT_EQ(engine.report().verdict, Verdict::kPass);
  EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD);
}

TEST(BuildOptions, WhatIsInQuarantineIsTold) {
  const ModelFile beside = dense_model();
  const auto file = beside.path().parent_path() / "timings.json";
  const BuildOptions options{.optimization_level = 4, .timing_cache = file};
  EXPECT_THAT(Engine::build(kDigits, options).report().notes,
              testing::Not(testing::Contains(HasSubstr("in quarantine"))));
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string sound = R"("fault": "")", crashed = R"("fault": "crashed, in its trial")";
  std::string content = text.str();
  for (size_t at = 0; (at = content.find(sound, at)) != std::string::npos; at += crashed.size())
    content.replace(at, sound.size(), crashed);
  std::ofstream(file) << content;
  const Engine engine = Engine::build(kDigits, options);
  EXPECT_EQ(engine.report().verdict, Verdict::kPass);  // by the reference
  EXPECT_THAT(engine.report().notes, testing::Contains(testing::AllOf(
                                         testing::StartsWith("in quarantine: the backend's own choice for '"),
                                         testing::EndsWith("': crashed, in its trial"))));
}

// Types that cannot be had are refused by the build, not by the first run.
TEST(BuildOptions, TypesThatCannotBeObeyedStopTheBuild) {
  const ModelFile model(R"(graph "g" (%x: f32[2, 3]) -> (%i) {
    %i: i64[*] = ArgMax(%x) {axis = 1, keepdims = 0} version 24 @"which" from ["which"]
  })");
  BuildOptions options;
  options.precision.layer_precisions = "which:bf16";
  EXPECT_THROW(Engine::build(model.path(), options), Error);
}

class BuildOptionsOfC : public testing::Test {
 protected:
  BuildOptionsOfC() { EXPECT_EQ(vernier_build_options_create(&options_), VERNIER_OK); }
  ~BuildOptionsOfC() override {
    vernier_build_options_release(options_);
    vernier_engine_release(engine_);
  }
  vernier_status set(const char* name, const char* value) {
    return vernier_build_options_set(options_, name, value);
  }
  vernier_status build(const std::filesystem::path& path) {
    return vernier_engine_build_with(path.c_str(), options_, &engine_);
  }

  vernier_build_options* options_ = nullptr;
  vernier_engine* engine_ = nullptr;
};

TEST_F(BuildOptionsOfC, TheVerdictIsTold) {
  ASSERT_EQ(set("bf16", "1"), VERNIER_OK);
  ASSERT_EQ(set("optimization_level", "2"), VERNIER_OK);
  ASSERT_EQ(set("denied_tactics", "winograd"), VERNIER_OK);
  ASSERT_EQ(set("constraints", "prefer"), VERNIER_OK);
  ASSERT_EQ(set("workspace", "1000000"), VERNIER_OK);
  ASSERT_EQ(build(kDigits), VERNIER_OK) << vernier_last_error();
  vernier_build_report report;
  ASSERT_EQ(vernier_engine_report(engine_, &report), VERNIER_OK);
  EXPECT_EQ(report.verdict, VERNIER_VERDICT_PASS);
  ASSERT_GE(report.note_count, 1U);
  EXPECT_THAT(report.notes[report.note_count - 1], HasSubstr("1x1x8x8"));
  EXPECT_GT(report.build_seconds, 0);
}

// No field says which nodes stay in float.
TEST_F(BuildOptionsOfC, NamesOfTheCommandLine) {
  const BuildOptions options{.named = {{"fp16", "1"}, {"keep-fp32", "*"}}, .verify = false};
  ASSERT_EQ(set("fp16", "1"), VERNIER_OK);
  ASSERT_EQ(set("keep_fp32", "*"), VERNIER_OK);
  ASSERT_EQ(set("verify", "0"), VERNIER_OK);
  ASSERT_EQ(build(kDigits), VERNIER_OK) << vernier_last_error();
  EXPECT_NO_THROW(Engine::build(kDigits, options));
  EXPECT_THROW(Engine::build(kDigits, {.named = {{"keep", "*"}}}), Error);
}

TEST_F(BuildOptionsOfC, WeightsInBlocks) {
  const ModelFile beside = dense_model();
  ASSERT_EQ(set("int4", "1"), VERNIER_OK);
  EXPECT_NE(build(kDigits), VERNIER_OK);
  ASSERT_EQ(set("calibration", blocks_of_head(beside).c_str()), VERNIER_OK);
  EXPECT_EQ(build(kDigits), VERNIER_OK) << vernier_last_error();
}

TEST_F(BuildOptionsOfC, WhoSaysNothingGetsATunedEngine) {
  const ModelFile model = depthwise_model();
  const auto file = model.path().parent_path() / "timings.json";
  ASSERT_EQ(set("timing_cache", file.c_str()), VERNIER_OK);
  ASSERT_EQ(build(model.path()), VERNIER_OK) << vernier_last_error();
  EXPECT_FALSE(timed_tactics(file).empty());
}

// A model that the build takes, the first run takes, too.
TEST_F(BuildOptionsOfC, AnIslandOfDoublesRuns) {
  const ModelFile model(R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %d: f64[*] = Cast(%x) {to = 11} version 24 @"wide" from ["wide"]
    %y: f32[*] = Cast(%d) {to = 1} version 24 @"narrow" from ["narrow"]
  })");
  ASSERT_EQ(build(model.path()), VERNIER_OK) << vernier_last_error();
  vernier_session* session = nullptr;
  ASSERT_EQ(vernier_session_create(engine_, 1, &session), VERNIER_OK);
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[2] = {2, 3};
  EXPECT_EQ(vernier_session_bind_input(session, "x", VERNIER_FLOAT, dims, 2, x), VERNIER_OK);
  EXPECT_EQ(vernier_session_run(session), VERNIER_OK) << vernier_last_error();
  vernier_session_release(session);
}

TEST_F(BuildOptionsOfC, TrialsRunInChildProcesses) {
  count_forks();
  const ModelFile beside = dense_model();
  ASSERT_EQ(set("optimization_level", "4"), VERNIER_OK);
  ASSERT_EQ(set("timing_cache", (beside.path().parent_path() / "timings.json").c_str()), VERNIER_OK);
  ASSERT_EQ(set("isolate_trials", "1"), VERNIER_OK);
  ASSERT_EQ(build(kDigits), VERNIER_OK) << vernier_last_error();
  EXPECT_GT(forks, 0);
}

TEST_F(BuildOptionsOfC, ProfilesAreRefusedWhereTheyDoNotFit) {
  const int64_t opt[2] = {2, 3}, max[2] = {4, 3}, wrong[1] = {2};
  ASSERT_EQ(set("verify", "0"), VERNIER_OK);
  ASSERT_EQ(vernier_build_options_add_shapes(options_, 0, "x", 2, opt, opt, max), VERNIER_OK);
  EXPECT_EQ(build(dense_model().path()), VERNIER_OK) << vernier_last_error();
  EXPECT_EQ(vernier_build_options_add_shapes(options_, 2, "x", 2, nullptr, opt, nullptr),
            VERNIER_ERROR_USAGE);
  ASSERT_EQ(vernier_build_options_add_shapes(options_, 1, "x", 1, nullptr, wrong, nullptr), VERNIER_OK);
  vernier_engine* none = nullptr;
  EXPECT_EQ(vernier_engine_build_with(dense_model().path().c_str(), options_, &none),
            VERNIER_ERROR_BAD_INPUT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(BuildOptionsOfC, WhatIsNoOptionIsRefused) {
  EXPECT_EQ(set("bf17", "1"), VERNIER_ERROR_USAGE);
  EXPECT_THAT(vernier_last_error(), HasSubstr("bf17"));
  EXPECT_EQ(set("bf16", "yes"), VERNIER_ERROR_USAGE);
  EXPECT_EQ(set("bf16", ""), VERNIER_ERROR_USAGE);
  EXPECT_EQ(set("workspace", "-1"), VERNIER_ERROR_USAGE);
  EXPECT_EQ(set("constraints", "some"), VERNIER_ERROR_USAGE);
  EXPECT_EQ(set("keep_fp32", ""), VERNIER_ERROR_USAGE);
  EXPECT_EQ(set(nullptr, "1"), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_build_options_create(nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_engine_report(nullptr, nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_engine_build_with(kDigits.c_str(), nullptr, &engine_), VERNIER_ERROR_USAGE);
  vernier_build_options_release(nullptr);
}

}  // namespace
}  // namespace vernier::test
