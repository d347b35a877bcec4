// Integers that are made, read or summed in another way than the graph says.
#include "diagnose/planted_fault.h"
#include "vernier/ops/group.h"

namespace vernier {
namespace {

Tensor typed(ElementType type, Dims dims, const std::vector<double>& values) {
  return Tensor::from_doubles(type, std::move(dims), values);
}

// Quantizes %x by 0.25 with a zero point of 3, as `round` rounds.
FaultyEngine quantizes(const std::function<double(double)>& round) {
  return [=](const Model&, const NamedData& data) {
    const Tensor& x = data.at("x").tensor;
    auto values = x.to_doubles();
    for (double& value : values) value = std::clamp(round(value / 0.25) + 3, 0.0, 255.0);
    return Tensors{typed(ElementType::kUint8, x.dims(), values)};
  };
}

std::string quantize() {
  return "graph \"g\" (%x: f32[6, 40], %s: f32[], %z: u8[]) -> (%y) {\n"
         " %y: u8[*] = QuantizeLinear(%x, %s, %z) version 13 @\"n\" from [\"n\"]\n}";
}

// Half of them lie in the middle between two integers.
NamedData to_quantize() {
  std::vector<double> values;
  for (int i = 0; i < 240; ++i) values.push_back(0.125 * (i * 37 % 97 - 20) + (i % 4 == 0 ? 0.03 : 0));
  return {
      {"x", floats({6, 40}, values)}, {"s", floats({}, {0.25})}, {"z", typed(ElementType::kUint8, {}, {3})}};
}

std::string dequantize() {
  return "graph \"g\" (%x: i8[5, 5, 4], %s: f32[5], %z: i8[5]) -> (%y) {\n"
         " %y: f32[*] = DequantizeLinear(%x, %s, %z) {axis = 0} version 13 @\"n\" from [\"n\"]\n}";
}

NamedData to_dequantize() {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i * 53 % 251 - 125);
  return {{"x", typed(ElementType::kInt8, {5, 5, 4}, values)},
          {"s", floats({5}, {0.1, 0.4, 0.03, 0.2, 0.7})},
          {"z", typed(ElementType::kInt8, {5}, {4, 0, -3, 9, 1})}};
}

FaultyEngine scales(const std::vector<double>& scales) {
  return reads("s", [=](const Tensor& given) { return floats(given.dims(), scales); });
}

std::vector<double> bytes(int count, int low, int high) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(low + i * 71 % (high - low + 1));
  return values;
}

std::string integer_product() {
  return "graph \"g\" (%a: u8[8, 16], %b: i8[16, 10]) -> (%y) {\n"
         " %y: i32[*] = MatMulInteger(%a, %b) version 10 @\"n\" from [\"n\"]\n}";
}

NamedData to_multiply() {
  return {{"a", typed(ElementType::kUint8, {8, 16}, bytes(128, 120, 255))},
          {"b", typed(ElementType::kInt8, {16, 10}, bytes(160, -20, 127))}};
}

// Sums whose terms meet in so many at a time, in 16 bits.
FaultyEngine sums(int at_a_time, double (*limit)(double)) {
  return [=](const Model&, const NamedData& data) {
    const auto a = data.at("a").tensor.to_doubles(), b = data.at("b").tensor.to_doubles();
    std::vector<double> y(80, 0);
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < 10; ++column) {
        for (int k = 0; k < 16; k += at_a_time) {
          double part = 0;
          for (int i = k; i < k + at_a_time; ++i)
            part += a[static_cast<size_t>(row * 16 + i)] * b[static_cast<size_t>(i * 10 + column)];
          y[static_cast<size_t>(row * 10 + column)] += limit(part);
        }
      }
    }
    return Tensors{typed(ElementType::kInt32, {8, 10}, y)};
  };
}

double saturated(double sum) {
  return std::clamp(sum, -32768.0, 32767.0);
}

double wrapped(double sum) {
  return static_cast<int16_t>(static_cast<int64_t>(sum));
}

// A convolution of reals that come from bytes, with a border.
std::string convolution() {
  return "graph \"g\" (%q: u8[1, 4, 7, 7], %s: f32[], %z: u8[], %v: i8[5, 4, 3, 3], %t: f32[5], %b: f32[5]) "
         "-> (%y) {\n"
         " %x: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @\"d\" from [\"d\"]\n"
         " %w: f32[*] = DequantizeLinear(%v, %t) {axis = 0} version 13 @\"e\" from [\"e\"]\n"
         " %y: f32[*] = Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11 @\"n\" from [\"n\"]\n}";
}

NamedData to_convolve() {
  return {{"q", typed(ElementType::kUint8, {1, 4, 7, 7}, bytes(196, 100, 255))},
          {"s", floats({}, {0.05})},
          {"z", typed(ElementType::kUint8, {}, {40})},
          {"v", typed(ElementType::kInt8, {5, 4, 3, 3}, bytes(180, -60, 127))},
          {"t", floats({5}, {0.01, 0.04, 0.02, 0.03, 0.1})},
          {"b", floats({5}, {1, -2, 3, 0.5, 0.1})}};
}

