// Plans are judged by these: parts of the data, errors of outputs, and metrics.
#include <gmock/gmock.h>

#include "passes/rewriting.h"
#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"
#include "vernier/search/metric_points.h"
#include "vernier/search/target.h"
#include "vernier/search/tuning_data.h"

namespace vernier {
namespace {

class Given : public DataSource {
 public:
  explicit Given(std::vector<Sample> samples) : samples_(std::move(samples)) {}
  std::optional<Sample> next() override {
    if (at_ == samples_.size()) return std::nullopt;
    return samples_[at_++];
  }

 private:
  std::vector<Sample> samples_;
  size_t at_ = 0;
};

Tensor counted(Dims dims) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 7;
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

TuningData read(const Model& model, const std::vector<int64_t>& batches) {
  std::vector<Sample> samples;
  for (const int64_t batch : batches) samples.push_back({"given", {{"x", counted({batch, 3})}}, {}, {}});
  Given source(std::move(samples));
  return read_tuning_data(model, source, {});
}

TEST(TuningData, RowsThatAModelTreatsAloneAreSamplesOfTheirOwn) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 3]) -> (%y) {
    %y: f32[*] = Softmax(%x) {axis = 1} version 13 @"a" from ["a"]
  })");
  const TuningData data = read(model, {40});
  EXPECT_EQ(data.samples.size(), 14);  // of three rows each
  EXPECT_EQ(data.selection.size() + data.held_out.size(), 14);
  EXPECT_EQ(data.timed.at("x").tensor.dims(), (Dims{40, 3}));
  EXPECT_EQ(data.samples[13].inputs.at("x").tensor.dims(), (Dims{1, 3}));
  EXPECT_EQ(data.samples[1].inputs.at("x").tensor.to_doubles()[0], 9.0F / 7);
}

TEST(TuningData, RowsThatDependOnOneAnotherAreNot) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 3]) -> (%y) {
    %y: f32[*] = Softmax(%x) {axis = 0} version 13 @"a" from ["a"]
  })");
  EXPECT_THROW(read(model, {40}), Error);
  EXPECT_EQ(read(model, {40, 40}).samples.size(), 2);
}

TEST(TuningData, EverySampleIsInOnePart) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    %y: f32[*] = Relu(%x) version 14 @"a" from ["a"]
  })");
  TuningData data = read(model, std::vector<int64_t>(11, 2));
  std::vector<size_t> all = data.selection;
  all.insert(all.end(), data.held_out.begin(), data.held_out.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(data.part(DataPart::kScreening).size(), 4);
  const uint64_t hash = hash_of(data);
  data.samples[3].inputs["x"] = counted({2, 3}).reshaped({3, 2});
  EXPECT_NE(hash_of(data), hash);
}

NamedData output(std::vector<double> values) {
  return {{"y", Tensor::from_doubles(ElementType::kFloat, {static_cast<int64_t>(values.size())}, values)}};
}

TEST(OutputError, IsRelativeToTheReference) {
  EXPECT_NEAR(output_error(output({3, 4}), output({3, 4.5}), nullptr).relative_l2, 0.1, 1e-6);
  EXPECT_EQ(output_error(output({3, 4}), output({3, 4}), nullptr).relative_l2, 0);
}

TEST(OutputError, WhatCannotBeComparedIsInfinitelyWrong) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(output_error(output({3, 4}), output({3, nan}), nullptr).relative_l2, infinity);
  EXPECT_EQ(output_error(output({3, 4}), output({3, infinity}), nullptr).relative_l2, infinity);
  EXPECT_EQ(output_error(output({3, 4}), output({3}), nullptr).relative_l2, infinity);
  EXPECT_EQ(output_error(output({3, 4}), {}, nullptr).relative_l2, infinity);
  EXPECT_EQ(output_error(output({nan}), output({nan}), nullptr).relative_l2, 0);
  Tolerances tolerances;
  tolerances.atol.parse("0.5");
  tolerances.rtol.parse("0");
  EXPECT_EQ(output_error(output({3, 4}), output({3, 5}), &tolerances).elements, 2);
  EXPECT_EQ(output_error(output({3, nan}), output({3, nan}), &tolerances).elements, 0);
  EXPECT_EQ(output_error(output({3, 4}), output({3, nan}), &tolerances).elements, infinity);
  tolerances.atol = {};
  tolerances.atol.parse("0");
  EXPECT_EQ(output_error(output({0}), output({1e-30}), &tolerances).elements, infinity);
}

class Points : public testing::Test {
 protected:
  static std::unique_ptr<TaskMetric> metric(const std::string& name) {
    return make_task_metric({name, "", {"y"}, 0.5, 0.5});
  }
  std::filesystem::path labels(const std::vector<int64_t>& labels) const {
    const auto file = folder_.path() / "labels.npy";
    write_file(file, write_npy(Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(labels.size())},
                                                 labels)));
    return file;
  }
  static NamedData scores(std::vector<double> values, int64_t classes) {
    const auto rows = static_cast<int64_t>(values.size()) / classes;
    return {{"y", Tensor::from_doubles(ElementType::kFloat, {rows, classes}, values)}};
  }
  TemporaryFolder folder_;
};

TEST_F(Points, LabelsMustFitTheRows) {
  const NamedData outputs = scores({1, 2, 0, 5, 4, 3}, 3);
  const auto file = labels({1, 0, 2, 1});
  const auto found = labels_of(*metric("top1"), {&outputs, &outputs}, file);
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[1].first_row, 2);
  EXPECT_EQ(found[1].values.to_ints(), (std::vector<int64_t>{2, 1}));
  EXPECT_THROW(labels_of(*metric("top1"), {&outputs}, file), Error);
  EXPECT_THROW(labels_of(*metric("top1"), {&outputs}, ""), Error);
  EXPECT_THROW(labels_of(*metric("top1"), {&outputs}, folder_.path() / "none.npy"), Error);
  EXPECT_FALSE(labels_of(*metric("cosine"), {&outputs}, "")[0].is_known());
}

TEST_F(Points, AreAHundredForWhatIsPerfect) {
  const RowScores before{{.value = 1}, {.value = 1}}, after{{.value = 1}, {.value = 0}};
  EXPECT_EQ(points_of(*metric("top1"), after), 50);
  EXPECT_EQ(points_lost(*metric("top1"), before, after), 50);
  EXPECT_EQ(row_losses(*metric("top1"), before, after), (std::vector<double>{0, 100}));
  // Decibels are points as they are.
  EXPECT_EQ(points_lost(*metric("psnr"), {{.value = 30}}, {{.value = 28}}), 2);
  // Less of an error is better.
  EXPECT_EQ(points_lost(*metric("rmse"), {{.value = 1, .numbers = {1}}}, {{.value = 2, .numbers = {4}}}), 1);
  EXPECT_TRUE(row_losses(*metric("rmse"), before, after).empty());
  EXPECT_TRUE(row_losses(*metric("top1"), {{.value = 1, .weight = 2}}, {{.value = 1, .weight = 2}}).empty());
}

}  // namespace
}  // namespace vernier
