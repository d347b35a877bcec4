#include <gmock/gmock.h>

#include <cmath>

#include "vernier/base/error.h"
#include "vernier/evaluate/task_metric.h"

namespace vernier {
namespace {

using testing::DoubleNear;

std::unique_ptr<TaskMetric> metric(const std::string& name, double threshold = 0.5) {
  return make_task_metric({name, "", {"y"}, threshold, 0.5});
}

Tensor floats(Dims dims, const std::vector<double>& values) {
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

Tensor integers(Dims dims, const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt64, std::move(dims), values);
}

RowScores score(TaskMetric& metric, const Tensor& made, const Tensor& wanted, const Tensor& reference = {}) {
  const NamedData outputs{{"y", made}}, others{{"y", reference.is_defined() ? reference : made}};
  Label label;
  label.values = wanted;
  label.file = "labels.npy";
  return metric.score({outputs, others, label});
}

double value(const std::string& name, const Tensor& made, const Tensor& wanted,
             const Tensor& reference = {}) {
  const auto of = metric(name);
  return of->value(score(*of, made, wanted, reference));
}

TEST(TopK, CountsRowsWhoseLabelIsAmongTheLargest) {
  const Tensor outputs = floats({2, 3}, {1, 2, 0, 5, 4, 3});
  EXPECT_EQ(value("top1", outputs, integers({2}, {1, 0})), 1);
  EXPECT_EQ(value("top1", outputs, integers({2}, {1, 1})), 0.5);
  EXPECT_EQ(value("top1", outputs, integers({2}, {0, 2})), 0);
  EXPECT_EQ(value("topk:2", outputs, integers({2}, {0, 2})), 0.5);
  EXPECT_EQ(value("top5", outputs, integers({2}, {2, 2})), 1);
  EXPECT_EQ(value("top1", floats({2, 3}, {std::nan(""), 2, 1, 5, 4, 3}), integers({2}, {0, 0})), 0.5);
  // Equal scores: the first counts, as everywhere.
  EXPECT_EQ(value("top1", floats({1, 2}, {2, 2}), integers({1}, {1})), 0);
  EXPECT_EQ(value("accuracy", integers({3}, {4, 7, 1}), integers({3}, {4, 7, 2})), 2.0 / 3);
  EXPECT_EQ(value("accuracy", floats({4, 1}, {0.1, 0.9, 0.6, 0.4}), integers({4}, {0, 1, 0, 1})), 0.5);
}

TEST(TopK, KnowsByHowMuchARowIsRight) {
  const auto of = metric("topk:2");
  const RowScores rows = score(*of, floats({2, 4}, {1, 2, 0, 9, 5, 4, 3, 1}), integers({2}, {0, 1}));
  EXPECT_EQ(rows[0].margin, -1);  // behind the second, which is 2
  EXPECT_EQ(rows[1].margin, 1);   // ahead of the second of the others, which is 3
}

TEST(TopK, RefusesLabelsThatAreNone) {
  const Tensor outputs = floats({2, 3}, {1, 2, 0, 5, 4, 3});
  EXPECT_THROW(value("top1", outputs, integers({2}, {3, 0})), Error);
  EXPECT_THROW(value("top1", outputs, integers({2}, {-1, 0})), Error);
  EXPECT_THROW(value("top1", outputs, integers({3}, {1, 0, 1})), Error);
  EXPECT_THROW(value("top1", outputs, floats({2}, {1, 0})), Error);
  EXPECT_THROW(value("top1", outputs, Tensor()), Error);
  for (const char* name : {"topk:0", "topk:x", "topk:1.5", "beauty", "psnr:-1"})
    EXPECT_THROW(metric(name), Error) << name;
  EXPECT_THROW(make_task_metric({"top1", "z", {"y"}, 0.5, 0.5}), Error);
}

// sklearn.metrics.f1_score and roc_auc_score of the same numbers.
TEST(F1, IsTheMeanOverClasses) {
  const Tensor decided = integers({6}, {0, 2, 1, 0, 0, 1}), wanted = integers({6}, {0, 1, 2, 0, 1, 2});
  EXPECT_NEAR(value("f1", decided, wanted), 0.26666666666666666, 1e-12);
  EXPECT_NEAR(value("f1:binary", integers({4}, {1, 1, 0, 1}), integers({4}, {1, 0, 0, 1})), 0.8, 1e-12);
  EXPECT_EQ(value("f1:binary", integers({2}, {0, 0}), integers({2}, {0, 0})), 0);
  EXPECT_THROW(value("f1:binary", integers({2}, {0, 0}), integers({2}, {2, 0})), Error);
}

TEST(Auroc, IsTheChanceOfTheRightOrder) {
  EXPECT_EQ(value("auroc", floats({4, 1}, {0.1, 0.4, 0.35, 0.8}), integers({4}, {0, 0, 1, 1})), 0.75);
  EXPECT_EQ(value("auroc", floats({4, 1}, {0.5, 0.5, 0.5, 0.5}), integers({4}, {0, 0, 1, 1})), 0.5);
  EXPECT_EQ(
      value("auroc", floats({4, 2}, {0.9, 0.1, 0.6, 0.4, 0.65, 0.35, 0.2, 0.8}), integers({4}, {0, 0, 1, 1})),
      0.75);
  EXPECT_EQ(value("auroc", floats({4, 1}, {0.1, 0.4, std::nan(""), 0.8}), integers({4}, {0, 0, 1, 1})), 0.5);
  EXPECT_TRUE(std::isnan(value("auroc", floats({2, 1}, {0.1, 0.4}), integers({2}, {0, 0}))));
}

TEST(Overlap, IsTheMeanOverClassesOfSharedAreas) {
  const Tensor wanted = integers({1, 4}, {0, 0, 1, 255});
  // Classes 0, 1, 1 and, where it does not count, 0.
  const Tensor found = floats({1, 2, 4}, {1, 0, 0, 1, 0, 1, 1, 0});
  EXPECT_NEAR(value("iou", found, wanted), 0.5, 1e-9);  // one of two, and one of two
  EXPECT_NEAR(value("dice", found, wanted), 2.0 / 3, 1e-9);
  EXPECT_EQ(value("iou", integers({1, 4}, {0, 0, 1, 1}), wanted), 1);
  EXPECT_EQ(value("iou", floats({1, 1, 4}, {0.1, 0.2, 0.7, 0.9}), wanted), 1);
  EXPECT_THROW(value("iou", integers({1, 3}, {0, 0, 1}), wanted), Error);
  EXPECT_THROW(value("iou", found, integers({1, 4}, {0, 0, 2, 0})), Error);
  EXPECT_EQ(value("iou", floats({1, 2, 2}, {std::nan(""), 1, 0, 0}), integers({1, 2}, {0, 0})), 0.5);
}

TEST(Overlap, TakesMasksOfOtherSizes) {
  const Tensor mask = integers({1, 4, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(value("iou", integers({1, 2, 2}, {0, 1, 0, 0}), mask), 1);
  EXPECT_LT(value("iou", integers({1, 2, 2}, {0, 1, 0, 1}), mask), 1);
}

TEST(Overlap, PoolsTheAreasOfRows) {
  const auto of = metric("iou");
  const RowScores rows = score(*of, integers({2, 2}, {1, 1, 0, 1}), integers({2, 2}, {1, 1, 1, 1}));
  EXPECT_EQ(rows[0].value, 1);
  EXPECT_NEAR(of->value(rows), (3.0 / 4 + 0) / 2, 1e-12);  // class 0 was found where there is none
  EXPECT_NEAR(of->over(rows)(std::vector<uint32_t>{1, 0}), 1, 1e-12);
}

TEST(Images, AreMeasuredInDecibels) {
  const Tensor wanted = floats({2, 4}, {0, 0.5, 1, 0.25, 0, 0, 0, 0}),
               made = floats({2, 4}, {0.1, 0.6, 0.9, 0.35, 0, 0, 0, 0});
  const auto psnr = metric("psnr");
  const RowScores rows = score(*psnr, made, wanted);
  EXPECT_NEAR(rows[0].value, 20, 1e-5);
  EXPECT_EQ(rows[1].value, 100);  // equal
  EXPECT_NEAR(value("psnr:255", floats({1, 2}, {10, 10}), floats({1, 2}, {11, 9})), 20 * std::log10(255.0),
              1e-6);
  EXPECT_NEAR(value("rmse", made, wanted), 0.1 / std::sqrt(2), 1e-7);
  EXPECT_FALSE(metric("rmse")->higher_is_better());
  EXPECT_EQ(value("psnr", floats({1, 1}, {std::nan("")}), floats({1, 1}, {1})), 0);
  EXPECT_THROW(value("psnr", made, floats({2, 3}, {0, 0, 0, 0, 0, 0})), Error);
  // Without labels, what the reference makes.
  EXPECT_NEAR(value("rmse", floats({1, 2}, {1, 2}), Tensor(), floats({1, 2}, {2, 3})), 1, 1e-12);
}

TEST(Images, AreAlikeInStructure) {
  std::vector<double> a(16 * 16), b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(i * 37 % 101) / 101;
    b[i] = static_cast<double>(i * 37 % 101) / 101 * 0.8 + static_cast<double>(i % 7) / 70;
  }
  EXPECT_NEAR(value("ssim", floats({1, 1, 16, 16}, a), floats({1, 1, 16, 16}, a)), 1, 1e-12);
  const double found = value("ssim", floats({1, 1, 16, 16}, a), floats({1, 1, 16, 16}, b));
  EXPECT_LT(found, 0.99);
  EXPECT_EQ(value("ssim", floats({1, 16, 16}, a), floats({1, 16, 16}, b)), found);
  EXPECT_EQ(value("ssim", floats({1, 16, 16, 1}, a), floats({1, 16, 16, 1}, b)), found);
  EXPECT_THROW(value("ssim", floats({1, 1, 4, 4}, std::vector<double>(16)),
                     floats({1, 1, 4, 4}, std::vector<double>(16))),
               Error);
}

TEST(Reference, IsWhatOthersAgreeWith) {
  const Tensor reference = floats({2, 3}, {1, 2, 0, 5, 4, 3}), other = floats({2, 3}, {3, 2, 0, 5, 4, 3});
  EXPECT_EQ(value("agreement", reference, Tensor(), reference), 1);
  EXPECT_EQ(value("agreement", other, Tensor(), reference), 0.5);
  EXPECT_EQ(value("agreement", floats({2, 3}, {1, 2, std::nan(""), 5, 4, 3}), Tensor(), reference), 0.5);
  EXPECT_NEAR(value("cosine", floats({2}, {1, 1}), Tensor(), floats({2}, {1, 0})), 1 / std::sqrt(2), 1e-6);
  EXPECT_EQ(value("cosine", floats({2}, {std::nan(""), 1}), Tensor(), floats({2}, {1, 0})), 0);
  EXPECT_THROW(value("agreement", floats({1, 3}, {1, 2, 0}), Tensor(), reference), Error);
}

TEST(Reference, HasBoxesThatOthersMatch) {
  const std::vector<double> two{0, 0, 10, 10, 0.9, 1, 20, 20, 30, 30, 0.8, 2};
  const Tensor reference = floats({1, 2, 6}, two);
  EXPECT_EQ(value("agreement:boxes", reference, Tensor(), reference), 1);
  auto moved = two;
  moved[6] = 28;  // an area of 2 x 10, of which nothing else is shared
  EXPECT_EQ(value("agreement:boxes", floats({1, 2, 6}, moved), Tensor(), reference), 0.5);
  auto other_class = two;
  other_class[5] = 2;
  EXPECT_EQ(value("agreement:boxes", floats({1, 2, 6}, other_class), Tensor(), reference), 0.5);
  auto unsure = two;
  unsure[4] = 0.2;
  EXPECT_NEAR(value("agreement:boxes", floats({1, 2, 6}, unsure), Tensor(), reference), 2.0 / 3, 1e-12);
  EXPECT_THROW(value("agreement:boxes", floats({2, 3}, {1, 2, 0, 5, 4, 3}), Tensor()), Error);
}

TEST(Metrics, RefuseRowsThatAreNotTheirs) {
  const RowScores bare{{.value = 1}};
  for (const char* name : {"f1", "auroc", "rmse"}) EXPECT_FALSE(metric(name)->takes(bare)) << name;
  EXPECT_FALSE(metric("iou")->takes({{.value = 1, .numbers = {1, 2}}}));
  EXPECT_FALSE(metric("iou")->takes({{.value = 1, .numbers = {std::nan(""), 2, 3}}}));
  EXPECT_TRUE(metric("top1")->takes(bare));
  EXPECT_THROW(require_labels(*metric("top1"), false), Error);
  require_labels(*metric("cosine"), false);
}

}  // namespace
}  // namespace vernier
