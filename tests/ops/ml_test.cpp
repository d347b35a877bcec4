#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;
using testing::IsNan;

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Tensor> run(const std::string& op, const AttributeMap& attributes, const Tensor& x,
                        int64_t version = 1, size_t outputs = 1) {
  return OneNode(op, version, attributes, "ai.onnx.ml", outputs).run({x});
}

AttributeMap with(AttributeMap attributes, const AttributeMap& others) {
  for (const auto& [name, value] : others) attributes.insert_or_assign(name, value);
  return attributes;
}

std::vector<std::string> strings_of(const Tensor& tensor) {
  const auto values = tensor.values<std::string>();
  return {values.begin(), values.end()};
}

Tensor strings(const Strings& values) {
  return Tensor::from<std::string>(ElementType::kString, {std::ssize(values)}, values);
}

// One tree: feature 0 up to 0.5 leads to the first leaf, whose vote is `weights[0]`.
AttributeMap stump(const std::string& votes, const Floats& weights, const Ints& ids) {
  return {{"nodes_treeids", Ints{0, 0, 0}},
          {"nodes_nodeids", Ints{0, 1, 2}},
          {"nodes_featureids", Ints{0, 0, 0}},
          {"nodes_values", Floats{0.5f, 0, 0}},
          {"nodes_modes", Strings{"BRANCH_LEQ", "LEAF", "LEAF"}},
          {"nodes_truenodeids", Ints{1, 0, 0}},
          {"nodes_falsenodeids", Ints{2, 0, 0}},
          {votes + "_treeids", Ints{0, 0}},
          {votes + "_nodeids", Ints{1, 2}},
          {votes + "_ids", ids},
          {votes + "_weights", weights}};
}

TEST(TreeEnsemble, SendsNanWhereTheNodeSays) {
  const auto trees = stump("target", {1, 2}, {0, 0});
  const Tensor x = floats({3, 1}, {0, kNan, 1});
  EXPECT_THAT(run("TreeEnsembleRegressor", trees, x)[0].to_doubles(), ElementsAre(1, 2, 2));
  const auto tracked = with(trees, {{"nodes_missing_value_tracks_true", Ints{1, 0, 0}}});
  EXPECT_THAT(run("TreeEnsembleRegressor", tracked, x)[0].to_doubles(), ElementsAre(1, 1, 2));
}

TEST(TreeEnsembleClassifier, ReadsVotesForTheFirstOfTwoClassesAsThoseForTheSecond) {
  const AttributeMap two{{"classlabels_int64s", Ints{5, -7}}};
  const Tensor x = floats({2, 1}, {0, 1});
  const auto probable =
      run("TreeEnsembleClassifier", with(stump("class", {0.25f, 0.75f}, {0, 0}), two), x, 3, 2);
  EXPECT_THAT(probable[0].to_ints(), ElementsAre(5, -7));
  EXPECT_THAT(probable[1].to_doubles(), ElementsAre(0.75, 0.25, 0.25, 0.75));
  const auto raw = run("TreeEnsembleClassifier", with(stump("class", {-0.25f, 0.25f}, {0, 0}), two), x, 3, 2);
  EXPECT_THAT(raw[0].to_ints(), ElementsAre(5, -7));
  EXPECT_THAT(raw[1].to_doubles(), ElementsAre(0.25, -0.25, -0.25, 0.25));
  const auto second =
      run("TreeEnsembleClassifier", with(stump("class", {-0.25f, 0.25f}, {1, 1}), two), x, 3, 2);
  EXPECT_THAT(second[0].to_ints(), ElementsAre(5, -7));
  EXPECT_THAT(second[1].to_doubles(), ElementsAre(0, -0.25, 0, 0.25));
}

TEST(TreeEnsembleClassifier, GivesTheFirstOfEqualClasses) {
  const AttributeMap three{{"classlabels_strings", Strings{"a", "b", "c"}}};
  const auto tied = with(with(stump("class", {1, 1}, {1, 2}), three), {{"base_values", Floats{0, 0, 1}}});
  EXPECT_THAT(strings_of(run("TreeEnsembleClassifier", tied, floats({2, 1}, {0, 1}), 3, 2)[0]),
              ElementsAre("b", "c"));
}

