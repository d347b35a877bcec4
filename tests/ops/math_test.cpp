#include <cblas.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;
using testing::IsNan;
using testing::NanSensitiveDoubleEq;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Softmax, FlattensAtTheAxisBeforeOpset13) {
  const Tensor x = floats({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(OneNode("Softmax", 11).reals({x}), ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(OneNode("Softmax", 13).reals({x}), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

// An OpenBLAS that does not know the processor computes as on one of 2004: four times as slow.
TEST(Gemm, KernelsAreNotThoseOfAnOldProcessor) {
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0)
    GTEST_SKIP() << "this processor has no avx2";
  EXPECT_THAT(openblas_get_corename(),
              testing::AnyOf(testing::StrEq("Haswell"), testing::StrEq("Zen"), testing::StrEq("SkylakeX"),
                             testing::StrEq("Cooperlake"), testing::StrEq("SapphireRapids")));
}

TEST(Clip, KeepsNanAndLetsTheUpperBoundWin) {
  const Tensor x = floats({4}, {kNan, -5, 1, 5}), low = floats({}, {-2}), high = floats({}, {2});
  EXPECT_THAT(OneNode("Clip", 13).reals({x, low, high}), ElementsAre(IsNan(), -2, 1, 2));
  EXPECT_THAT(OneNode("Clip", 13).reals({x, high, low}), ElementsAre(IsNan(), -2, -2, -2));
  EXPECT_THAT(OneNode("Clip", 13).reals({x, Tensor(), high}), ElementsAre(IsNan(), -5, 1, 2));
  EXPECT_THAT(OneNode("Clip", 13).reals({x, floats({}, {kNan})}),
              ElementsAre(IsNan(), IsNan(), IsNan(), IsNan()));
  EXPECT_THAT(OneNode("Clip", 6, {{"max", 2.0f}}).reals({x}), ElementsAre(IsNan(), -5, 1, 2));
  EXPECT_THAT(OneNode("Clip", 12).reals({ints({3}, {-9, 0, 9}), ints({}, {-1}), ints({}, {1})}),
              ElementsAre(-1, 0, 1));
}

TEST(Arithmetic, RefusesIntegerDivisionByZero) {
  for (const char* op : {"Div", "Mod"}) {
    EXPECT_THROW(OneNode(op, 13).run({ints({2}, {1, 2}), ints({2}, {1, 0})}), Error) << op;
    const int64_t smallest = std::numeric_limits<int64_t>::min();
    EXPECT_NO_THROW(OneNode(op, 13).run({ints({1}, {smallest}), ints({1}, {-1})})) << op;
  }
  EXPECT_THAT(OneNode("Div", 13).reals({floats({2}, {1, 0}), floats({}, {0})}), ElementsAre(kInf, IsNan()));
}

TEST(LegacyBroadcast, AlignsTheSecondInputAtTheAxis) {
  const Tensor x = floats({2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0}), y = floats({2}, {1, 2});
  const AttributeMap at_axis{{"broadcast", int64_t{1}}, {"axis", int64_t{1}}},
      at_end{{"broadcast", int64_t{1}}};
  EXPECT_THAT(OneNode("Add", 6, at_axis).reals({x, y}), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_THAT(OneNode("Add", 6, at_end).reals({x, y}), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
  EXPECT_THAT(OneNode("Less", 1, at_axis).reals({x, y}), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(OneNode("Pow", 1, at_axis).reals({floats({1, 2, 1}, {3, 3}), y}), ElementsAre(3, 9));
  EXPECT_THAT(OneNode("PRelu", 6).reals({floats({1, 2, 2}, {-1, 1, -1, 1}), y}), ElementsAre(-1, 1, -2, 1));
}

TEST(Mod, TakesTheSignItsAttributeNames) {
  const AttributeMap truncating{{"fmod", int64_t{1}}};
  for (const ElementType type : {ElementType::kFloat, ElementType::kInt8}) {
    const Tensor a = reals_of(type, {4}, {-4, 7, -7, 7}), b = reals_of(type, {4}, {2, -3, 3, 3});
    EXPECT_THAT(OneNode("Mod", 28).reals({a, b}), ElementsAre(0, -2, 2, 1));
    EXPECT_THAT(OneNode("Mod", 28, truncating).reals({a, b}), ElementsAre(0, 1, -1, 1));
  }
  EXPECT_THAT(OneNode("Mod", 28).reals({floats({3}, {1, -1, kInf}), floats({}, {kInf})}),
              ElementsAre(1, kInf, IsNan()));
}

TEST(Pow, OfIntegersIsExact) {
  EXPECT_EQ(OneNode("Pow", 15).run({ints({1}, {3}), ints({1}, {39})})[0].to_ints()[0], 4052555153018976267);
  EXPECT_THAT(OneNode("Pow", 15).reals({ints({3}, {2, -1, 1}), ints({}, {-3})}), ElementsAre(0, -1, 1));
  EXPECT_THROW(OneNode("Pow", 15).run({ints({1}, {0}), ints({1}, {-1})}), Error);
}

TEST(BitShift, OfSignedIntegersKeepsTheSign) {
  const Tensor x = reals_of(ElementType::kInt8, {4}, {-64, 64, -64, 64}),
               by = reals_of(ElementType::kInt8, {4}, {2, 1, 8, -1});
  EXPECT_THAT(OneNode("BitShift", 28, {{"direction", std::string("RIGHT")}}).reals({x, by}),
              ElementsAre(-16, 32, -1, 0));
  EXPECT_THAT(OneNode("BitShift", 28, {{"direction", std::string("LEFT")}}).reals({x, by}),
              ElementsAre(0, -128, 0, 0));
}

TEST(Extrema, LetNanWin) {
  const Tensor x = floats({4}, {1, kNan, 3, 3});
  for (const char* op : {"Max", "Min"})
    EXPECT_THAT(OneNode(op, 13).reals({floats({}, {2}), floats({}, {kNan})}), ElementsAre(IsNan()));
  for (const char* op : {"ReduceMax", "ReduceMin"})
    EXPECT_THAT(OneNode(op, 13).reals({x}), ElementsAre(IsNan()));
  for (const char* op : {"ArgMax", "ArgMin"}) EXPECT_THAT(OneNode(op, 13).reals({x}), ElementsAre(1));
  const auto top = OneNode("TopK", 11, {}, "", 2).run({x, ints({1}, {3})});
  EXPECT_THAT(top[0].to_doubles(), ElementsAre(IsNan(), 3, 3));
  EXPECT_THAT(top[1].to_ints(), ElementsAre(1, 2, 3));
}

TEST(Reduce, GivesTheNeutralElementForNoElements) {
  const std::pair<const char*, double> cases[] = {
      {"ReduceSum", 0},        {"ReduceProd", 1},     {"ReduceMax", -kInf},       {"ReduceMin", kInf},
      {"ReduceL2", 0},         {"ReduceMean", kNan},  {"ReduceLogSumExp", -kInf}, {"ReduceL1", 0},
      {"ReduceLogSum", -kInf}, {"ReduceSumSquare", 0}};
  for (const auto& [op, expected] : cases) {
    EXPECT_THAT(OneNode(op, 20).reals({floats({2, 0}, {}), ints({1}, {1})}),
                ElementsAre(NanSensitiveDoubleEq(expected), NanSensitiveDoubleEq(expected)))
        << op;
  }
  EXPECT_THAT(OneNode("ReduceMax", 20).reals({reals_of(ElementType::kInt8, {0}, {})}), ElementsAre(-128));
}

TEST(Reduce, StillTransformsWhenThereIsNothingToReduce) {
  const AttributeMap noop{{"noop_with_empty_axes", int64_t{1}}};
  EXPECT_THAT(OneNode("ReduceSumSquare", 18, noop).reals({floats({2}, {2, -3})}), ElementsAre(4, 9));
  EXPECT_THAT(OneNode("ReduceSum", 13, noop).reals({floats({2}, {2, -3}), ints({0}, {})}),
              ElementsAre(2, -3));
  EXPECT_THAT(OneNode("ReduceSum", 13).reals({floats({2}, {2, -3}), ints({0}, {})}), ElementsAre(-1));
}

TEST(MatMul, OfIntegersWraps) {
  const int64_t large = int64_t{1} << 62;
  EXPECT_THAT(OneNode("MatMul", 13).run({ints({2}, {large, 5}), ints({2}, {4, 7})})[0].to_ints(),
              ElementsAre(35));
}

TEST(Einsum, ContractsWhatNumpyDoes) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 2}, {5, 6, 7, 8}), v = floats({2}, {10, 100});
  struct Case {
    const char* equation;
    std::vector<Tensor> inputs;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {"ij,jk->ik", {a, b}, {19, 22, 43, 50}},
      {"ij,jk", {a, b}, {19, 22, 43, 50}},
      {"ij->ji", {a}, {1, 3, 2, 4}},
      {"ii->i", {a}, {1, 4}},
      {"ii", {a}, {5}},
      {"ij, ij ->", {a, b}, {70}},
      {"i,j->ij", {v, v}, {100, 1000, 1000, 10000}},
      {"...i,i->...", {a, v}, {210, 430}},
      {"ij,jk,k->i", {a, b, v}, {2390, 5430}},
      {"i...,...->i...", {a, floats({1}, {2})}, {2, 4, 6, 8}},
      {"ij,kj->", {a, b}, {4 * 12 + 6 * 14}},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(OneNode("Einsum", 12, {{"equation", std::string(test.equation)}}).reals(test.inputs),
              test.expected)
        << test.equation;
  }
  EXPECT_THAT(
      OneNode("Einsum", 12, {{"equation", std::string("i,i")}}).reals({ints({2}, {1, 2}), ints({2}, {3, 4})}),
      ElementsAre(11));
}

TEST(MatMulInteger, StaysUnroundedInIdealMode) {
  const Tensor a = reals_of(ElementType::kUint8, {1, 2}, {7, 9}),
               b = reals_of(ElementType::kUint8, {2, 1}, {1, 2});
  const Tensor zero = reals_of(ElementType::kUint8, {1}, {5});
  EXPECT_THAT(OneNode("MatMulInteger", 10).reals({a, b, zero}), ElementsAre(10));
  EXPECT_THAT(OneNode("MatMulInteger", 10).reals({a, b, zero}, ReferenceMode::kIdeal), ElementsAre(10));
}

TEST(Operators, RefuseWhatTheyCannotTake) {
  const Tensor vector = floats({2}, {1, 2}), matrix = floats({2, 3}, {1, 2, 3, 4, 5, 6}),
               scalar = floats({}, {1});
  const Tensor flags = reals_of(ElementType::kBool, {2}, {0, 1});
  const auto einsum = [](const char* equation) {
    return OneNode("Einsum", 12, {{"equation", std::string(equation)}});
  };
  const std::pair<OneNode, std::vector<Tensor>> cases[] = {
      {{"MatMul", 13}, {matrix, matrix}},
      {{"MatMul", 13}, {scalar, matrix}},
      {{"Gemm", 13}, {vector, matrix}},
      {{"Gemm", 13}, {matrix, floats({3, 1}, {1, 2, 3}), floats({3}, {1, 2, 3})}},
      {{"Det", 11}, {matrix}},
      {{"Add", 13}, {vector, ints({2}, {1, 2})}},
      {{"Add", 13}, {vector, floats({3}, {1, 2, 3})}},
      {{"Add", 13}, {vector}},
      {{"Where", 16}, {vector, vector, vector}},
      {{"Where", 16}, {flags, vector, ints({2}, {1, 2})}},
      {{"PRelu", 16}, {vector, matrix}},
      {{"Clip", 13}, {vector, vector}},
      {{"Cast", 13, {{"to", int64_t{99}}}}, {vector}},
      {{"Cast", 13}, {vector}},
      {{"BitCast", 26, {{"to", int64_t{7}}}}, {vector}},
      {{"BitShift", 11, {{"direction", std::string("UP")}}}, {ints({1}, {1}), ints({1}, {1})}},
      {{"ReduceSum", 13}, {vector, ints({1}, {1})}},
      {{"ReduceMax", 13, {{"axes", std::vector<int64_t>{-2}}}}, {vector}},
      {{"ArgMax", 13, {{"axis", int64_t{3}}}}, {vector}},
      {{"ArgMax", 13}, {floats({0}, {})}},
      {{"CumSum", 14}, {vector, ints({}, {5})}},
      {{"CumSum", 14}, {vector, ints({0}, {})}},
      {OneNode("TopK", 11, {}, "", 2), {vector, ints({1}, {3})}},
      {OneNode("TopK", 11, {}, "", 2), {vector, ints({1}, {-1})}},
      {OneNode("TopK", 11, {}, "", 2), {vector}},
      {{"LpNormalization", 22, {{"p", int64_t{3}}}}, {vector}},
      {{"SwiGLU", 28}, {vector, scalar}},
      {{"MatMulInteger", 10},
       {reals_of(ElementType::kUint8, {1, 2}, {1, 2}), reals_of(ElementType::kUint8, {2, 1}, {1, 2}),
        reals_of(ElementType::kUint8, {3}, {1, 2, 3})}},
      {einsum("ij"), {vector}},
      {einsum("i,j"), {vector}},
      {einsum("i"), {vector, vector}},
      {einsum("i->j"), {vector}},
      {einsum("i->ii"), {vector}},
      {einsum("i..->i"), {vector}},
      {einsum("......"), {vector}},
      {einsum("ii"), {matrix}},
      {einsum("i,i"), {vector, floats({3}, {1, 2, 3})}},
      {einsum(""), {vector}},
  };
  for (const auto& [node, inputs] : cases)
    EXPECT_THROW(node.run(inputs), Error) << node.op << " of " << inputs.size();
}

// Two of several axes that only a run tells may be the same, so the rank is not known.
TEST(Reduce, RanksOfAxesThatOnlyRunningTells) {
  const OneNode sum("ReduceSum", 13, {{"keepdims", int64_t{0}}});
  const auto rank_with = [&](int64_t axes) -> std::optional<size_t> {
    const auto shape = sum.infer({typed(ElementType::kFloat, {3, 5, 7}), typed(ElementType::kInt64, {axes})})
                           .type.tensor.shape;
    return shape ? std::optional(shape->size()) : std::nullopt;
  };
  EXPECT_EQ(rank_with(1), 2U);
  EXPECT_EQ(rank_with(2), std::nullopt);
}

}  // namespace
}  // namespace vernier::ops
