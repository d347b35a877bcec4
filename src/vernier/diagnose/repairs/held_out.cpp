#include "vernier/diagnose/repairs/held_out.h"

#include "vernier/data/random/random_values.h"

namespace vernier {

namespace {

constexpr size_t kFewest = 2, kMost = 4;

Tensor varied(const Tensor& tensor, RandomStream& random) {
  constexpr double kPart = 0.02;
  auto values = tensor.to_doubles();
  // Whole numbers are masks, counts and choices.
  if (std::all_of(values.begin(), values.end(), [](double value) { return value == std::trunc(value); }))
    return tensor;
  for (double& value : values) value *= 1 + random.real(-kPart, kPart);
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

}  // namespace

Sample variation(const Sample& sample, uint64_t seed) {
  Sample result{sample.origin + ", varied", sample.inputs, std::nullopt, {}};
  RandomStream random(seed);
  for (auto& [name, datum] : result.inputs) {
    if (datum.is_tensor() && is_float(datum.tensor.type())) datum.tensor = varied(datum.tensor, random);
  }
  return result;
}

HeldOut held_out_samples(const std::vector<Sample>& kept, size_t chosen, DataSource* drawn, uint64_t seed) {
  HeldOut result;
  for (size_t i = 0; i < kept.size() && result.samples.size() < kMost; ++i) {
    if (i != chosen) result.samples.push_back(kept[i]);
  }
  const size_t others = result.samples.size();
  if (others > 0) result.origin = fmt::format("{} other sample{}", others, others == 1 ? "" : "s");
  while (drawn != nullptr && result.samples.size() < kFewest) {
    auto sample = drawn->next();
    if (!sample) break;
    result.samples.push_back(std::move(*sample));
  }
  if (const size_t count = result.samples.size() - others; count > 0)
    result.origin += fmt::format("{}{} random sample{} of another seed", others > 0 ? ", " : "", count,
                                 count == 1 ? "" : "s");
  const size_t known = result.samples.size();
  while (result.samples.size() < kFewest)
    result.samples.push_back(variation(kept.at(chosen), seed + result.samples.size()));
  if (const size_t count = result.samples.size() - known; count > 0)
    result.origin += fmt::format("{}{} variation{} of the sample at hand", known > 0 ? ", " : "", count,
                                 count == 1 ? "" : "s");
  return result;
}

}  // namespace vernier
