#include "vernier/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "samples.h"

namespace vernier {
namespace {

using testing::HasSubstr;
using testing::Not;

nlohmann::json json_of(const Report& report) {
  return nlohmann::json::parse(report_json(report));
}

const nlohmann::json& tensor_named(const nlohmann::json& comparison, const std::string& value) {
  for (const auto& tensor : comparison["tensors"]) {
    if (tensor["value"] == value) return tensor;
  }
  throw std::out_of_range(value);
}

TEST(Report, VerdictIsTheWorst) {
  Report report;
  EXPECT_EQ(report.verdict(), Verdict::kNotCompared);
  report.comparisons.push_back(passing_comparison());
  EXPECT_EQ(report.verdict(), Verdict::kPass);
  report.comparisons.push_back(failing_comparison());
  EXPECT_EQ(report.verdict(), Verdict::kFail);
}

TEST(JsonReport, HoldsWhatWasFound) {
  const nlohmann::json report = json_of(sample_report());
  EXPECT_EQ(report["schema"], "vernier-report");
  EXPECT_EQ(report["verdict"], "fail");
  EXPECT_EQ(report["options"]["--seed"], "1");
  EXPECT_EQ(report["environment"]["cpu"], "Xeon");
  EXPECT_EQ(report["comparisons"][0]["verdict"], "pass");
  const nlohmann::json& failing = report["comparisons"][1];
  EXPECT_EQ(failing["first_difference"]["value"], "conv");
  EXPECT_EQ(failing["first_difference"]["nodes"], (std::vector<std::string>{"Conv_0", "Relu_1"}));
  EXPECT_EQ(failing["random_data_only"], true);
  const nlohmann::json& logits = tensor_named(failing, "logits");
  EXPECT_EQ(logits["verdict"], "fail");
  EXPECT_EQ(logits["worst"]["index"], (std::vector<int64_t>{0, 6}));
  EXPECT_EQ(logits["worst"]["expected"], 7);
  EXPECT_EQ(logits["worst"]["actual"], 8);
  EXPECT_EQ(logits["metrics"]["argmax_agreement"], 0);
  EXPECT_EQ(logits["tolerance"]["source"], "atol: --atol logits:0.001, rtol: default for f32");
  EXPECT_EQ(tensor_named(failing, "token")["worst"]["expected"], ~uint64_t{0});
  EXPECT_EQ(tensor_named(failing, "gone")["verdict"], "fail");
  EXPECT_EQ(tensor_named(failing, "empty")["verdict"], "not_compared");
  EXPECT_EQ(tensor_named(failing, "zero")["verdict"], "mistrusted");
}

TEST(JsonReport, F7_SpellsNanAndInfOut) {
  const nlohmann::json report = json_of(sample_report());
  const nlohmann::json& nans = tensor_named(report["comparisons"][1], "nans");
  EXPECT_EQ(nans["metrics"]["max_abs"], "inf");
  EXPECT_EQ(nans["metrics"]["cosine"], "nan");
  EXPECT_EQ(nans["metrics"]["sqnr_db"], "-inf");
  EXPECT_EQ(nans["worst"]["expected"], "inf");
  EXPECT_EQ(nans["worst"]["actual"], "-inf");
  EXPECT_THAT(report_json(sample_report()), Not(HasSubstr("null")));
}

TEST(TextReport, F1_ShowsNanAndFails) {
  const Tensor nan = reals({1}, {std::numeric_limits<double>::quiet_NaN()});
  Report report;
  report.comparisons = {compare(run_of("reference", {entry("y", reals({1}, {1}), true)}),
                                run_of("engine", {entry("y", nan, true)}))};
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("engine against reference: fail"));
  EXPECT_THAT(text, HasSubstr("1 of 1 elements are NaN on one side only"));
  EXPECT_THAT(text, HasSubstr("verdict: fail"));
  EXPECT_THAT(text, Not(HasSubstr("1.0000000")));
}

TEST(TextReport, F4_WithoutComparisonsIsNoPass) {
  EXPECT_EQ(report_text({}), "verdict: not_compared (there is no comparison)\n");
}

TEST(TextReport, PassesWhatPasses) {
  Report report;
  report.comparisons = {passing_comparison()};
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("verdict: pass"));
  EXPECT_THAT(text, Not(HasSubstr("fail")));
  EXPECT_THAT(text, Not(HasSubstr("random data")));
}

