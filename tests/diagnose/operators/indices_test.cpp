// Indices that are off, negative or there twice, and integers at their corners.
#include <cmath>
#include <limits>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

const std::string kGather = of_floats("%x: f32[6, 3], %i: i64[4]", "Gather(%x, %i) {axis = 0} version 13");
const std::string kScatter =
    of_floats("%x: f32[6], %i: i64[4, 1], %u: f32[4]", "ScatterND(%x, %i, %u) version 16");
const std::string kScatterSum = of_floats("%x: f32[6], %i: i64[4, 1], %u: f32[4]",
                                          "ScatterND(%x, %i, %u) {reduction = \"add\"} version 18");
const std::string kScatterElements = of_floats("%x: f32[3, 2], %i: i64[4, 2], %u: f32[4, 2]",
                                               "ScatterElements(%x, %i, %u) {axis = 0} version 16");
const std::string kSlice = of_floats("%x: f32[4, 9], %s: i64[1], %e: i64[1], %a: i64[1], %p: i64[1]",
                                     "Slice(%x, %s, %e, %a, %p) version 13");
const std::string kPad = of_floats("%x: f32[2, 5], %p: i64[4], %v: f32[]", "Pad(%x, %p, %v) version 13");

const std::string kTuples = of_floats("%x: f32[5, 5, 3], %i: i64[4, 2]", "GatherND(%x, %i) version 13");
const std::string kBatches =
    of_floats("%x: f32[3, 4, 3], %i: i64[3, 2, 1]", "GatherND(%x, %i) {batch_dims = 1} version 13");
const std::string kCentre = of_floats("%x: f32[5, 5], %s: i64[2]", "CenterCropPad(%x, %s) version 18");

FaultyEngine scatters(const std::vector<double>& y) {
  return [y](const Model&, const NamedData&) { return Tensors{floats({static_cast<int64_t>(y.size())}, y)}; };
}

NamedData slice_data(int64_t start, int64_t end, int64_t step) {
  return {{"s", integers({1}, {start})},
          {"e", integers({1}, {end})},
          {"a", integers({1}, {1})},
          {"p", integers({1}, {step})}};
}

const NamedData kTwice{{"x", floats({6}, {1, 2, 3, 4, 5, 6})},
                       {"i", integers({4, 1}, {1, 1, 3, -1})},
                       {"u", floats({4}, {10, 20, 30, 40})}};

