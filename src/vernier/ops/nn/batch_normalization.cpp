// BatchNormalization over all axes but the channels (axis 1). In training it uses the batch's own mean and
// variance (divided by the count) and gives the running ones.
//
// Training is asked for by training_mode (from opset 14), by the presence of outputs beyond the first (7 to
// 13), and before that by is_test = 0 together with such outputs. Before opset 9, spatial = 0 kept statistics
// per element.
#include "vernier/base/threads.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

// One set of statistics for a channel, or (before opset 9, with `spatial` 0) for every element of an image.
size_t first_axis_behind_units(const Node& node, size_t rank) {
  const bool spatial = node.version >= 9 || integer_attribute(node, "spatial") != 0;
  return spatial ? std::min<size_t>(2, rank) : rank;
}

template <class Context>
bool is_training(const Context& context) {
  if (context.version() >= 14) return context.template attribute<int64_t>("training_mode", 0) != 0;
  const bool more = context.wants(1) || context.wants(2) || context.wants(3) || context.wants(4);
  return more && (context.version() >= 7 || context.template attribute<int64_t>("is_test", 0) == 0);
}

void infer_batch_normalization(InferContext& context) {
  const auto& x = context.shape(0);
  if (x && x->empty()) throw bad_input("BatchNormalization of a scalar");
  if (x) {
    const size_t split = first_axis_behind_units(context.node(), x->size());
    const Dim units = element_count(Shape(x->begin() + 1, x->begin() + static_cast<std::ptrdiff_t>(split)));
    for (size_t input = 1; input < 5; ++input) require_elements(context, input, units);
  }
  context.set_output(0, context.element(0), x);
  for (size_t output = 1; output < 5; ++output) {
    const size_t statistic = output % 2 == 1 ? 3 : 4;  // mean, variance
    if (context.wants(output))
      context.set_output(output, context.element(statistic), context.shape(statistic));
  }
}

// x seen as [batch, units, inner]; one set of statistics for each unit.
struct Layout {
  int64_t batch, units, inner;

  explicit Layout(const ReferenceContext& context) {
    const Dims& dims = context.dims(0);
    const size_t split = first_axis_behind_units(context.node(), dims.size());
    batch = dims[0];
    units = product(dims, 1, split);
    inner = product(dims, split, dims.size());
  }
};

struct Statistics {
  std::vector<double> mean, variance;
};

Statistics batch_statistics(const Tensor& x, const Layout& layout) {
  Statistics result{std::vector<double>(static_cast<size_t>(layout.units)),
                    std::vector<double>(static_cast<size_t>(layout.units))};
  const auto values = x.to_doubles();
  const auto count = static_cast<double>(layout.batch * layout.inner);
  parallel_for(layout.units, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const auto sum = [&](auto term) {
        double total = 0;
        for (int64_t n = 0; n < layout.batch; ++n) {
          const double* row = values.data() + (n * layout.units + unit) * layout.inner;
          for (int64_t i = 0; i < layout.inner; ++i) total += term(row[i]);
        }
        return total / count;
      };
      const double mean = sum([](double v) { return v; });
      result.mean[static_cast<size_t>(unit)] = mean;
      result.variance[static_cast<size_t>(unit)] = sum([mean](double v) { return (v - mean) * (v - mean); });
    }
  });
  return result;
}

// y = (x - mean) * factor + bias, unit by unit, converted block by block.
void normalise(const Tensor& x, Tensor& y, const Layout& layout, const Statistics& statistics,
               const std::vector<double>& factor, const Elements<double>& bias) {
  parallel_for(
      layout.batch * layout.units, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, layout.inner)),
      [&](int64_t begin, int64_t end) {
        std::array<double, 1024> buffer;
        for (int64_t row = begin; row < end; ++row) {
          const auto unit = static_cast<size_t>(row % layout.units);
          const double mean = statistics.mean[unit], scale = factor[unit],
                       shift = bias[static_cast<int64_t>(unit)];
          for (int64_t first = 0; first < layout.inner; first += static_cast<int64_t>(buffer.size())) {
            const std::span block(buffer.data(),
                                  std::min(buffer.size(), static_cast<size_t>(layout.inner - first)));
            x.read_doubles(row * layout.inner + first, block);
            for (double& value : block) value = (value - mean) * scale + shift;
            y.write_doubles(row * layout.inner + first, block);
          }
        }
      });
}

void store_running(ReferenceContext& context, const Statistics& batch) {
  const auto momentum = static_cast<double>(context.attribute<float>("momentum", 0.9F));
  const auto blend = [&](size_t input, const std::vector<double>& now) {
    std::vector<double> running = context.in(input).to_doubles();
    for (size_t i = 0; i < now.size(); ++i) running[i] = running[i] * momentum + now[i] * (1 - momentum);
    return running;
  };
  context.store(1, blend(3, batch.mean));
  context.store(2, blend(4, batch.variance));
  context.store(3, batch.mean);
  context.store(4, batch.variance);
}

void reference_batch_normalization(ReferenceContext& context) {
  const Tensor& x = context.in(0);
  const Layout layout(context);
  const bool training = is_training(context);
  const Statistics statistics = training ? batch_statistics(x, layout)
                                         : Statistics{context.in(3).to_doubles(), context.in(4).to_doubles()};
  const auto epsilon = static_cast<double>(real_attribute(context.node(), "epsilon"));
  std::vector<double> factor = context.in(1).to_doubles();
  for (size_t i = 0; i < factor.size(); ++i) factor[i] /= std::sqrt(statistics.variance[i] + epsilon);
  normalise(x, context.allocate(0), layout, statistics, factor, context.reals(2));
  if (training) {
    store_running(context, statistics);
  } else {
    // Not asked to train, but asked for statistics: they are unchanged.
    for (size_t output = 1; output < 5; ++output) context.emit(output, context.in(output % 2 == 1 ? 3 : 4));
  }
}

}  // namespace

void register_batch_normalization(OpRegistry& registry) {
  registry.add({.op = "BatchNormalization",
                .operands = {Role::kData, Role::kGain, Role::kBias, Role::kMean, Role::kVariance},
                .max_outputs = 5,
                .attributes = {{"consumed_inputs", "INTS"},
                               {"epsilon", "FLOAT"},
                               {"is_test", "INT"},
                               {"momentum", "FLOAT"},
                               {"spatial", "INT"},
                               {"training_mode", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kComputedWide,
                .since = {14, 14},
                .infer = infer_batch_normalization,
                .reference = reference_batch_normalization});
}

}  // namespace vernier::ops
