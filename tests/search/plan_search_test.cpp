// The search, on models in numbers, whose best plans are known.
#include <random>

#include "search/fake_prober.h"
#include "vernier/search/front.h"

namespace vernier {
namespace {

using Cost = FakeProber::Cost;

SearchResult search(FakeProber& prober, double limit) {
  SearchOptions options;
  options.limit = limit;
  return PlanSearch(prober, options).run();
}

double chosen_gain(const FakeProber& prober, const SearchResult& result) {
  const CandidatePlan& types = result.raced.at(result.chosen.value()).types;
  return types ? prober.gain(*types) : 0;
}

std::vector<std::map<ElementType, Cost>> equal_units(size_t count) {
  return std::vector<std::map<ElementType, Cost>>(count, {{kHalf, {1, 0.01}}});
}

TEST(PlanSearch, LowersEverythingWhereThatHolds) {
  FakeProber prober(equal_units(8));
  const SearchResult result = search(prober, 0.1);
  EXPECT_EQ(chosen_gain(prober, result), 8);
  EXPECT_TRUE(result.sensitivities.empty());  // nobody had to ask
  EXPECT_LE(result.probes, 2);
}

TEST(PlanSearch, LowersNothingWhereNothingHolds) {
  FakeProber prober(equal_units(8));
  const SearchResult result = search(prober, 0.001);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_FALSE(result.raced[0].types);
  EXPECT_EQ(result.raced[0].ratio, 1);
}

TEST(PlanSearch, SaysThatNoPlanHolds) {
  FakeProber prober(equal_units(4));
  prober.more = [](const TypeAssignment&, DataPart) { return 0.5; };
  const SearchResult result = search(prober, 0.1);
  EXPECT_FALSE(result.chosen);
  EXPECT_EQ(closest(result.raced), 0);
}

TEST(PlanSearch, LeavesOutTheOneThatExplodes) {
  auto costs = equal_units(33);
  costs[17][kHalf] = {5, 40};
  FakeProber prober(costs);
  const SearchResult result = search(prober, 0.1);
  EXPECT_EQ(chosen_gain(prober, result), 32);
  EXPECT_EQ(result.raced[*result.chosen].types->at(17), kWide);
}

TEST(PlanSearch, AnInfiniteErrorIsOneToo) {
  auto costs = equal_units(5);
  costs[2][kHalf] = {5, std::numeric_limits<double>::infinity()};
  FakeProber prober(costs);
  EXPECT_EQ(chosen_gain(prober, search(prober, 0.1)), 4);
}

// Alone each is harmless, which screening tells; together they are not.
TEST(PlanSearch, LeavesOutTheCheaperOfTwoThatInteract) {
  auto costs = equal_units(16);
  costs[3][kHalf].gain_ms = 2;
  costs[12][kHalf].gain_ms = 3;
  FakeProber prober(costs);
  prober.more = [](const TypeAssignment& types, DataPart) {
    return types[3] == kHalf && types[12] == kHalf ? 1.0 : 0.0;
  };
  const SearchResult result = search(prober, 0.1);
  EXPECT_EQ(chosen_gain(prober, result), prober.best_gain(0.1));
  EXPECT_EQ(result.raced[*result.chosen].types->at(3), kWide);
}

TEST(PlanSearch, TakesTheNarrowestTypeWhereThereIsRoom) {
  std::vector<std::map<ElementType, Cost>> costs;
  for (size_t i = 0; i < 6; ++i) costs.push_back({{kHalf, {1, 0.001}}, {kByte, {2, i < 3 ? 0.01 : 0.5}}});
  FakeProber prober(costs);
  const SearchResult result = search(prober, 0.05);
  EXPECT_EQ(chosen_gain(prober, result), 9);
  EXPECT_EQ(*result.raced[*result.chosen].types, (TypeAssignment{kByte, kByte, kByte, kHalf, kHalf, kHalf}));
}

TEST(PlanSearch, FindsTheOptimumOfRandomModelsWhoseErrorsAreIndependent) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> gain(0.5, 4), exponent(-4, -1);
    std::vector<std::map<ElementType, Cost>> costs(8);
    for (auto& each : costs) {
      const double half = std::pow(10, exponent(random));
      const double gained = gain(random);
      each = {{kHalf, {gained, half}}, {kByte, {gained + gain(random), 8 * half}}};
    }
    FakeProber prober(costs);
    const double limit = std::pow(10, exponent(random));
    const SearchResult result = search(prober, limit);
    ASSERT_TRUE(result.chosen) << seed;
    const RacedPlan& chosen = result.raced[*result.chosen];
    EXPECT_LE(chosen.held_out.error, limit) << seed;
    EXPECT_NEAR(chosen_gain(prober, result), prober.best_gain(limit), 1e-9) << seed;
  }
}

