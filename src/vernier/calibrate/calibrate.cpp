#include "vernier/calibrate/calibrate.h"

#include "vernier/base/hash.h"
#include "vernier/base/interruption.h"
#include "vernier/base/threads.h"
#include "vernier/calibrate/calibration_warnings.h"
#include "vernier/calibrate/observed_engine.h"
#include "vernier/calibrate/range_loss.h"
#include "vernier/calibrate/tensor_statistics.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/build.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/quantized_weights.h"

namespace vernier {

namespace {

uint64_t hash_datum(const Datum& datum, uint64_t seed) {
  if (!datum.is_tensor()) {
    if (datum.sequence) {
      for (const Datum& element : *datum.sequence) seed = hash_datum(element, seed);
    }
    return seed;
  }
  const Tensor& tensor = datum.tensor;
  if (tensor.type() == ElementType::kString) {
    for (const std::string& text : tensor.values<std::string>()) seed = hash_text(text, seed);
    return seed;
  }
  return hash_bytes(tensor.raw(), tensor.byte_size(), seed);
}

// A few samples do not tell errors apart that differ by less. On other samples the ranges of kMse, which clip
// only what costs little, do well more often than those of the other methods.
constexpr double kClearly = 1.1;

// The length of the range.
double reach(const ScaleEntry& entry) {
  const auto codes = code_values(entry);
  return codes.back() - codes.front();
}

double share_within(const RangeHistogram& histogram, const ScaleEntry& entry) {
  const auto codes = code_values(entry);
  return histogram.count_within(codes.front(), codes.back()) / static_cast<double>(histogram.count());
}

// The layers whose weights are worth a scale for each block.
std::map<std::string, int64_t> weight_blocks(const Model& model, int64_t block) {
  std::map<std::string, int64_t> blocks;
  const auto typed = clone(*model.graph);
  ops::infer_types(*typed);
  for_each_graph(*typed, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (!has_block_weights(*node)) continue;
      const Dims dims = known_content(node->input(1))->dims();
      if (dims[1 - static_cast<size_t>(output_axis(*node, 2))] >= block) blocks[node->name] = block;
    }
  });
  return blocks;
}

class CalibrationRun {
 public:
  CalibrationRun(const Model& model, const CalibrateOptions& options)
      : options_(options), model_(model), range_(options.range), engine_(model, options.all_floats) {
    if (engine_.values().empty())
      throw usage_error("the model has nothing that int8 quantizes: no Conv, MatMul or Gemm of floats");
    for (const Value* value : engine_.values())
      statistics_.emplace(value->name, TensorStatistics(engine_.has_channels(*value)));
    if (options.weight_block > 0) result_.weight_blocks = weight_blocks(model, options.weight_block);
  }

  void run(DataSource& data) {
    while (auto sample = next(data)) {
      ++result_.samples;
      if (options_.progress) options_.progress(result_.samples, sample->origin);
      const uint64_t hash = hash_sample(sample->inputs, options_.seed);
      const bool held_out = hash % 2 == 1;
      if (held_out) ++result_.held_out;
      try {
        engine_.run(sample->inputs,
                    [&](const std::string& name, const Tensor& tensor) { add(name, tensor, held_out); });
      } catch (Error& error) {
        if (error.node().empty()) error.in_file(sample->origin);  // else it is the model that fails
        throw;
      }
      if (options_.try_methods) trial_samples_.offer(hash, sample->inputs);
    }
    if (result_.samples == 0) throw bad_input("the data hold no sample");
  }

  CalibrationResult finish() {
    if (options_.try_methods) choose_method();
    result_.range = range_;
    result_.tensors.resize(engine_.values().size());
    for_each_value([&](size_t i, const std::string& name) {
      result_.tensors[i] = calibrated(name, statistics_.at(name));
    });
    result_.warnings = calibration_warnings(result_, engine_.hidden_nodes());
    if (options_.weight_block > 0 && result_.weight_blocks.empty())
      result_.warnings.push_back(
          fmt::format("no MatMul or Gemm sums up {} constant weights or more, so none becomes i4",
                      options_.weight_block));
    return std::move(result_);
  }

 private:
  // Whoever interrupts gets the ranges of the samples so far, of which there must be one.
  std::optional<Sample> next(DataSource& data) {
    result_.interrupted = is_interrupted() && result_.samples > 0;
    return result_.interrupted ? std::nullopt : data.next();
  }

  // In several threads.
  template <class Visit>
  void for_each_value(const Visit& visit) const {
    const auto& values = engine_.values();
    parallel_for(static_cast<int64_t>(values.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) visit(i, values[i]->name);
    });
  }

  void choose_method() {
    const auto scales_by = [&](RangeMethod method) {
      RangeChoice choice = range_;
      choice.method = method;
      std::vector<ScaleEntry> entries(engine_.values().size());
      for_each_value([&](size_t i, const std::string& name) {
        entries[i] = choose_range(statistics_.at(name).all(), choice);
      });
      Scales scales;
      for (size_t i = 0; i < entries.size(); ++i) scales[engine_.values()[i]->name] = entries[i];
      return scales;
    };
    if (!result_.interrupted) result_.trials = vernier::try_methods(model_, trial_samples_, scales_by);
    range_.method = RangeMethod::kMse;
    for (const MethodTrial& trial : result_.trials) {
      if (trial.method != RangeMethod::kMse) continue;
      const MethodTrial& best = result_.trials.front();
      if (trial.error > kClearly * best.error) range_.method = best.method;
    }
  }

  void add(const std::string& name, const Tensor& tensor, bool held_out) {
    try {
      statistics_.at(name).add(tensor, held_out);
    } catch (const Error& error) {
      throw bad_input("tensor '{}' {}", name, error.message())
          .advise("remove the sample, or mend its preprocessing or the model");
    }
  }

  CalibratedTensor calibrated(const std::string& name, const TensorStatistics& statistics) const {
    const RangeHistogram all = statistics.all();
    CalibratedTensor tensor{name, choose_range(all, range_), all.low(), all.high(), all.count()};
    tensor.channels = statistics.channels();
    tensor.dead_channels = statistics.dead_channels();
    tensor.constant = statistics.is_constant();
    if (all.count() > 0) tensor.clipped = std::max(1 - share_within(all, tensor.entry), 0.0);
    const RangeHistogram &kept = statistics.kept(), &held_out = statistics.held_out();
    if (kept.count() == 0 || held_out.count() == 0) return tensor;
    const ScaleEntry half = choose_range(kept, range_), other = choose_range(held_out, range_);
    tensor.coverage = share_within(held_out, half);
    const double one = reach(half), another = reach(other);
    tensor.spread = std::abs(one - another) / std::max(one, another);
    return tensor;
  }

  const CalibrateOptions& options_;
  const Model& model_;
  RangeChoice range_;
  ObservedEngine engine_;
  TrialSamples trial_samples_;
  std::map<std::string, TensorStatistics> statistics_;
  CalibrationResult result_;
};

}  // namespace

uint64_t hash_sample(const NamedData& inputs, uint64_t seed) {
  uint64_t hash = hash_text("sample", seed);
  for (const auto& [name, datum] : inputs) hash = hash_datum(datum, hash_text(name, hash));
  return hash;
}

CalibrationResult calibrate(const Model& model, DataSource& data, const CalibrateOptions& options) {
  CalibrationRun run(model, options);
  run.run(data);
  return run.finish();
}

Scales scales_of(const CalibrationResult& result) {
  Scales scales;
  for (const CalibratedTensor& tensor : result.tensors) scales[tensor.name] = tensor.entry;
  return scales;
}

}  // namespace vernier