TEST(Report, NamesTheTiesOnWhichAPassRests) {
  Report report;
  report.comparisons = {tied_comparison()};
  EXPECT_EQ(report.verdict(), Verdict::kPass);
  EXPECT_THAT(report_text(report),
              HasSubstr("decided by a tie: TopK 'TopK_7' chose between 0.731 and 0.731"));
  const nlohmann::json json = json_of(report);
  const nlohmann::json& decision = json["comparisons"][0]["tensors"][0]["decisions"][0];
  EXPECT_EQ(decision["node"], "TopK_7");
  EXPECT_EQ(decision["margin"], 1.2e-7);
  EXPECT_EQ(decision["error"], 2.3e-7);
  EXPECT_EQ(decision["rows_swapped"], 2);
}

TEST(TextReport, NamesTheFirstDifferenceAndTheWorstElement) {
  const std::string text = report_text(sample_report());
  EXPECT_THAT(text, HasSubstr("random data alone"));
  EXPECT_THAT(text, HasSubstr("first difference: conv, made by Conv_0, Relu_1"));
  EXPECT_THAT(text, HasSubstr("worst: [1] of sample 0: expected 2, got 3"));
  EXPECT_THAT(text, HasSubstr("note: engine: taps added outputs to the graph"));
  EXPECT_LT(text.find("cpu: Xeon"), text.find("against"));
}

TEST(TextReport, WorstComeFirstAndTheRestIsCounted) {
  ReportTextOptions options;
  options.max_rows = 2;
  Report report;
  report.comparisons = {failing_comparison()};
  const std::string text = report_text(report, options);
  EXPECT_THAT(text, HasSubstr("… and 10 more, none of them worse"));
  EXPECT_THAT(text.substr(0, text.find("… and")), Not(HasSubstr("mistrusted")));
}

TEST(TextReport, ForeignNamesCannotSteerTheTerminal) {
  ReportTextOptions options;
  options.max_details = 100;
  const std::string text = report_text(sample_report(), options);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("word \\xff\\x1b[31m"));
  options.colour = true;
  EXPECT_THAT(report_text(sample_report(), options), HasSubstr("\x1b[31mfail\x1b[0m"));
}

TEST(TextReport, RequiredToleranceIsRoundedUp) {
  Report report;
  report.comparisons = {compare(run_of("reference", {entry("y", reals({1}, {0}), true)}),
                                run_of("engine", {entry("y", reals({1}, {0.123401}), true)}))};
  EXPECT_THAT(report_text(report),
              HasSubstr("would need: atol 0.124 at this rtol, or rtol inf at this atol"));
}

// Not a check: writes what tests/report/validate_test.py holds against the schema.
TEST(JsonReport, WritesSamplesForTheSchema) {
  const char* folder = std::getenv("VERNIER_REPORT_SAMPLES");
  if (folder == nullptr) GTEST_SKIP() << "VERNIER_REPORT_SAMPLES names no folder";
  Report passing;
  passing.command = "build";
  passing.comparisons = {passing_comparison()};
  const std::map<std::string, Report> reports{{"empty", {}}, {"pass", passing}, {"all", sample_report()}};
  for (const auto& [name, report] : reports) {
    std::ofstream file(std::filesystem::path(folder) / (name + ".json"));
    file << report_json(report);
    ASSERT_TRUE(file.good());
  }
}

}  // namespace
}  // namespace vernier
