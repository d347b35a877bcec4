// Tactics at several sizes: which sizes are tuned, what sizes between take, and what is told of it.
#include "vernier/engine/sizes/tuned_sizes.h"

#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "engine/weighted_model.h"
#include "vernier/builder/builder.h"

namespace vernier {
namespace {

std::vector<ValueType> rows(int64_t count) {
  return {ValueType::of(ElementType::kFloat, to_shape({count, 3}))};
}

TunedSizes sizes(int64_t count, std::map<std::string, std::string> tactics) {
  return {rows(count), {Layout::kChannelsLast, std::move(tactics)}};
}

TEST(TunedChoices, TheNearestByDoublings) {
  TunedChoices tuned;
  EXPECT_EQ(tuned.nearest(rows(8)), nullptr);
  for (const int64_t count : {8, 256, 32}) tuned.add(sizes(count, {}));
  const auto nearest = [&](int64_t count) { return tuned.nearest(rows(count))->inputs; };
  EXPECT_EQ(nearest(1), rows(8));
  EXPECT_EQ(nearest(15), rows(8));
  EXPECT_EQ(nearest(17), rows(32));
  EXPECT_EQ(nearest(80), rows(32));
  EXPECT_EQ(nearest(100), rows(256));
  EXPECT_EQ(nearest(256), rows(256));
}

TEST(TacticRanges, NeighboursWithTheSameTacticAreOneRange) {
  const auto ranges =
      tactic_ranges({sizes(128, {{"y", "vectors"}, {"z", "vectors"}}), sizes(8, {{"z", "vectors"}}),
                     sizes(256, {{"y", "tiles"}, {"z", "vectors"}}), sizes(32, {{"z", "vectors"}})});
  ASSERT_EQ(ranges.size(), 1U);  // z has one tactic everywhere
  const auto& y = ranges.at("y");
  ASSERT_EQ(y.size(), 3U);
  EXPECT_EQ(y[0].tactic, "");
  EXPECT_EQ(y[0].first, rows(8));
  EXPECT_EQ(y[0].last, rows(32));
  EXPECT_EQ(y[1].tactic, "vectors");
  EXPECT_EQ(y[1].first, rows(128));
  EXPECT_EQ(y[1].last, rows(128));
  EXPECT_EQ(y[2].tactic, "tiles");
}

TEST(ShapeProfile, SizesBetweenAreAtMostTwoDoublingsApart) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 3, H]) -> (%y) {
    %y: f32[*] = Relu(%x) version 14 @"y" from ["y"]
  })");
  const auto between = [&](DimRange batch, DimRange height) {
    std::vector<Dims> all;
    for (const auto& types : ShapeProfile{{{"x", {batch, {3, 3, 3}, height}}}}.types_between(*model.graph))
      all.push_back(*to_dims(*types[0].tensor.shape));
    return all;
  };
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(between({1, 1, 1}, {8, 128, 256}), ElementsAre(Dims{1, 3, 32}));
  EXPECT_THAT(between({1, 4, 4}, {320, 640, 1280}), IsEmpty());
  // Multiples of 32 stay such, and all dimensions are as far on their way.
  EXPECT_THAT(between({1, 1, 64}, {64, 64, 1024}), ElementsAre(Dims{4, 3, 192}, Dims{16, 3, 384}));
  EXPECT_THAT(between({0, 1, 1}, {1, 1, 1}), IsEmpty());
  EXPECT_THAT(between({1, 1, 1}, {1, 1 << 20, 1 << 20}), testing::SizeIs(2));  // not more
}

constexpr const char* kProducts = R"(graph "g" (%x: f32[N, 64], %w1: f32[64, 96], %w2: f32[96, 64]) -> (%y) {
    %a: f32[*] = MatMul(%x, %w1) version 13 @"a" from ["a"]
    %b: f32[*] = Relu(%a) version 14 @"b" from ["b"]
    %y: f32[*] = MatMul(%b, %w2) version 13 @"y" from ["y"]
  })";

using TunedSizesTest = EngineFileTest;

std::shared_ptr<const Engine> built_for(const Model& model, bool deterministic) {
  BuildOptions options;
  options.deterministic = deterministic;
  options.profiles = {{{{"x", {{8, 128, 1024}, {64, 64, 64}}}}}};
  return Builder(model, options).build({}, Judge::kNever).engine;
}

std::vector<std::vector<ValueType>> inputs_of(const TunedChoices& tuned) {
  std::vector<std::vector<ValueType>> all;
  for (const auto& sizes : tuned.all()) all.push_back(sizes->inputs);
  return all;
}

TEST_F(TunedSizesTest, AProfileIsTunedBetweenItsEndsAndFilesKeepIt) {
  const Model model = with_weights(kProducts);
  const auto built = built_for(model, false);
  const auto size = [](int64_t rows) {
    return std::vector{ValueType::of(ElementType::kFloat, to_shape({rows, 64}))};
  };
  EXPECT_THAT(inputs_of(built->tuned()),
              testing::ElementsAre(size(128), size(8), size(1024), size(32), size(360)));
  EXPECT_EQ(built->prepared().size(), 3U);  // no plan for what lies between
  save_engine(*built, path(), {});
  const auto loaded = load_engine(path()).engine;
  ASSERT_EQ(inputs_of(loaded->tuned()), inputs_of(built->tuned()));
  for (size_t i = 0; i < built->tuned().all().size(); ++i)
    EXPECT_EQ(loaded->tuned().all()[i]->choices, built->tuned().all()[i]->choices) << i;
  // Sizes that come at run time take the nearest choices, of a plan or not.
  const auto choices_at = [&](const std::shared_ptr<const Engine>& engine, int64_t rows) {
    return Session(engine).plan({{"x", noise({rows, 64}, 3, 1)}})->choices;
  };
  for (const auto& [rows, nearest] : {std::pair{40, 3}, {300, 4}, {90, 0}, {700, 2}}) {
    EXPECT_EQ(choices_at(built, rows), built->tuned().all()[static_cast<size_t>(nearest)]->choices) << rows;
    EXPECT_EQ(choices_at(loaded, rows), choices_at(built, rows)) << rows;
  }
}

TEST_F(TunedSizesTest, NothingIsTunedBetweenWhereNothingMeasuredMayDecide) {
  EXPECT_EQ(built_for(with_weights(kProducts), true)->tuned().all().size(), 3U);
}

}  // namespace
}  // namespace vernier