TEST(TreeEnsembleClassifier, TellsASingleClassFromNoneByItsSign) {
  const auto single = with(stump("class", {-1, 2}, {0, 0}), {{"classlabels_int64s", Ints{9}}});
  const auto result = run("TreeEnsembleClassifier", single, floats({2, 1}, {0, 1}), 3, 2);
  EXPECT_THAT(result[0].to_ints(), ElementsAre(0, 9));
  EXPECT_EQ(result[1].dims(), Dims({2, 1}));
  EXPECT_THAT(result[1].to_doubles(), ElementsAre(-1, 2));
}

TEST(LinearClassifier, KnowsTwoClassesFromOneRow) {
  const AttributeMap one_row{
      {"classlabels_ints", Ints{3, 4}}, {"coefficients", Floats{1}}, {"intercepts", Floats{0}}};
  const Tensor x = floats({3, 1}, {-0.25, 0, 0.25});
  const auto raw = run("LinearClassifier", one_row, x, 1, 2);
  EXPECT_THAT(raw[0].to_ints(), ElementsAre(3, 3, 4));
  EXPECT_THAT(raw[1].to_doubles(), ElementsAre(1.25, -0.25, 1, 0, 0.75, 0.25));
  const auto logistic = with(one_row, {{"post_transform", std::string("LOGISTIC")}});
  const auto scores = run("LinearClassifier", logistic, x, 1, 2)[1].to_doubles();
  EXPECT_DOUBLE_EQ(scores[2], 0.5);
  for (size_t at = 0; at < scores.size(); at += 2) EXPECT_NEAR(scores[at] + scores[at + 1], 1, 1e-7);
}

TEST(LinearClassifier, ChoosesBeforeTheTransform) {
  // Both are out of the range of PROBIT, and NaN after it.
  const AttributeMap rows{{"classlabels_ints", Ints{3, 4}},
                          {"coefficients", Floats{2, 3}},
                          {"post_transform", std::string("PROBIT")}};
  const auto result = run("LinearClassifier", rows, floats({1, 1}, {1}), 1, 2);
  EXPECT_THAT(result[0].to_ints(), ElementsAre(4));
  EXPECT_THAT(result[1].to_doubles(), ElementsAre(IsNan(), IsNan()));
}

// A vector of one feature for each of three classes, at -1, 0 and 1.
AttributeMap machines(const Floats& coefficients, const Floats& rho) {
  return {{"classlabels_strings", Strings{"low", "middle", "high"}},
          {"vectors_per_class", Ints{1, 1, 1}},
          {"support_vectors", Floats{-1, 0, 1}},
          {"kernel_type", std::string("RBF")},
          {"kernel_params", Floats{1, 0, 0}},
          {"coefficients", coefficients},
          {"rho", rho}};
}

TEST(SvmClassifier, LetsTheFirstWinATieOfVotes) {
  const auto tie = machines({0, 0, 0, 0, 0, 0}, {1, -1, 1});  // low beats middle, high low, middle high
  const auto result = run("SVMClassifier", tie, floats({1, 1}, {0.5}), 1, 2);
  EXPECT_THAT(strings_of(result[0]), ElementsAre("low"));
  EXPECT_THAT(result[1].to_doubles(), ElementsAre(1, -1, 1));
}

// The place of the largest of three numbers from `first` on.
size_t best_of(const std::vector<double>& numbers, size_t first) {
  const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(first);
  return static_cast<size_t>(std::max_element(begin, begin + 3) - begin);
}

TEST(SvmClassifier, FindsTheNearestVectorAndItsProbability) {
  auto nearest = machines({1, -1, -1, 1, 1, -1}, {0, 0, 0});
  const Tensor x = floats({3, 1}, {-2, 0, 2});
  EXPECT_THAT(strings_of(run("SVMClassifier", nearest, x, 1, 2)[0]), ElementsAre("low", "middle", "high"));
  nearest = with(nearest, {{"prob_a", Floats{-4, -4, -4}}, {"prob_b", Floats{0, 0, 0}}});
  const auto p = run("SVMClassifier", nearest, x, 1, 2)[1].to_doubles();
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_NEAR(p[3 * row] + p[3 * row + 1] + p[3 * row + 2], 1, 1e-6);
    EXPECT_EQ(best_of(p, 3 * row), row);
  }
  EXPECT_NEAR(p[3], p[5], 1e-2);  // what lies in the middle is as near to either side
}

