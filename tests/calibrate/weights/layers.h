// Tests of adapted weights share these: small models with weights of their choice.
#pragma once

#include <random>

#include "calibrate/given_samples.h"
#include "passes/rewriting.h"
#include "vernier/calibrate/weights/adapt_weights.h"

namespace vernier {

inline std::vector<float> random_values(size_t count, uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = draw(generator);
  return values;
}

inline Tensor random_tensor(Dims dims, uint32_t seed, float low = -1, float high = 1) {
  size_t count = 1;
  for (const int64_t each : dims) count *= static_cast<size_t>(each);
  return Tensor::from<float>(ElementType::kFloat, std::move(dims), random_values(count, seed, low, high));
}

// A graph in text whose constants are given by name: "%w = f32[2, 3] ?" stands for any content.
inline Model with_constants(std::string text, const std::map<std::string, Tensor>& constants) {
  for (size_t at = text.find('?'); at != std::string::npos; at = text.find('?')) {
    const size_t open = text.rfind('[', at), close = text.rfind(']', at);
    size_t count = 1, size = 0;
    for (const char each : text.substr(open + 1, close - open - 1) + ",") {
      if (each >= '0' && each <= '9') size = 10 * size + static_cast<size_t>(each - '0');
      if (each == ',') count *= std::exchange(size, 0);
    }
    text.replace(at, 1, "hex\"" + std::string(8 * count, '0') + "\"");
  }
  Model model = parse_graph(text);
  for (const auto& value : model.graph->values()) {
    const auto found = constants.find(value->name);
    if (found != constants.end()) value->constant = found->second;
  }
  return model;
}

inline std::vector<double> floats_of(const Model& model, const NamedData& inputs) {
  return run_reference(model, inputs).outputs.at(0).as_tensor().to_doubles();
}

inline AdaptedModel adapted(const Model& model, const std::vector<NamedData>& samples,
                            const AdaptOptions& options) {
  CalibrateOptions how;
  how.range.method = RangeMethod::kMinMax;
  GivenSamples data(samples);
  const auto ranges = calibrate(model, data, how);
  auto result = adapt_weights(
      model, ranges, [&] { return std::make_unique<GivenSamples>(samples); }, how, options);
  EXPECT_TRUE(result.has_value());
  return std::move(*result);
}

}  // namespace vernier
