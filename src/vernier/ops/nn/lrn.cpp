// LRN: local response normalisation, y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring
// channels)^beta.
#include "vernier/base/threads.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

void reference_lrn(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const int64_t size = integer_attribute(context.node(), "size");
  if (size < 1 || dims.size() < 2) throw bad_input("LRN of size {} over {}", size, dims_text(dims));
  const auto alpha = static_cast<double>(real_attribute(context.node(), "alpha")) / static_cast<double>(size);
  const auto beta = static_cast<double>(real_attribute(context.node(), "beta")),
             bias = static_cast<double>(real_attribute(context.node(), "bias"));
  const int64_t channels = dims[1], plane = product(dims, 2, dims.size());
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(x.size()));
  parallel_for(dims[0] * channels, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(plane));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t channel = row % channels, image = row - channel;
      std::fill(sums.begin(), sums.end(), 0.0);
      // An even size reaches one channel farther up than down.
      const int64_t first = std::max<int64_t>(0, channel - (size - 1) / 2),
                    last = std::min(channels - 1, channel + size / 2);
      for (int64_t other = first; other <= last; ++other) {
        const double* values = x.data() + (image + other) * plane;
        for (int64_t i = 0; i < plane; ++i) sums[static_cast<size_t>(i)] += values[i] * values[i];
      }
      for (int64_t i = 0; i < plane; ++i) {
        y[static_cast<size_t>(row * plane + i)] =
            x[row * plane + i] / std::pow(bias + alpha * sums[static_cast<size_t>(i)], beta);
      }
    }
  });
  context.store(0, dims, y);
}

}  // namespace

void register_lrn(OpRegistry& registry) {
  registry.add({.op = "LRN",
                .operands = {Role::kData},
                .attributes = {{"alpha", "FLOAT"}, {"beta", "FLOAT"}, {"bias", "FLOAT"}, {"size", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kNeverLower,
                .since = {13, 1},
                .infer = infer_same_as_input,
                .reference = reference_lrn});
}

}  // namespace vernier::ops