// A plan that holds on the data that it was chosen on need not hold on others.
TEST(PlanSearch, AProberThatLiesOnTheSelectionIsCaughtByConfirmation) {
  auto costs = equal_units(8);
  costs[5][kHalf].gain_ms = 3;  // the first to be lowered
  FakeProber prober(costs);
  prober.more = [](const TypeAssignment& types, DataPart part) {
    return part == DataPart::kHeldOut && types[5] == kHalf ? 1.0 : 0.0;
  };
  const SearchResult result = search(prober, 0.02);
  ASSERT_TRUE(result.chosen);
  EXPECT_TRUE(result.raced[*result.chosen].held_out.holds(0.02));
  const auto caught = std::count_if(result.raced.begin(), result.raced.end(), [](const RacedPlan& plan) {
    return plan.selection.holds(0.02) && !plan.held_out.holds(0.02);
  });
  EXPECT_GE(caught, 1);
}

TEST(PlanSearch, ATargetThatTheHeldOutDataRefuseIsLookedForWithLessRoom) {
  FakeProber prober(equal_units(8));
  prober.more = [](const TypeAssignment& types, DataPart part) {
    const auto lowered = std::count(types.begin(), types.end(), kHalf);
    return part == DataPart::kHeldOut ? 0.002 * static_cast<double>(lowered) : 0.0;
  };
  const SearchResult result = search(prober, 0.0255);  // six on the selection, three on the rest
  EXPECT_GT(chosen_gain(prober, result), 0);
  EXPECT_TRUE(result.raced[*result.chosen].held_out.holds(0.0255));
}

TEST(PlanSearch, EndsWithWhatItHasWhenTimeIsOver) {
  FakeProber prober(equal_units(20));
  prober.more = [](const TypeAssignment&, DataPart) { return 0.0; };
  SearchOptions options;
  options.limit = 0.02;
  options.is_over = [&] { return prober.scores >= 26; };  // screening is done, and little of the search
  const SearchResult result = PlanSearch(prober, options).run();
  EXPECT_FALSE(result.finished);
  ASSERT_TRUE(result.chosen);
  EXPECT_TRUE(result.raced[*result.chosen].held_out.holds(0.02));

  FakeProber none(equal_units(20));
  options.is_over = [] { return true; };
  const SearchResult nothing = PlanSearch(none, options).run();
  EXPECT_FALSE(nothing.finished);
  EXPECT_EQ(nothing.chosen, 0);  // what it began with
}

TEST(PlanSearch, WhatSeemsFasterIsTimedAgainBeforeItCounts) {
  for (const bool is_faster : {true, false}) {
    FakeProber prober(equal_units(8));
    prober.timing = [&](std::vector<RacedPlan>& raced) {
      const double reach = prober.races == 1 ? 0.5 : 0.01;
      for (size_t i = 1; i < raced.size(); ++i) {
        if (prober.races == 2 && !is_faster) raced[i].ratio = 1;
        raced[i].ratio_interval = {raced[i].ratio - reach, raced[i].ratio + reach};
      }
    };
    EXPECT_EQ(search(prober, 0.1).chosen, is_faster ? 1 : 0);
    EXPECT_EQ(prober.races, 2);
  }
}