// The value of an element of the image with its border, and the sum of one window by pairs of channels.
FaultyEngine convolves(bool in_pairs, double border) {
  return [=](const Model&, const NamedData& data) {
    const auto q = data.at("q").tensor.to_doubles(), v = data.at("v").tensor.to_doubles(),
               t = data.at("t").tensor.to_doubles(), b = data.at("b").tensor.to_doubles();
    const auto at = [&](int channel, int y, int x) {
      return y < 0 || x < 0 || y > 6 || x > 6 ? border : q[static_cast<size_t>((channel * 7 + y) * 7 + x)];
    };
    std::vector<double> result;
    for (int m = 0; m < 5; ++m) {
      for (int place = 0; place < 49; ++place) {
        double sum = 0;
        for (int tap = 0; tap < 9; ++tap) {
          for (int channel = 0; channel < 4; channel += 2) {
            double pair = 0, zero = 0;
            for (int c = channel; c < channel + 2; ++c) {
              const double weight = v[static_cast<size_t>((m * 4 + c) * 9 + tap)];
              pair += at(c, place / 7 + tap / 3 - 1, place % 7 + tap % 3 - 1) * weight;
              zero += 40 * weight;
            }
            sum += (in_pairs ? saturated(pair) : pair) - zero;
          }
        }
        result.push_back(sum * 0.05 * t[static_cast<size_t>(m)] + b[static_cast<size_t>(m)]);
      }
    }
    return Tensors{floats({1, 5, 7, 7}, result)};
  };
}

const std::vector<PlantedFault> kFaults = {
    {"TiesAway", "B28", quantize(), quantizes([](double value) { return std::round(value); }), to_quantize()},
    {"TiesUp", "B28", quantize(), quantizes([](double value) { return std::floor(value + 0.5); }),
     to_quantize()},
    {"CutOff", "B28", quantize(), quantizes([](double value) { return std::trunc(value); }), to_quantize()},
    {"ZeroPointByOne", "B28", quantize(), quantizes([](double value) { return std::nearbyint(value) + 1; }),
     to_quantize()},
    {"ZeroPointLost", "B28", dequantize(),
     reads("z", [](const Tensor& given) { return Tensor(given.type(), given.dims()); }), to_dequantize()},
    {"TakenForUnsigned", "B28", dequantize(),
     [](const Model& model, const NamedData& data) {
       auto values = outputs_of(model, data).at(0).to_doubles();
       const auto codes = data.at("x").tensor.to_doubles(), steps = data.at("s").tensor.to_doubles();
       for (size_t i = 0; i < values.size(); ++i) values[i] += codes[i] < 0 ? 256 * steps[i / 20] : 0;
       return Tensors{floats({5, 5, 4}, values)};
     },
     to_dequantize()},
    {"FirstScale", "B24", dequantize(), scales({0.1, 0.1, 0.1, 0.1, 0.1}), to_dequantize()},
    {"NeighboursScale", "B24", dequantize(), scales({0.7, 0.1, 0.4, 0.03, 0.2}), to_dequantize()},
    {"ScalesOfAnotherAxis", "B24", dequantize(),
     [](const Model&, const NamedData& data) {
       const auto codes = data.at("x").tensor.to_doubles(), steps = data.at("s").tensor.to_doubles(),
                  zeros = data.at("z").tensor.to_doubles();
       std::vector<double> values;
       for (size_t i = 0; i < codes.size(); ++i)
         values.push_back((codes[i] - zeros[i / 4 % 5]) * steps[i / 4 % 5]);
       return Tensors{floats({5, 5, 4}, values)};
     },
     to_dequantize()},
    {"PairsSaturate", "B29", integer_product(), sums(2, saturated), to_multiply()},
    {"SumsWrap", "B29", integer_product(), sums(16, wrapped), to_multiply()},
    {"PairsOfChannelsSaturate", "B29", convolution(), convolves(true, 40), to_convolve()},
    {"BorderOfIntegerZero", "B28", convolution(), convolves(false, 0), to_convolve()},
    {"WeightsOfFirstScale", "B24", convolution(),
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       other["t"] = floats({5}, {0.01, 0.01, 0.01, 0.01, 0.01});
       return outputs_of(model, other);
     },
     to_convolve()},
};

VERNIER_PLANTED(Quantized, kFaults);

TEST(QuantizedFactor, IsFittedWhereItIsCoarse) {
  const Model model = parse_planted(quantize(), 18);
  const FaultyEngine coarse = quantizes([](double value) { return std::nearbyint(0.96875 * value); });
  const Reproduction found = Planted(model, coarse, to_quantize()).reproduction();
  ASSERT_TRUE(found.cause);
  EXPECT_EQ(found.cause->failure.code(), "B28");
  EXPECT_LT(found.cause->residual, 0.2) << found.cause->what;
}

TEST(QuantizedConvolution, OfBytesThatAGroupDequantizesIsExplained) {
  const Model model = parse_planted(convolution(), 18);
  ops::make_group(*model.graph, {model.graph->nodes().front().get()}, "pointwise");
  const Reproduction found = Planted(model, convolves(true, 40), to_convolve()).reproduction();
  ASSERT_TRUE(found.cause);
  EXPECT_EQ(found.cause->failure.code(), "B29") << found.cause->what;
}

TEST(QuantizedConvolution, OfBytesIsNotFlaggedWhenItIsSound) {
  const Model model = parse_planted(convolution(), 18);
  const Reproduction found = Planted(model, convolves(false, 40), to_convolve()).reproduction();
  EXPECT_FALSE(found.cause) << found.cause->what;
}

}  // namespace
}  // namespace vernier
