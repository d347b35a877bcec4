// Shards, what they make together, and what is concluded.
#include <gmock/gmock.h>

#include <cmath>

#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/evaluate/outcome.h"
#include "vernier/evaluate/part_file.h"
#include "vernier/evaluate/score_file.h"

namespace vernier {
namespace {

using testing::HasSubstr;

constexpr size_t kSamples = 40;

// Samples of which the second runner gets number 3 wrong.
EvaluationPart part(Shard shard) {
  EvaluationPart part;
  part.subject.model = "m.onnx";
  part.subject.model_hash = "1";
  part.subject.build = "0.1";
  part.subject.options = {{"data", "d"}};
  part.subject.runners = {{"reference", {}}, {"cpu", {{"engine", "vernier cpu"}}}};
  part.subject.metrics = {{"top1", "", {"y"}, 0.5, 0.5}};
  part.subject.gates = {{"top1", 0.2}};
  part.environment = {{"cpu", "one"}};
  part.shard = shard;
  part.samples = kSamples;
  for (size_t i = 0; i < kSamples; ++i) {
    if (!shard.holds(i)) continue;
    SampleScores& sample = part.scores.emplace_back();
    sample.index = i;
    sample.origin = fmt::format("{}.png", i);
    sample.inputs_hash = i * 77;
    sample.failures = {"", ""};
    sample.scores = {{{{.value = 1, .margin = 0.1 + 1.0 / 3}},
                      {{.value = i == 3 ? 0.0 : 1.0, .margin = i == 3 ? -0.5 : 0.1}}}};
  }
  return part;
}

std::vector<NamedPart> shards(size_t count) {
  std::vector<NamedPart> parts;
  // Through the file, and in another order.
  for (size_t i = count; i >= 1; --i)
    parts.push_back({fmt::format("{}.json", i), parse_part(part_json(part({i, count})))});
  return parts;
}

std::string refusal(std::vector<NamedPart> parts) {
  try {
    merge_parts(std::move(parts));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.what();
  }
  return "merged";
}

TEST(Shards, AreWrittenAsPeopleWriteThem) {
  EXPECT_TRUE(parse_shard("").is_whole());
  EXPECT_TRUE(parse_shard("2/7").holds(1));
  EXPECT_TRUE(parse_shard("2/7").holds(8));
  EXPECT_FALSE(parse_shard("2/7").holds(2));
  for (const char* text : {"0/7", "8/7", "2", "a/7", "2/", "/7", "-1/7", "2/7/9"})
    EXPECT_THROW(parse_shard(text), Error) << text;
}

TEST(Shards, MayBeTasksOfSlurm) {
  unsetenv("SLURM_ARRAY_TASK_ID");
  EXPECT_THROW(parse_shard("slurm"), Error);
  setenv("SLURM_ARRAY_TASK_ID", "6", 1);
  setenv("SLURM_ARRAY_TASK_MIN", "4", 1);
  setenv("SLURM_ARRAY_TASK_COUNT", "5", 1);
  EXPECT_EQ(parse_shard("slurm").index, 3);
  EXPECT_EQ(parse_shard("slurm").count, 5);
  setenv("SLURM_ARRAY_TASK_ID", "12", 1);  // of an array with steps
  EXPECT_THROW(parse_shard("slurm"), Error);
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"})
    unsetenv(name);
}

TEST(Merging, GivesTheSameBytesForAnyNumberOfShards) {
  const std::string whole = part_json(part({}));
  for (const size_t count : {1, 2, 3, 7, 40, 41})
    EXPECT_EQ(part_json(merge_parts(shards(count))), whole) << count;
}

TEST(Merging, RefusesAShardThatIsMissingOrThereTwice) {
  auto parts = shards(3);
  parts.pop_back();
  EXPECT_THAT(refusal(parts), HasSubstr("shard 1 of 3 is missing"));
  parts = shards(3);
  parts.push_back(parts[0]);
  EXPECT_THAT(refusal(parts), HasSubstr("shard 3 of 3"));
  EXPECT_THROW(merge_parts({}), Error);
}

TEST(Merging, RefusesWhatIsOfAnotherEvaluation) {
  const auto with = [](const auto& change) {
    auto parts = shards(2);
    change(parts[1].part);
    return refusal(std::move(parts));
  };
  EXPECT_THAT(with([](auto& part) { part.subject.model_hash = "2"; }), HasSubstr("another model"));
  EXPECT_THAT(with([](auto& part) { part.subject.build = "0.2"; }), HasSubstr("another build"));
  EXPECT_THAT(with([](auto& part) { part.subject.data_hash = 2; }), HasSubstr("another data"));
  EXPECT_THAT(with([](auto& part) { part.samples = 39; }), HasSubstr("another data"));
  EXPECT_THAT(with([](auto& part) { part.subject.options["data"] = "e"; }),
              HasSubstr("another option --data"));
  EXPECT_THAT(with([](auto& part) { part.subject.seed = 2; }), HasSubstr("another options"));
  EXPECT_THAT(with([](auto& part) { part.subject.gates[0].drop = 0.1; }), HasSubstr("another options"));
  EXPECT_THAT(with([](auto& part) { part.subject.runners[1].description["engine"] = "other"; }),
              HasSubstr("another runners"));
  EXPECT_THAT(with([](auto& part) { part.subject.metrics[0].threshold = 0.6; }),
              HasSubstr("another metrics"));
  EXPECT_THAT(with([](auto& part) { part.shard.count = 3; }), HasSubstr("another number of shards"));
}

TEST(Merging, RefusesSamplesThatAreMissingOrOfAnotherShard) {
  auto parts = shards(2);
  parts[1].part.scores.pop_back();
  EXPECT_THAT(refusal(parts), HasSubstr("in no part"));
  parts = shards(2);
  parts[1].part.scores.back().index = 1;
  EXPECT_THAT(refusal(parts), HasSubstr("not of shard"));
  parts = shards(2);
  parts[1].part.scores.back() = parts[1].part.scores.front();
  EXPECT_THAT(refusal(parts), HasSubstr("in two"));
}

TEST(Merging, TellsOfOtherMachines) {
  auto parts = shards(2);
  parts[1].part.environment["cpu"] = "two";
  EXPECT_EQ(merge_parts(parts).environment["cpu"], "two; one");
}

TEST(Parts, AreReadWithCare) {
  const std::string sound = part_json(part({}));
  EXPECT_THROW(parse_part("{}"), Error);
  EXPECT_THROW(parse_part("[1"), Error);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_THROW(parse_part(changed("\"version\":1", "\"version\":2")), Error);
  EXPECT_THROW(parse_part(changed("\"against\":0", "\"against\":2")), Error);
  EXPECT_THROW(parse_part(changed("\"count\":1", "\"count\":1000000000000")), Error);
  EXPECT_THROW(parse_part(changed("\"failures\":[\"\",\"\"]", "\"failures\":[\"\"]")), Error);
  EXPECT_THROW(parse_part(changed("[1.0,1.0,", "[1.0,")), Error);
  EXPECT_EQ(part_json(parse_part(sound)), sound);
}

class Concluded : public testing::Test {
 protected:
  static EvaluationOutcome concluded(const EvaluationPart& whole) {
    std::vector<std::unique_ptr<TaskMetric>> owned;
    std::vector<TaskMetric*> metrics;
    for (const auto& options : whole.subject.metrics)
      metrics.push_back(owned.emplace_back(make_task_metric(options)).get());
    return conclude(whole, metrics);
  }
};

TEST_F(Concluded, RunnersArePaired) {
  const EvaluationOutcome outcome = concluded(part({}));
  ASSERT_EQ(outcome.differences.size(), 1);
  const auto& difference = outcome.differences[0];
  EXPECT_NEAR(difference.difference, -1.0 / 40, 1e-12);
  EXPECT_EQ(difference.p, 1);
  EXPECT_EQ(difference.lost, 1);
  EXPECT_EQ(difference.gained, 0);
  ASSERT_EQ(difference.changes.size(), 1);
  EXPECT_EQ(difference.changes[0].origin, "3.png");
  EXPECT_NEAR(difference.changes[0].lost, 0.1 + 1.0 / 3 + 0.5, 1e-12);
  EXPECT_EQ(outcome.verdict(), Verdict::kPass);
}

TEST_F(Concluded, AGateOfFewSamplesIsMistrusted) {
  EvaluationPart whole = part({});
  whole.subject.gates[0].drop = 0.05;
  const EvaluationOutcome outcome = concluded(whole);
  EXPECT_EQ(outcome.verdict(), Verdict::kMistrusted);
  EXPECT_THAT(outcome.differences[0].gate->sentence, HasSubstr("samples like these would do"));
}

TEST_F(Concluded, ALargeDropFails) {
  EvaluationPart whole = part({});
  for (auto& sample : whole.scores) sample.scores[0][1][0].value = sample.index % 2 == 0;
  EXPECT_EQ(concluded(whole).verdict(), Verdict::kFail);
}

TEST_F(Concluded, ARunnerThatFailedOnASampleFails) {
  EvaluationPart whole = part({});
  whole.scores[5].failures[1] = "crashed";
  whole.scores[5].scores[0][1].clear();
  const EvaluationOutcome outcome = concluded(whole);
  EXPECT_EQ(outcome.verdict(), Verdict::kFail);
  EXPECT_TRUE(outcome.is_judged());
  EXPECT_TRUE(outcome.differences.empty());
  EXPECT_EQ(outcome.runners[1].failure, "crashed");
}

TEST_F(Concluded, RowsThatDoNotFitAreRefused) {
  EvaluationPart whole = part({});
  whole.scores[5].scores[0][1].push_back({});
  EXPECT_THROW(concluded(whole), Error);
  whole = part({});
  whole.subject.metrics[0].name = "f1";
  EXPECT_THROW(concluded(whole), Error);
}

TEST_F(Concluded, EqualRowsAreNoProofWhereTheyAreFew) {
  EvaluationPart whole = part({});
  whole.subject.metrics[0].name = whole.subject.gates[0].metric = "f1";
  whole.subject.gates[0].drop = 0.01;
  for (auto& sample : whole.scores)
    sample.scores[0][0] = sample.scores[0][1] = {{.value = 1, .numbers = {1, 1}}};
  EXPECT_EQ(concluded(whole).verdict(), Verdict::kMistrusted);
  EXPECT_GT(concluded(whole).differences[0].ci95.high, 0.01);
  whole.subject.gates[0].drop = 0.1;
  EXPECT_EQ(concluded(whole).verdict(), Verdict::kPass);
}

TEST_F(Concluded, AMetricWithoutAValueIsNoPass) {
  EvaluationPart whole = part({});
  whole.subject.metrics[0].name = whole.subject.gates[0].metric = "auroc";
  for (auto& sample : whole.scores)
    sample.scores[0][0] = sample.scores[0][1] = {{.value = 1, .numbers = {1, 0.7}}};
  const EvaluationOutcome outcome = concluded(whole);
  EXPECT_TRUE(std::isnan(outcome.differences[0].difference));
  EXPECT_EQ(outcome.verdict(), Verdict::kMistrusted);
  EXPECT_THAT(outcome.differences[0].gate->sentence, HasSubstr("no value"));
}

TEST_F(Concluded, WithoutAGateNothingIsJudged) {
  EvaluationPart whole = part({});
  whole.subject.gates.clear();
  EXPECT_FALSE(concluded(whole).is_judged());
}

TEST(Scores, AreWrittenForOtherStatistics) {
  const TemporaryFolder folder;
  write_scores(folder.path() / "s.jsonl", part({}));
  const std::string lines = read_file(folder.path() / "s.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 80);
  EXPECT_THAT(
      lines,
      HasSubstr(R"({"sample":3,"row":0,"origin":"3.png","runner":"cpu","top1":0.0,"top1/margin":-0.5})"));
  write_scores(folder.path() / "s.npz", part({}));
  EXPECT_GT(read_file(folder.path() / "s.npz").size(), 1000);
}

}  // namespace
}  // namespace vernier
