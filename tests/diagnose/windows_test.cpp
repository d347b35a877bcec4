// Windows that lie elsewhere, count otherwise, or read their weights in another order.
#include <cmath>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string conv(const std::string& attributes, const std::string& weights = "6, 4, 3, 3") {
  return of_floats("%x: f32[1, 4, 9, 8], %w: f32[" + weights + "]",
                   "Conv(%x, %w) {" + attributes + "} version 11");
}

std::string pool(const std::string& op, const std::string& attributes, const char* kernel = "3, 3") {
  return of_floats("%x: f32[1, 4, 9, 8]",
                   op + "(%x) {kernel_shape = ints[" + kernel + "]" + attributes + "} version 19");
}

std::string transposed(const std::string& attributes) {
  return of_floats("%x: f32[1, 4, 9, 8], %w: f32[4, 2, 3, 3]",
                   "ConvTranspose(%x, %w) {" + attributes + "} version 11");
}

// Gives what another model makes, cut off or filled up with zeros.
FaultyEngine fits(const std::string& graph, const Dims& dims) {
  return [=](const Model& model, const NamedData& data) {
    return Tensors{fitted(runs(graph)(model, data).at(0), dims)};
  };
}

// A convolution whose padding holds these rows and columns of the image.
FaultyEngine bordered(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns) {
  return [=](const Model&, const NamedData& data) {
    NamedData other = data;
    other["x"] = taken(taken(data.at("x").tensor, 2, rows), 3, columns);
    const std::string plain =
        of_floats("%x: f32[1, 4, 11, 10], %w: f32[6, 4, 3, 3]", "Conv(%x, %w) version 11");
    return outputs_of(parse_planted(plain, 18), other);
  };
}

// The image with NaN in the upper left corner, 4 by 4; all else of it is 3.
Tensor dead_pixels() {
  std::vector<double> values(size_t{4} * 9 * 8, 3);
  for (size_t i = 0; i < 4; ++i) std::fill_n(values.begin() + static_cast<ptrdiff_t>(8 * i), 4, NAN);
  return floats({1, 4, 9, 8}, values);
}

