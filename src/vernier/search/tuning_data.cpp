#include "vernier/search/tuning_data.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/base/hash.h"
#include "vernier/compare/distance.h"
#include "vernier/data/input_shapes.h"
#include "vernier/ir/hash.h"

namespace vernier {

namespace {

constexpr size_t kEnough = 8, kChunks = 16, kScreened = 4;
// Sums in double may differ by this much, because their order depends on the number of rows.
constexpr double kSame = 1e-6;

// The first dimension, if it is a name.
std::optional<Dim> batch_of(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape || value.type.tensor.shape->empty())
    return std::nullopt;
  const Dim& dim = value.type.tensor.shape->front();
  return dim.is_constant() ? std::nullopt : std::optional(dim);
}

// Whether all inputs and outputs have the rows of one batch of unknown size.
bool has_batch(const Model& model) {
  std::optional<Dim> batch;
  const auto agrees = [&](const Value* value) {
    const auto dim = batch_of(*value);
    if (dim && !batch) batch = dim;
    return dim && *dim == *batch;
  };
  const auto inputs = required_inputs(model);
  const auto& outputs = model.graph->outputs;
  return std::all_of(inputs.begin(), inputs.end(), agrees) &&
         std::all_of(outputs.begin(), outputs.end(), agrees);
}

Tensor rows(const Tensor& tensor, int64_t first, int64_t last) {
  Dims dims = tensor.dims();
  const size_t row = tensor.byte_size() / static_cast<size_t>(dims.front());
  dims.front() = last - first;
  Tensor part(tensor.type(), dims);
  std::memcpy(part.mutable_raw(), tensor.bytes().data() + row * static_cast<size_t>(first), part.byte_size());
  return part;
}

int64_t batch_size(const NamedData& inputs) {
  return inputs.empty() ? 0 : inputs.begin()->second.as_tensor().dims().front();
}

// Whether the reference makes the same of rows alone as of the whole.
bool treats_rows_alone(const Model& model, const NamedData& whole, const NamedData& part, int64_t count) {
  ReferenceRunner reference({{}, &model});
  const Trace all = reference.run(whole, {}), alone = reference.run(part, {});
  for (const TraceEntry& entry : all.entries) {
    const TraceEntry* other = alone.find(entry.value);
    if (other == nullptr || !entry.datum.is_tensor() || !other->datum.is_tensor()) return false;
    const Tensor &a = entry.datum.tensor, &b = other->datum.tensor;
    if (a.rank() == 0 || a.dims().front() != batch_size(whole) || b.dims().front() != count) return false;
    if (!(relative_l2_of(rows(a, 0, count), b) <= kSame)) return false;
  }
  return true;
}

// Cuts every sample into pieces, or gives nothing where that is not possible.
std::vector<Sample> cut(const Model& model, const std::vector<Sample>& samples) {
  if (!has_batch(model)) return {};
  std::vector<Sample> pieces;
  for (const Sample& sample : samples) {
    const int64_t size = batch_size(sample.inputs);
    if (size < 2) return {};
    const int64_t each =
        std::max<int64_t>(1, (size + static_cast<int64_t>(kChunks) - 1) / static_cast<int64_t>(kChunks));
    for (int64_t first = 0; first < size; first += each) {
      const int64_t last = std::min(size, first + each);
      auto inputs = rows_of(model, sample.inputs, first, last);
      if (!inputs) return {};
      if (pieces.empty() && !treats_rows_alone(model, sample.inputs, *inputs, last)) return {};
      pieces.push_back({fmt::format("{}, rows {} to {}", sample.origin, first, last - 1), std::move(*inputs),
                        std::nullopt, sample.drawn});
    }
  }
  return pieces;
}

}  // namespace

std::vector<size_t> TuningData::part(DataPart part) const {
  if (part == DataPart::kHeldOut) return held_out;
  if (part == DataPart::kSelection) return selection;
  return {selection.begin(),
          selection.begin() + static_cast<std::ptrdiff_t>(std::min(kScreened, selection.size()))};
}

std::optional<NamedData> rows_of(const Model& model, const NamedData& inputs, int64_t first, int64_t last) {
  if (!has_batch(model)) return std::nullopt;
  NamedData result;
  for (const auto& [name, datum] : inputs) {
    if (!datum.is_tensor() || datum.tensor.rank() == 0 || datum.tensor.type() == ElementType::kString ||
        datum.tensor.dims().front() < last || datum.tensor.dims().front() != batch_size(inputs))
      return std::nullopt;
    result[name] = rows(datum.tensor, first, last);
  }
  return result;
}

TuningData read_tuning_data(const Model& model, DataSource& source, const SplitOptions& options) {
  TuningData data;
  while (auto sample = source.next()) data.samples.push_back(std::move(*sample));
  if (data.samples.empty()) throw bad_input("the data hold no sample");
  data.timed = data.samples.front().inputs;
  data.random = std::all_of(data.samples.begin(), data.samples.end(),
                            [](const Sample& sample) { return !sample.drawn.empty(); });
  if (data.samples.size() < kEnough) {
    if (auto pieces = cut(model, data.samples); pieces.size() > data.samples.size()) {
      data.notes.push_back(fmt::format(
          "the rows of the data are looked at as {} samples, for the model treats each for itself",
          pieces.size()));
      data.samples = std::move(pieces);
    }
  }
  const size_t count = data.samples.size();
  if (count < 2)
    throw bad_input("the data hold one sample: a plan is chosen on some and confirmed on others")
        .advise("give two samples at least, better some tens");
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  std::mt19937_64 random(options.seed);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  const auto share = static_cast<size_t>(std::lround(options.held_out * static_cast<double>(count)));
  const auto kept = static_cast<std::ptrdiff_t>(std::clamp<size_t>(share, 1, count - 1));
  data.held_out.assign(order.begin(), order.begin() + kept);
  data.selection.assign(order.begin() + kept, order.end());
  return data;
}

uint64_t hash_of(const TuningData& data) {
  uint64_t sum = data.samples.size();
  for (const Sample& sample : data.samples) {
    for (const auto& [name, datum] : sample.inputs) {
      sum = hash_combine(sum, hash_text(name));
      if (datum.is_tensor()) sum = hash_combine(sum, hash_tensor(datum.tensor));
    }
  }
  for (const size_t each : data.held_out) sum = hash_combine(sum, each);
  return sum;
}

}  // namespace vernier
