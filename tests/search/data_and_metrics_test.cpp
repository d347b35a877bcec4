// What plans are judged by: parts of the data, errors of outputs, and metrics.
#include <gmock/gmock.h>

#include "passes/rewriting.h"
#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"
#include "vernier/search/target.h"
#include "vernier/search/task_metric.h"
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

class TaskMetricTest : public testing::Test {
 protected:
  MetricOptions options(const std::string& name, const std::vector<int64_t>& labels) const {
    const auto file = folder_.path() / "labels.npy";
    write_file(file, write_npy(Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(labels.size())},
                                                 labels)));
    return {name, file, "", {"y"}};
  }
  static NamedData scores(std::vector<double> values, int64_t classes) {
    const auto rows = static_cast<int64_t>(values.size()) / classes;
    return {{"y", Tensor::from_doubles(ElementType::kFloat, {rows, classes}, values)}};
  }
  static double points(TaskMetric& metric, const NamedData& outputs) {
    const MetricOutputs made{{&outputs}, {0}};
    return metric.value(made, made).points;
  }
  TemporaryFolder folder_;
};

TEST_F(TaskMetricTest, TopKCountsRowsWhoseLabelIsAmongTheLargest) {
  const NamedData outputs = scores({1, 2, 0, 5, 4, 3}, 3);
  EXPECT_EQ(points(*make_task_metric(options("top1", {1, 0})), outputs), 100);
  EXPECT_EQ(points(*make_task_metric(options("top1", {1, 1})), outputs), 50);
  EXPECT_EQ(points(*make_task_metric(options("top1", {0, 2})), outputs), 0);
  EXPECT_EQ(points(*make_task_metric(options("top5", {2, 2})), outputs), 100);
  EXPECT_EQ(points(*make_task_metric(options("top1", {0, 0})), scores({std::nan(""), 2, 1, 5, 4, 3}, 3)), 50);
  // Equal scores: the first counts, as everywhere.
  EXPECT_EQ(points(*make_task_metric(options("top1", {1})), scores({2, 2}, 2)), 0);
}

TEST_F(TaskMetricTest, LabelsMustFitTheRows) {
  const NamedData outputs = scores({1, 2, 0, 5, 4, 3}, 3);
  const auto metric = make_task_metric(options("top1", {1, 0, 2, 1}));
  EXPECT_EQ(first_labels(*metric, {&outputs, &outputs}, "labels.npy"), (std::vector<size_t>{0, 2}));
  EXPECT_THROW(first_labels(*metric, {&outputs}, "labels.npy"), Error);
  EXPECT_THROW(points(*make_task_metric(options("top1", {3, 0})), outputs), Error);
  EXPECT_THROW(make_task_metric({"top1", "", "", {"y"}}), Error);
  EXPECT_THROW(make_task_metric({"top1", folder_.path() / "none.npy", "", {"y"}}), Error);
  EXPECT_THROW(make_task_metric({"cosine", "", "z", {"y"}}), Error);
  EXPECT_THROW(make_task_metric({"other", "", "", {"y"}}), Error);
}

TEST_F(TaskMetricTest, IouIsTheMeanOverClassesOfSharedAreas) {
  MetricOptions iou = options("iou", {});
  write_file(iou.labels,
             write_npy(Tensor::from_ints(ElementType::kInt64, {1, 4}, std::vector<int64_t>{0, 0, 1, 255})));
  // Classes 0, 1, 1 and, where it does not count, 0.
  const NamedData found{{"y", Tensor::from_doubles(ElementType::kFloat, {1, 2, 4},
                                                   std::vector<double>{1, 0, 0, 1, 0, 1, 1, 0})}};
  EXPECT_NEAR(points(*make_task_metric(iou), found), 50, 1e-9);  // one of two, and one of two
  const NamedData all{
      {"y", Tensor::from_ints(ElementType::kInt64, {1, 4}, std::vector<int64_t>{0, 0, 1, 1})}};
  EXPECT_EQ(points(*make_task_metric(iou), all), 100);
  const NamedData other{{"y", Tensor::from_ints(ElementType::kInt64, {1, 3}, std::vector<int64_t>{0, 0, 1})}};
  EXPECT_THROW(make_task_metric(iou)->rows(other), Error);
  write_file(iou.labels,
             write_npy(Tensor::from_ints(ElementType::kInt64, {1, 4}, std::vector<int64_t>{0, 0, 2, 0})));
  EXPECT_THROW(points(*make_task_metric(iou), found), Error);
  EXPECT_THROW(make_task_metric({"iou", "", "", {"y"}}), Error);
}

TEST_F(TaskMetricTest, CosineIsTheSimilarityToTheReference) {
  const auto metric = make_task_metric({"cosine", "", "", {"y"}});
  const NamedData one = output({1, 0}), other = output({1, 1}), broken = output({std::nan(""), 1});
  const MetricOutputs reference{{&one}, {0}};
  EXPECT_NEAR(metric->value({{&one}, {0}}, reference).points, 100, 1e-9);
  EXPECT_NEAR(metric->value({{&other}, {0}}, reference).points, 100 / std::sqrt(2), 1e-4);
  EXPECT_EQ(metric->value({{&broken}, {0}}, reference).points, 0);
}

}  // namespace
}  // namespace vernier