const std::vector<PlantedFault> kIndexFaults = {
    {"OneTooLarge",
     "B39",
     kGather,
     reads("i", [](const Tensor& i) { return mapped(i, [](double index) { return index + 1; }); }),
     {{"i", integers({4}, {0, 3, 1, 4})}}},
    {"NegativeForZero",
     "B39",
     kGather,
     reads("i", [](const Tensor& i) { return mapped(i, [](double index) { return std::max(0.0, index); }); }),
     {{"i", integers({4}, {-1, 3, -2, 4})}}},
    {"FirstForAll",
     "B39",
     kGather,
     reads("i", [](const Tensor& i) { return mapped(i, [](double) { return 5; }); }),
     {{"i", integers({4}, {5, 3, 1, 4})}}},
    {"InReverse",
     "B39",
     kGather,
     reads("i", [](const Tensor& i) { return reversed(i, 0); }),
     {{"i", integers({4}, {5, 3, 1, 4})}}},
    {"ZeroForAll",
     "B39",
     kGather,
     reads("i", [](const Tensor& i) { return mapped(i, [](double) { return 0; }); }),
     {{"i", integers({4}, {5, 3, 1, 4})}}},
    {"OtherRows",
     "B39",
     kGather,
     reads("i", [](const Tensor& i) { return mapped(i, [](double index) { return 5 - index; }); }),
     {{"i", integers({4}, {0, 3, 1, 1})}}},
    {"OtherPlaces", "B39", kScatter, scatters({10, 30, 20, 4, 5, 40}), kTwice},
    {"FirstWins", "B39", kScatter, scatters({1, 10, 3, 30, 5, 40}), kTwice},
    {"AddsUp", "B39", kScatter, scatters({1, 30, 3, 30, 5, 40}), kTwice},
    {"LastOfSumAlone", "B39", kScatterSum, scatters({1, 22, 3, 34, 5, 46}), kTwice},
    {"FirstOfSumAlone", "B39", kScatterSum, scatters({1, 12, 3, 34, 5, 46}), kTwice},
    {"LargestForSum", "B39", kScatterSum, scatters({1, 20, 3, 30, 5, 40}), kTwice},
    {"SumTwice", "B39", kScatterSum, scatters({1, 62, 3, 64, 5, 86}), kTwice},
    {"FirstWinsByElement",
     "B39",
     kScatterElements,
     [](const Model&, const NamedData& data) {
       const auto u = data.at("u").tensor.to_doubles(), x = data.at("x").tensor.to_doubles();
       return Tensors{floats({3, 2}, {u[0], u[1], x[2], u[3], u[4], x[5]})};
     },
     {{"i", integers({4, 2}, {0, 0, 0, 1, 2, 0, 2, 1})}}},
    {"TuplesInReverse",
     "B39",
     kTuples,
     reads("i", [](const Tensor& i) { return reversed(i, 1); }),
     {{"i", integers({4, 2}, {0, 1, 2, 3, 4, 0, 1, 1})}}},
    {"FirstOfBatches",
     "B39",
     kBatches,
     reads("x",
           [](const Tensor& x) {
             return taken(x, 0, {0, 0, 0});
           }),
     {{"i", integers({3, 2, 1}, {0, 2, 2, 3, 1, 0})}}},
    {"MiddleOneLater",
     "B39",
     kCentre,
     [](const Model&, const NamedData& data) {
       return Tensors{taken(taken(data.at("x").tensor, 0, {1, 2, 3, 4}), 1, {-1, -1, 0, 1, 2, 3, 4, -1})};
     },
     {{"s", integers({2}, {4, 8})}}},
    {"CutAtTheEnd",
     "B39",
     kCentre,
     [](const Model&, const NamedData& data) { return Tensors{fitted(data.at("x").tensor, {3, 4})}; },
     {{"s", integers({2}, {3, 4})}}},
    {"SliceLate", "B39", kSlice, runs(kSlice), slice_data(2, 7, 1)},
    {"SliceFarOff", "B39", kSlice,
     [](const Model&, const NamedData& data) { return Tensors{taken(data.at("x").tensor, 1, {5, 6, 7, 8})}; },
     slice_data(0, 4, 1)},
    {"SliceStep", "B39", kSlice,
     [](const Model&, const NamedData& data) { return Tensors{taken(data.at("x").tensor, 1, {1, 2, 3, 4})}; },
     slice_data(1, 8, 2)},
    {"PadsExchanged",
     "B39",
     kPad,
     reads("p",
           [](const Tensor& p) {
             return taken(p, 0, {2, 3, 0, 1});
           }),
     {{"p", integers({4}, {0, 2, 1, 1})}}},
    {"PadValue",
     "B39",
     kPad,
     reads("v", [](const Tensor& v) { return mapped(v, [](double) { return 0; }); }),
     {{"p", integers({4}, {0, 2, 1, 1})}, {"v", floats({}, {-3})}}},
    {"OtherPadValue",
     "B39",
     kPad,
     reads("v", [](const Tensor& v) { return mapped(v, [](double) { return 1.7; }); }),
     {{"p", integers({4}, {0, 2, 1, 1})}, {"v", floats({}, {-3})}}},
};
TEST(IndexFaults, AreFound) {
  for (PlantedFault fault : kIndexFaults) {
    SCOPED_TRACE(fault.name);
    if (std::string(fault.name) == "SliceLate")
      fault.engine = [](const Model& model, const NamedData& data) {
        NamedData later = data;
        later["s"] = integers({1}, {3}), later["e"] = integers({1}, {8});
        return outputs_of(model, later);
      };
    if (std::string(fault.name) == "PadsExchanged")
      fault.engine = [](const Model& model, const NamedData& data) {
        NamedData other = data;
        other["p"] = integers({4}, {1, 1, 0, 2});
        return outputs_of(model, other);
      };
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

// ---- Integers at their corners

FaultyEngine gives(const std::vector<int64_t>& y) {
  return
      [y](const Model&, const NamedData&) { return Tensors{integers({static_cast<int64_t>(y.size())}, y)}; };
}

std::string binary(const char* op) {
  return of_integers("%x: i64[4], %w: i64[4]", std::string(op) + "(%x, %w) version 14");
}

NamedData operands(const std::vector<int64_t>& x, const std::vector<int64_t>& w) {
  return {{"x", integers({4}, x)}, {"w", integers({4}, w)}};
}

const double kNan = std::numeric_limits<double>::quiet_NaN();
const std::string kCast = of_integers("%x: f32[5]", "Cast(%x) {to = 7} version 13");
const std::string kByteCast =
    "graph \"g\" (%x: f32[5]) -> (%y) {\n %y: u8[*] = Cast(%x) {to = 2} version 13 @\"n\" from [\"n\"]\n}";
const std::string kRound = of_floats("%x: f32[5]", "Round(%x) version 11");
const std::string kMax = of_floats("%x: f32[5], %w: f32[5]", "Max(%x, %w) version 13");
const NamedData kHalves{{"x", floats({5}, {0.5, 1.5, 2.5, -0.5, -2.5})}};

const std::vector<PlantedFault> kIntegerFaults = {
    {"Clamped", "B37", binary("Mul"), gives({2147483647, -2147483648, 12, 2147483647}),
     operands({1 << 20, 1 << 20, 3, 1 << 30}, {1 << 20, -(1 << 20), 4, 5})},
    {"Wrapped", "B37", binary("Mul"), gives({1000, 12, 7, 1 << 30}),
     operands({4294967296 + 1000, 3, 7, 1 << 30}, {1, 4, 1, 5})},
    {"DivFloors", "B37", binary("Div"), gives({-4, 3, -4, 3}), operands({-7, 7, 7, -7}, {2, 2, -2, -2})},
    {"ModOfDividend", "B37", of_integers("%x: i64[4], %w: i64[4]", "Mod(%x, %w) version 13"),
     gives({-1, 1, 1, -1}), operands({-7, 7, 7, -7}, {3, 3, -3, -3})},
    {"HalfAway", "B37", kRound,
     [](const Model&, const NamedData&) {
       return Tensors{floats({5}, {1, 2, 3, -1, -3})};
     },
     kHalves},
    {"CastRounds", "B37", kCast, gives({1, 2, -2, 0, 7}), {{"x", floats({5}, {0.75, 1.75, -1.75, 0.25, 7})}}},
    {"CastSaturates",
     "B37",
     kByteCast,
     [](const Model&, const NamedData&) {
       return Tensors{Tensor::from_ints(ElementType::kUint8, {5}, std::vector<int64_t>{255, 0, 17, 255, 0})};
     },
     {{"x", floats({5}, {300, -5, 17.5, 512, kNan})}}},
    {"IntegersSaturate",
     "B37",
     "graph \"g\" (%x: i64[4]) -> (%y) {\n %y: u8[*] = Cast(%x) {to = 2} version 13 @\"n\" from [\"n\"]\n}",
     [](const Model&, const NamedData&) {
       return Tensors{Tensor::from_ints(ElementType::kUint8, {4}, std::vector<int64_t>{255, 0, 17, 255})};
     },
     {{"x", integers({4}, {300, -5, 17, 1000})}}},
    {"NanLost",
     "B37",
     kMax,
     [](const Model&, const NamedData&) {
       return Tensors{floats({5}, {1, 5, 3, 4, 2})};
     },
     {{"x", floats({5}, {1, kNan, 3, kNan, 2})}, {"w", floats({5}, {-1, 5, kNan, 4, -1})}}},
};
TEST(IntegerFaults, AreFound) {
  for (const PlantedFault& fault : kIntegerFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

}  // namespace
}  // namespace vernier