const std::vector<PlantedFault> kFaults = {
    {"Stride", "B31", conv("pads = ints[1, 1, 1, 1], strides = ints[2, 2]"),
     fits(conv("pads = ints[1, 1, 1, 1]"), {1, 6, 5, 4})},
    {"StrideOfPool", "B33", pool("MaxPool", ", strides = ints[2, 2]"),
     fits(pool("MaxPool", ""), {1, 4, 4, 3})},
    {"Dilation", "B31", conv("pads = ints[2, 2, 2, 2], dilations = ints[2, 2]"),
     fits(conv("pads = ints[2, 2, 2, 2]"), {1, 6, 9, 8})},
    {"DilationAroundMiddles", "B31", conv("pads = ints[2, 2, 2, 2], dilations = ints[2, 2]"),
     runs(conv("pads = ints[1, 1, 1, 1]"))},
    {"BorderRepeats", "B31", conv("pads = ints[1, 1, 1, 1]"),
     bordered({0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8}, {0, 0, 1, 2, 3, 4, 5, 6, 7, 7})},
    {"BorderMirrors", "B31", conv("pads = ints[1, 1, 1, 1]"),
     bordered({1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 7}, {1, 0, 1, 2, 3, 4, 5, 6, 7, 6})},
    {"BorderOfTheOtherEnd", "B31", conv("pads = ints[1, 1, 1, 1]"),
     bordered({8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0}, {7, 0, 1, 2, 3, 4, 5, 6, 7, 0})},
    {"NoPads", "B31", conv("pads = ints[1, 1, 1, 1]"), fits(conv("pads = ints[0, 0, 0, 0]"), {1, 6, 9, 8})},
    {"PadsExchanged", "B31", conv("pads = ints[0, 0, 1, 1], strides = ints[2, 2]"),
     runs(conv("pads = ints[1, 1, 0, 0], strides = ints[2, 2]"))},
    {"SameLower", "B31", conv("auto_pad = \"SAME_UPPER\"", "6, 4, 2, 2"),
     runs(conv("auto_pad = \"SAME_LOWER\"", "6, 4, 2, 2"))},
    {"Shifted", "B31", conv("pads = ints[1, 1, 1, 1]"), runs(conv("pads = ints[0, 0, 2, 2]"))},
    {"ShiftedAlongRows", "B33", pool("AveragePool", ", pads = ints[1, 1, 1, 1]"),
     runs(pool("AveragePool", ", pads = ints[1, 2, 1, 0]"))},
    {"Mirrored", "B31", conv("group = 1"),
     reads("w",
           [](const Tensor& w) {
             return reversed(w.reshaped({24, 9}), 1).reshaped(w.dims());
           })},
    {"Groups", "B31", conv("group = 2", "6, 2, 3, 3"),
     reads("w",
           [](const Tensor& w) {
             return rolled(w.reshaped({2, 54}), 0, 1).reshaped(w.dims());
           })},
    {"ChannelsOfTheNextGroup", "B31", conv("group = 2", "6, 2, 3, 3"),
     reads("x", [](const Tensor& x) { return rolled(x, 1, 2); })},
    {"CountsPads", "B33", pool("AveragePool", ", pads = ints[1, 1, 1, 1]"),
     runs(pool("AveragePool", ", pads = ints[1, 1, 1, 1], count_include_pad = 1"))},
    {"CeilMode", "B33", pool("MaxPool", ", strides = ints[2, 3], ceil_mode = 1"),
     fits(pool("MaxPool", ", strides = ints[2, 3]"), {1, 4, 4, 3})},
    {"ZeroPads", "B33", pool("MaxPool", ", pads = ints[1, 1, 1, 1]"),
     [](const Model& model, const NamedData& data) {
       Tensors right = outputs_of(model, data);
       auto values = right[0].to_doubles();
       for (size_t i = 0; i < values.size(); ++i) {
         const size_t row = i / 8 % 9, column = i % 8;
         const bool border = row == 0 || row == 8 || column == 0 || column == 7;
         if (border) values[i] = std::max(values[i], 0.0);
       }
       return Tensors{Tensor::from_doubles(ElementType::kFloat, right[0].dims(), values)};
     }},
    {"LosesNan",
     "B33",
     pool("MaxPool", ", strides = ints[3, 3]"),
     writes([](const Tensor& right) {
       auto values = right.to_doubles();  // the first window holds NaN alone, those beside it hold others
       for (size_t i = 0; i < values.size(); ++i) {
         if (std::isnan(values[i]) && i != 0) values[i] = 3;
       }
       return Tensor::from_doubles(ElementType::kFloat, right.dims(), values);
     }),
     {{"x", dead_pixels()}}},
    {"OutputPadding", "B35",
     transposed("group = 2, strides = ints[2, 2], pads = ints[1, 1, 1, 1], output_padding = ints[1, 1]"),
     fits(transposed("group = 2, strides = ints[2, 2], pads = ints[1, 1, 1, 1]"), {1, 4, 18, 16})},
    {"MirroredTransposed", "B35", transposed("group = 2"),
     reads("w",
           [](const Tensor& w) {
             return reversed(w.reshaped({8, 9}), 1).reshaped(w.dims());
           })},
    {"GroupsTransposed", "B35", transposed("group = 2"),
     reads("w",
           [](const Tensor& w) {
             return rolled(w.reshaped({2, 36}), 0, 1).reshaped(w.dims());
           })},
};

VERNIER_PLANTED(WindowFaults, kFaults);

// An engine that makes results of the sizes that its fault asks for.
TEST(WindowFaults, OtherSizesAreReproduced) {
  expect_found({"StrideUncut", "B31", conv("pads = ints[1, 1, 1, 1], strides = ints[2, 2]"),
                runs(conv("pads = ints[1, 1, 1, 1]"))});
}

}  // namespace
}  // namespace vernier