TEST(PlanSearch, APlanThatWasGivenIsKeptUnlessItIsBeaten) {
  auto costs = equal_units(8);
  FakeProber prober(costs);
  prober.start = TypeAssignment(8, kHalf);
  // Together they are within the limit only in the plan that was given.
  prober.more = [](const TypeAssignment& types, DataPart part) {
    const auto lowered = std::count(types.begin(), types.end(), kHalf);
    return part == DataPart::kSelection && lowered > 3 && lowered < 8 ? 1.0 : 0.0;
  };
  EXPECT_EQ(search(prober, 0.1).chosen, 0);

  // One that is beyond the limit gives way to a slower one.
  FakeProber other(costs);
  other.start = TypeAssignment(8, kHalf);
  const SearchResult result = search(other, 0.025);
  ASSERT_TRUE(result.chosen);
  EXPECT_NE(*result.chosen, 0);
  EXPECT_GT(result.raced[*result.chosen].ratio, 1);
  EXPECT_EQ(chosen_gain(other, result), 6);
}

TEST(PlanSearch, AModelWithoutUnitsStaysAsItIs) {
  FakeProber prober({});
  const SearchResult result = search(prober, 0.1);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_EQ(result.raced.size(), 1);
}

TEST(Moves, AreTheHullOfEachUnitAndOrderedByGainForError) {
  const ElementType fp16 = ElementType::kFloat16;
  const auto moves = moves_of({{0, kHalf, 1, 0.1},
                               {0, kByte, 5, 0.2},    // worth more than a stop on the way
                               {0, fp16, 0.5, 0.15},  // worth less than what comes before it
                               {1, kHalf, 1, 0.01}});
  ASSERT_EQ(moves.size(), 2);
  EXPECT_EQ(moves[0].unit, 1);
  EXPECT_EQ(moves[1].unit, 0);
  EXPECT_EQ(moves[1].from, kWide);
  EXPECT_EQ(moves[1].to, kByte);
}

TEST(Moves, WhatNeitherGainsNorHasAnErrorIsNone) {
  EXPECT_TRUE(moves_of({{0, kHalf, 0, 0.1}, {1, kHalf, 1, std::nan("")}}).empty());
}

RacedPlan raced(double ratio, double high, double error, double held_out) {
  RacedPlan plan;
  plan.types = TypeAssignment{kHalf};
  plan.latency_ms = plan.ratio = ratio;
  plan.ratio_interval = {2 * ratio - high, high};
  plan.selection.error = plan.selection.deviation = error;
  plan.held_out.error = plan.held_out.deviation = held_out;
  return plan;
}

TEST(Front, HoldsWhatNoOtherBeats) {
  const std::vector<RacedPlan> plans{raced(1, 1, 0.01, 0), raced(0.5, 0.5, 0.2, 0), raced(0.6, 0.6, 0.3, 0),
                                     raced(0.7, 0.7, 0.1, 0)};
  EXPECT_EQ(pareto_front(plans), (std::vector<size_t>{1, 3, 0}));
}

TEST(Front, AFasterPlanMustBeSoBeyondNoise) {
  EXPECT_EQ(choose({raced(1, 1, 0, 0), raced(0.98, 1.01, 0.1, 0.1)}, 0.2), 0);
  EXPECT_EQ(choose({raced(1, 1, 0, 0), raced(0.98, 0.99, 0.1, 0.1)}, 0.2), 1);
  EXPECT_EQ(choose({raced(1, 1, 0, 0), raced(0.98, 0.99, 0.1, 0.3)}, 0.2), 0);  // refused by held-out data
  EXPECT_EQ(choose({raced(1, 1, 0.5, 0), raced(1.2, 1.3, 0.1, 0.1)}, 0.2), 1);  // the first does not hold
  EXPECT_EQ(choose({raced(1, 1, 0.5, 0), raced(0.5, 0.5, 0.4, 0.1)}, 0.2), std::nullopt);
}

TEST(Front, TheShareBeyondIsThatOfClopperAndPearson) {
  EXPECT_NEAR(share_beyond_at_most(0, 16), 1 - std::pow(0.05, 1.0 / 16), 1e-9);
  EXPECT_NEAR(share_beyond_at_most(1, 20), 0.2161, 1e-3);
  EXPECT_EQ(share_beyond_at_most(3, 3), 1);
  EXPECT_EQ(share_beyond_at_most(0, 0), 1);
}

}  // namespace
}  // namespace vernier
