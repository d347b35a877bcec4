#include "vernier/run/measured_noise.h"

#include <algorithm>

#include "vernier/compare/distance.h"

namespace vernier {

std::map<std::string, NoiseFloor> noise_floor(const Trace& reference, const Trace& noisy) {
  std::map<std::string, NoiseFloor> floors;
  for (const TraceEntry& entry : reference.entries) {
    const TraceEntry* other = noisy.find(entry.value);
    if (other == nullptr || !entry.datum.is_tensor() || !other->datum.is_tensor()) continue;
    const Tensor &a = entry.datum.tensor, &b = other->datum.tensor;
    if (!is_float(a.type()) || !is_float(b.type()) || a.dims() != b.dims()) continue;
    if (a.size() == 0) continue;
    // A value that noise makes infinite, or no number, has no floor: nothing is within it.
    const Distances moved = distances_of(a, b);
    NoiseFloor floor{moved.relative_l2, moved.max_abs, noisy.unit_roundoff};
    floors[entry.value] = floor;
  }
  return floors;
}

namespace {

// Runs with noise that the failing values are worth: the largest move of a value of few elements is known
// from many runs only.
uint64_t noise_runs_worth(const ComparisonResult& failing, uint64_t least) {
  constexpr int64_t kEnoughElements = 128;  // over all runs
  constexpr uint64_t kMostTimes = 8;
  int64_t fewest = kEnoughElements;
  for (const TensorComparison& tensor : failing.tensors) {
    if (tensor.verdict == Verdict::kFail) fewest = std::min(fewest, element_count(tensor.dims));
  }
  const auto enough = static_cast<uint64_t>(kEnoughElements / std::max<int64_t>(1, fewest));
  return std::clamp(enough, least, kMostTimes * least);
}

// Whether noise has anything to decide: not where everything that fails does so by a tolerance of the user.
bool noise_may_decide(const ComparisonResult& result) {
  return std::any_of(result.tensors.begin(), result.tensors.end(), [](const TensorComparison& tensor) {
    return tensor.verdict != Verdict::kPass && !tensor.tolerance.by_user;
  });
}

void enlarge(std::map<std::string, NoiseFloor>& floors, const std::map<std::string, NoiseFloor>& moves) {
  for (const auto& [value, floor] : moves) {
    NoiseFloor& largest = floors[value];
    largest.relative_l2 = std::max(largest.relative_l2, floor.relative_l2);
    largest.max_abs = std::max(largest.max_abs, floor.max_abs);
    largest.unit_roundoff = std::max(largest.unit_roundoff, floor.unit_roundoff);
  }
}

bool same_decisions(const Trace& a, const Trace& b, const std::set<std::string>& decided) {
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const TraceEntry& entry) {
    if (!decided.contains(entry.value) || !entry.datum.is_tensor()) return true;
    const TraceEntry* other = b.find(entry.value);
    return other != nullptr && other->datum.is_tensor() && entry.datum.tensor.identical(other->datum.tensor);
  });
}

NamedData decisions_in(const Trace& trace, const std::set<std::string>& decided) {
  NamedData decisions;
  for (const TraceEntry& entry : trace.entries) {
    if (decided.contains(entry.value) && entry.datum.is_tensor()) decisions[entry.value] = entry.datum;
  }
  return decisions;
}

}  // namespace

void MeasuredNoise::begin(size_t sample) {
  if (sample_ == sample) return;
  sample_ = sample;
  floor_.clear();
  steady_.clear();
  runs_ = 0;
  quiet_.reset();
}

// The reference without noise, with these taps.
const Trace& MeasuredNoise::quiet(const Sample& sample, const Trace& reference,
                                  const std::vector<std::string>& taps) {
  Runner& runner = *job_.runners[job_.against];
  if (taps.size() == job_.taps.size() || !runner.can_repeat()) return reference;
  if (!quiet_) quiet_ = runner.run(sample.inputs, taps);
  return *quiet_;
}

bool MeasuredNoise::measure(const Sample& sample, const Trace& reference,
                            const std::vector<std::string>& taps, const std::set<std::string>& decided,
                            const ComparisonResult& so_far) {
  if (has_run() && !noise_may_decide(so_far)) return false;
  if (runs_ >= noise_runs_worth(so_far, job_.noise_runs)) return false;
  const uint64_t seed = job_.seed + runs_++;
  try {
    const auto noisy = job_.runners[job_.against]->run_with_noise(sample.inputs, taps, seed);
    if (!noisy) return false;
    const Trace& still = quiet(sample, reference, taps);
    const auto moves = noise_floor(still, *noisy);
    enlarge(floor_, moves);
    if (same_decisions(still, *noisy, decided)) {
      enlarge(steady_, moves);
    } else if (const auto given = job_.runners[job_.against]->run_with_values(
                   sample.inputs, taps, decisions_in(still, decided), seed)) {
      enlarge(steady_, noise_floor(still, *given));
    }
  } catch (const Error& error) {
    failure_ = error.what();  // the verdict stands on the tolerance alone
    return false;
  }
  for (const TraceEntry& entry : reference.entries) {
    if (!entry.is_output || !floor_.contains(entry.value)) continue;
    double& largest = of_outputs_[entry.value];
    largest = std::max(largest, floor_.at(entry.value).relative_l2);
  }
  return true;
}

}  // namespace vernier
