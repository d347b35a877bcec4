// Kernels that move data at sizes and places that are known: the same bits as the reference.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

using ops::floats;
using ops::ints;
using ops::OneNode;
using Ints = std::vector<int64_t>;

constexpr ElementType kTypes[] = {ElementType::kUint8,   ElementType::kBool,      ElementType::kInt4,
                                  ElementType::kFloat16, ElementType::kFloat,     ElementType::kInt64,
                                  ElementType::kDouble,  ElementType::kComplex128};
constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16};

bool fits(Layout layout, ElementType type) {
  return layout == Layout::kPlain || element_size(type) <= 4;
}

TEST(Transpose, EveryPermutationAndWidth) {
  const std::vector<Dims> sizes{{3, 5},    {16, 16},   {33, 70},      {1, 7},  {0, 4},
                                {2, 3, 4}, {5, 1, 19}, {2, 17, 3, 5}, {3, 150}};
  for (const Dims& dims : sizes) {
    Ints perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    do {
      for (const ElementType type : kTypes)
        OneKernel{{"Transpose", 13, {{"perm", Attribute(perm)}}}, {random_tensor(type, dims, 1)}}.expect(
            "cpu:transpose");
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST(Transpose, LargeMatrixOnThreads) {
  OneKernel{{"Transpose", 13}, {random_tensor(ElementType::kFloat, {301, 2, 517}, 1)}}.expect(
      "cpu:transpose");
}

TEST(Transpose, TakesChannelsLast) {
  OneKernel{{"Transpose", 13, {{"perm", Attribute(Ints{0, 2, 3, 1})}}},
            {random_tensor(ElementType::kFloat, {2, 5, 3, 7}, 1)},
            {},
            Layout::kChannelsLast}
      .expect("cpu:transpose");
}

TEST(Concat, EveryAxisTypeAndLayout) {
  for (const Layout layout : kLayouts) {
    for (const ElementType type : kTypes) {
      if (!fits(layout, type)) continue;
      for (const int64_t axis : {0, 1, 2, -1}) {
        std::vector<Tensor> parts;
        for (const int64_t length : {3, 16, 1, 7, 20}) {
          Dims dims{2, 18, 3, 5};
          dims[static_cast<size_t>(axis < 0 ? axis + 4 : axis)] = length;
          parts.push_back(random_tensor(type, dims, static_cast<unsigned>(length)));
        }
        OneKernel{{"Concat", 13, {{"axis", Attribute(axis)}}}, parts, {}, layout}.expect("cpu:concat");
      }
    }
  }
}

TEST(Concat, EmptyPartsAndOldAxis) {
  const auto part = [](int64_t length) { return random_tensor(ElementType::kFloat, {2, length}, 3); };
  OneKernel{{"Concat", 13, {{"axis", Attribute(int64_t{1})}}}, {part(0), part(3), part(0)}}.expect(
      "cpu:concat");
  OneKernel{{"Concat", 1}, {part(2), part(3)}}.expect("cpu:concat");
}

TEST(Split, EveryAxisTypeAndLayout) {
  for (const Layout layout : kLayouts) {
    for (const ElementType type : kTypes) {
      if (!fits(layout, type)) continue;
      for (const int64_t axis : {0, 1, 2, 3}) {
        Dims dims{4, 40, 4, 5};
        dims[static_cast<size_t>(axis)] = 40;
        OneKernel{{"Split", 13, {{"axis", Attribute(axis)}}, "", 3},
                  {random_tensor(type, dims, 5), ints({3}, {9, 16, 15})},
                  {1},
                  layout}
            .expect("cpu:split");
      }
    }
  }
}

TEST(Slice, LimitsStepsAndLayouts) {
  struct Case {
    Ints starts, ends, axes, steps;
  };
  constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
  const std::vector<Case> cases{{{1}, {4}, {1}, {1}},
                                {{0}, {kMax}, {1}, {2}},
                                {{-1}, {kMin}, {1}, {-1}},
                                {{-3}, {kMin}, {2}, {-2}},
                                {{1, 2}, {-1, kMax}, {2, 3}, {1, 3}},
                                {{5, 17}, {2, 3}, {3, 1}, {-1, -5}},
                                {{kMin}, {kMax}, {0}, {kMax}},
                                {{kMax}, {kMin}, {1}, {kMin}},
                                {{3}, {1}, {1}, {1}}};
  for (const Layout layout : kLayouts) {
    for (const ElementType type : kTypes) {
      if (!fits(layout, type)) continue;
      for (const Case& each : cases) {
        const auto list = [](const Ints& values) {
          return ints({static_cast<int64_t>(values.size())}, values);
        };
        OneKernel{{"Slice", 13},
                  {random_tensor(type, {2, 37, 6, 7}, 7), list(each.starts), list(each.ends), list(each.axes),
                   list(each.steps)},
                  {1, 2, 3, 4},
                  layout}
            .expect("cpu:slice");
      }
    }
  }
  OneKernel{{"Slice", 1, {{"starts", Attribute(Ints{1, 0})}, {"ends", Attribute(Ints{-1, 3})}}},
            {random_tensor(ElementType::kFloat, {5, 4}, 1)}}
      .expect("cpu:slice");
}

TEST(Pad, EveryModeAndLayout) {
  const std::vector<Ints> pads{{0, 0, 1, 2, 0, 0, 3, 1},
                               {1, 2, 0, 0, 0, 3, 0, 0},
                               {0, -1, 2, -1, 0, 0, -1, 4},
                               {0, 0, 0, 0, 0, 0, 0, 0}};
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    for (const Layout layout : kLayouts) {
      for (const Ints& pad : pads) {
        for (const ElementType type : {ElementType::kFloat, ElementType::kUint8, ElementType::kFloat16}) {
          OneKernel{{"Pad", 19, {{"mode", Attribute(std::string(mode))}}},
                    {random_tensor(type, {2, 19, 4, 6}, 3), ints({8}, pad), random_tensor(type, {}, 9)},
                    {1},
                    layout}
              .expect("cpu:pad");
        }
      }
    }
  }
}

TEST(Pad, OldAttributesAxesAndNoValue) {
  OneKernel{{"Pad", 2, {{"pads", Attribute(Ints{0, 1, 2, 0})}, {"value", Attribute(1.5F)}}},
            {random_tensor(ElementType::kFloat, {3, 4}, 1)}}
      .expect("cpu:pad");
  OneKernel{{"Pad", 18},
            {random_tensor(ElementType::kInt64, {3, 4}, 1), ints({2}, {2, 3}), Tensor(), ints({1}, {-1})},
            {1, 3}}
      .expect("cpu:pad");
  // More than the input holds is removed, and what is left is pad.
  OneKernel{{"Pad", 13}, {random_tensor(ElementType::kFloat, {2}, 1), ints({2}, {-3, 4})}, {1}}.expect(
      "cpu:pad");
  OneKernel{{"Pad", 13}, {random_tensor(ElementType::kFloat, {0, 3}, 1), ints({4}, {1, 0, 1, 1})}, {1}}
      .expect("cpu:pad");
}

TEST(Pad, UnknownPadsHaveNoKernel) {
  OneKernel pad{{"Pad", 13}, {random_tensor(ElementType::kFloat, {2}, 1), ints({2}, {1, 1})}};
  EXPECT_FALSE(pad.run());
  EXPECT_THAT(pad.reason, testing::HasSubstr("known only when it runs"));
}

TEST(Expand, BroadcastsEveryWidth) {
  const std::vector<std::pair<Dims, Ints>> cases{{{3, 1}, {3, 5}},          {{1, 4}, {6, 4}}, {{}, {2, 3}},
                                                 {{2, 1, 3}, {2, 2, 1, 1}}, {{3}, {0, 3}},    {{1}, {1000}}};
  for (const auto& [dims, shape] : cases) {
    for (const ElementType type : kTypes)
      OneKernel{{"Expand", 13},
                {random_tensor(type, dims, 2), ints({static_cast<int64_t>(shape.size())}, shape)},
                {1}}
          .expect("cpu:expand");
  }
}

TEST(Tile, RepeatsEveryWidth) {
  for (const Ints& repeats : std::vector<Ints>{{1, 1, 1}, {2, 1, 3}, {1, 4, 1}, {3, 2, 2}, {1, 0, 1}}) {
    for (const ElementType type : kTypes)
      OneKernel{{"Tile", 13}, {random_tensor(type, {2, 3, 5}, 2), ints({3}, repeats)}, {1}}.expect(
          "cpu:tile");
  }
}

TEST(DepthToSpace, BothModesAndLayouts) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    for (const ElementType type : {ElementType::kUint8, ElementType::kFloat, ElementType::kFloat16}) {
      for (const int64_t block : {1, 2, 3}) {
        for (const char* mode : {"DCR", "CRD"})
          OneKernel{
              {"DepthToSpace", 13, {{"blocksize", Attribute(block)}, {"mode", Attribute(std::string(mode))}}},
              {random_tensor(type, {2, 5 * block * block, 3, 4}, 2)},
              {},
              layout}
              .expect("cpu:depth-to-space");
        OneKernel{{"SpaceToDepth", 13, {{"blocksize", Attribute(block)}}},
                  {random_tensor(type, {2, 3, 4 * block, 5 * block}, 2)},
                  {},
                  layout}
            .expect("cpu:space-to-depth");
      }
    }
  }
}

TEST(Fill, ConstantsDiagonalsTriangles) {
  OneKernel{{"ConstantOfShape", 9, {{"value", Attribute(ops::reals_of(ElementType::kFloat16, {1}, {2.5}))}}},
            {ints({3}, {2, 3, 7})},
            {0}}
      .expect("cpu:fill");
  for (const int64_t k : {-9, -2, 0, 1, 9}) {
    for (const Dims& dims : std::vector<Dims>{{4, 4}, {3, 6}, {6, 3}, {1, 1}, {0, 3}}) {
      OneKernel{{"EyeLike", 9, {{"k", Attribute(k)}}}, {random_tensor(ElementType::kFloat16, dims, 1)}}
          .expect("cpu:eye-like");
      for (const int64_t upper : {0, 1})
        OneKernel{{"Trilu", 14, {{"upper", Attribute(upper)}}},
                  {random_tensor(ElementType::kInt64, {2, dims[0], dims[1]}, 1), ints({}, {k})},
                  {1}}
            .expect("cpu:trilu");
    }
  }
}

}  // namespace
}  // namespace vernier::cpu
