// Elements in other orders: of axes, blocks and parts, and sums along others.
#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string running_sum(const std::string& attributes) {
  return of_floats("%x: f32[3, 5, 4], %a: i64[]", "CumSum(%x, %a) {" + attributes + "} version 14");
}

std::string product(const std::string& equation) {
  return of_floats("%x: f32[5, 5], %w: f32[5, 5]",
                   "Einsum(%x, %w) {equation = \"" + equation + "\"} version 12");
}

const std::string kReshape = of_floats("%x: f32[4, 6], %s: i64[2]", "Reshape(%x, %s) version 14");
const NamedData kThreeRows{{"s", integers({2}, {3, 8})}};
const NamedData kAlongOne{{"a", Tensor::scalar(int64_t{1})}};
const std::string kSplit = R"(graph "g" (%x: f32[3, 9]) -> (%y, %z, %u) {
  %y: f32[*], %z: f32[*], %u: f32[*] = Split(%x) {axis = 1, num_outputs = 3} version 18 @"n" from ["n"]
})";
const std::string kReverse = of_floats("%x: f32[6, 4, 3], %l: i64[4]",
                                       "ReverseSequence(%x, %l) {time_axis = 0, batch_axis = 1} version 10");
const NamedData kLengths{{"l", integers({4}, {6, 2, 3, 5})}};

// Windows of 2 x 2 in images of 4 x 5.
const std::string kColumns =
    of_floats("%x: f32[1, 8, 12], %i: i64[2], %k: i64[2]", "Col2Im(%x, %i, %k) version 18");
const NamedData kImage{{"i", integers({2}, {4, 5})}, {"k", integers({2}, {2, 2})}};

// Every place is that of the last window which covers it.
Tensors last_window(const Model&, const NamedData& data) {
  const auto x = data.at("x").tensor.to_doubles();
  std::vector<double> y(40);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t channel = i / 20, row = i / 5 % 4, column = i % 5;
    const size_t window_row = std::min<size_t>(row, 2), window_column = std::min<size_t>(column, 3);
    const size_t tap = (row - window_row) * 2 + column - window_column;
    y[i] = x[(channel * 4 + tap) * 12 + window_row * 4 + window_column];
  }
  return {floats({1, 2, 4, 5}, y)};
}

const std::vector<PlantedFault> kFaults = {
    {"ColumnByColumn", "B31", kReshape,
     [](const Model&, const NamedData& data) {
       const Tensor turned = permuted(data.at("x").tensor, {1, 0}).reshaped({8, 3});
       return Tensors{permuted(turned, {1, 0})};
     },
     kThreeRows},
    {"ReadsTheOtherOrder", "B31", kReshape,
     [](const Model&, const NamedData& data) {
       return Tensors{permuted(data.at("x").tensor, {1, 0}).reshaped({3, 8})};
     },
     kThreeRows},
    {"SpaceBeforeChannels", "B31",
     of_floats("%x: f32[1, 2, 4, 4]", "SpaceToDepth(%x) {blocksize = 2} version 13"),
     [](const Model&, const NamedData& data) {
       const Tensor parts = data.at("x").tensor.reshaped({1, 2, 2, 2, 2, 2});
       return Tensors{permuted(parts, {0, 1, 3, 5, 2, 4}).reshaped({1, 8, 2, 2})};
     }},
    {"RowsAndColumnsOfBlocks", "B31",
     of_floats("%x: f32[1, 8, 3, 3]", "DepthToSpace(%x) {blocksize = 2} version 13"),
     [](const Model&, const NamedData& data) {
       const Tensor parts = data.at("x").tensor.reshaped({1, 2, 2, 2, 3, 3});
       return Tensors{permuted(parts, {0, 3, 4, 2, 5, 1}).reshaped({1, 2, 6, 6})};
     }},
    {"PartsInAnotherOrder", "B31", kSplit,
     [](const Model& model, const NamedData& data) {
       const Tensors parts = outputs_of(model, data);
       return Tensors{parts[1], parts[2], parts[0]};
     }},
    {"PartsInTurn", "B31", kSplit,
     [](const Model&, const NamedData& data) {
       const Tensor& x = data.at("x").tensor;
       return Tensors{taken(x, 1, {0, 3, 6}), taken(x, 1, {1, 4, 7}), taken(x, 1, {2, 5, 8})};
     }},
    {"SumsAlongAnotherAxis", "B31", running_sum("exclusive = 1"),
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       other["a"] = Tensor::scalar(int64_t{2});
       return outputs_of(model, other);
     },
     kAlongOne},
    {"BothFlagsLost", "B31", running_sum("exclusive = 1, reverse = 1"), runs(running_sum("reverse = 0")),
     kAlongOne},
    {"OtherEquation", "B31", product("ij,jk->ik"), runs(product("ij,kj->ik"))},
    {"OperandsOfEquation", "B31", product("ij,jk->ik"), runs(product("jk,ij->ik"))},
    {"BiasAlongRows", "B31", of_floats("%x: f32[2, 4, 4], %b: f32[4, 1]", "Add(%x, %b) version 14"),
     [](const Model&, const NamedData& data) {
       const Model other =
           parse_planted(of_floats("%x: f32[2, 4, 4], %b: f32[1, 4]", "Add(%x, %b) version 14"), 18);
       return outputs_of(other, {{"x", data.at("x")}, {"b", data.at("b").tensor.reshaped({1, 4})}});
     }},
    {"WindowsColumnByColumn", "B31", kColumns,
     reads("x",
           [](const Tensor& x) {
             return permuted(x.reshaped({1, 8, 4, 3}), {0, 1, 3, 2}).reshaped(x.dims());
           }),
     kImage},
    {"PlacesBeforeChannels", "B31", kColumns,
     reads("x",
           [](const Tensor& x) {
             return permuted(x.reshaped({1, 4, 2, 12}), {0, 2, 1, 3}).reshaped(x.dims());
           }),
     kImage},
    {"LastWindowStays", "B31", kColumns, last_window, kImage},
    {"NothingIsReversed", "B31", kReverse,
     [](const Model&, const NamedData& data) { return Tensors{data.at("x").tensor}; }, kLengths},
    {"PaddingIsReversed", "B38", kReverse,
     reads("l",
           [](const Tensor&) {
             return integers({4}, {6, 6, 6, 6});
           }),
     kLengths},
};

TEST(ElementOrders, AreFound) {
  for (const PlantedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

}  // namespace
}  // namespace vernier