TEST(SvmClassifier, VotesForTheSecondOfAPairWhenTheScoreIsNan) {
  const auto result =
      run("SVMClassifier", machines({1, -1, -1, 1, 1, -1}, {0, 0, 0}), floats({1, 1}, {kNan}), 1, 2);
  EXPECT_THAT(strings_of(result[0]), ElementsAre("high"));
  EXPECT_THAT(result[1].to_doubles(), ElementsAre(IsNan(), IsNan(), IsNan()));
}

TEST(SvmClassifier, RefusesListsThatDoNotFit) {
  const Tensor x = floats({1, 1}, {0});
  const auto fitting = machines({1, -1, -1, 1, 1, -1}, {0, 0, 0});
  EXPECT_NO_THROW(run("SVMClassifier", fitting, x, 1, 2));
  const AttributeMap changes{{"rho", Floats{0, 0}},
                             {"coefficients", Floats{1, -1, -1}},
                             {"support_vectors", Floats{-1, 0}},
                             {"vectors_per_class", Ints{1, 2}},
                             {"prob_a", Floats{1, 1, 1}},
                             {"kernel_type", std::string("CUBIC")}};
  for (const auto& [name, value] : changes)
    EXPECT_THROW(run("SVMClassifier", with(fitting, {{name, value}}), x, 1, 2), Error) << name;
  EXPECT_THROW(run("SVMClassifier", with(fitting, {{"vectors_per_class", Ints{-1, 1, 3}}}), x, 1, 2), Error);
}

TEST(Classifiers, TakeAnEmptyBatch) {
  const Tensor none = floats({0, 1}, {});
  const AttributeMap linear{{"classlabels_ints", Ints{3, 4}}, {"coefficients", Floats{1}}};
  const auto trees = with(stump("class", {0.25f, 0.75f}, {0, 0}), {{"classlabels_int64s", Ints{5, -7}}});
  const auto machine = machines({1, -1, -1, 1, 1, -1}, {0, 0, 0});
  for (const auto& [op, attributes, columns] : {std::tuple("LinearClassifier", linear, 2),
                                                {"TreeEnsembleClassifier", trees, 2},
                                                {"SVMClassifier", machine, 3}}) {
    const auto result = run(op, attributes, none, 1, 2);
    EXPECT_EQ(result[0].dims(), Dims({0})) << op;
    EXPECT_EQ(result[1].dims(), Dims({0, columns})) << op;
  }
}

TEST(Probit, InvertsTheNormalDistribution) {
  const AttributeMap probit{{"coefficients", Floats{1}}, {"post_transform", std::string("PROBIT")}};
  const Tensor p = reals_of(ElementType::kDouble, {5, 1}, {0.5, 0.975, 0.025, 1e-6, 2});
  const auto x = run("LinearRegressor", probit, p)[0].to_doubles();
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[1], 1.959964, 1e-6);
  EXPECT_NEAR(x[2], -1.959964, 1e-6);
  EXPECT_NEAR(x[3], -4.753424, 1e-6);
  EXPECT_THAT(x[4], IsNan());
}

TEST(LabelEncoder, FindsNanAndCountsRepeatedKeysByVersion) {
  const AttributeMap keys{{"keys_floats", Floats{1, std::numeric_limits<float>::quiet_NaN(), 1}},
                          {"values_int64s", Ints{10, 20, 30}}};
  const Tensor x = floats({4}, {1, kNan, -kNan, 2});
  EXPECT_THAT(run("LabelEncoder", keys, x, 2)[0].to_ints(), ElementsAre(10, 20, 20, -1));
  EXPECT_THAT(run("LabelEncoder", keys, x, 4)[0].to_ints(), ElementsAre(30, 20, 20, -1));
  const AttributeMap classes{{"classes_strings", Strings{"a", "b", "a"}}};
  EXPECT_THAT(run("LabelEncoder", classes, strings({"b", "a"}))[0].to_ints(), ElementsAre(1, 2));
}

TEST(Normalizer, DividesByTheLargestElement) {
  const Tensor x = floats({3, 2}, {-4, 2, -2, -1, 0, 0});
  EXPECT_THAT(run("Normalizer", {{"norm", std::string("MAX")}}, x)[0].to_doubles(),
              ElementsAre(-2, 1, 2, 1, 0, 0));
  EXPECT_THAT(run("Normalizer", {{"norm", std::string("L1")}}, floats({2}, {-1, 3}))[0].to_doubles(),
              ElementsAre(-0.25, 0.75));
}

}  // namespace
}  // namespace vernier::ops
