#include "vernier/compare/compare.h"

#include <unordered_map>

#include "vernier/compare/value_judge.h"

namespace vernier {

namespace {

using Entries = std::unordered_map<std::string_view, const TraceEntry*>;

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

Verdict overall(const std::vector<TensorComparison>& tensors) {
  std::optional<Verdict> outputs;
  bool inner_failure = false;
  for (const TensorComparison& tensor : tensors) {
    if (tensor.is_output)
      outputs = worst(outputs.value_or(Verdict::kPass), tensor.verdict);
    else
      inner_failure |= tensor.verdict == Verdict::kFail;
  }
  return inner_failure ? Verdict::kFail : outputs.value_or(Verdict::kNotCompared);
}

bool has_output(const std::vector<TensorComparison>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.is_output; });
}

}  // namespace

Comparison::Comparison(CompareOptions options)
    : options_(std::make_shared<CompareOptions>(std::move(options))) {
  so_far_.random_data = options_->random_data;
}
Comparison::Comparison(Comparison&&) noexcept = default;
Comparison::~Comparison() = default;

void Comparison::fail(std::string reason) {
  failed_ = true;
  if (!contains(so_far_.reasons, reason)) so_far_.reasons.push_back(std::move(reason));
}

ValueJudge& Comparison::judge(const std::string& value) {
  const auto [position, fresh] = index_.emplace(value, judges_.size());
  if (fresh) judges_.push_back(std::make_unique<ValueJudge>(value, *options_));
  return *judges_[position->second];
}

void Comparison::note(const Trace& trace, std::string& runner) {
  if (runner.empty()) runner = trace.runner;
  if (runner != trace.runner) fail(fmt::format("traces of '{}' and '{}' are mixed", runner, trace.runner));
  for (const std::string& text : trace.notes) {
    const std::string said = fmt::format("{}: {}", trace.runner, text);
    if (!contains(so_far_.notes, said)) so_far_.notes.push_back(said);
  }
}

void Comparison::add(const Trace& reference, const Trace& actual, const DecisionsOfValues& decisions) {
  ++so_far_.samples;
  note(reference, so_far_.reference);
  note(actual, so_far_.actual);
  if (reference.sample != actual.sample) {
    return fail(fmt::format("sample {} of the reference met sample {}", reference.sample, actual.sample));
  }
  same_run_ |= !reference.run_id.empty() && reference.run_id == actual.run_id;
  const auto by_name = [&](const Trace& trace) {
    Entries entries;
    for (const TraceEntry& entry : trace.entries) {
      if (!entries.emplace(entry.value, &entry).second)
        fail(fmt::format("'{}' shows '{}' twice", trace.runner, entry.value));
    }
    return entries;
  };
  const Entries expected = by_name(reference), got = by_name(actual);
  for (const TraceEntry& entry : reference.entries) {
    const auto match = got.find(entry.value);
    ValueJudge& value = judge(entry.value);
    value.add(&entry, match == got.end() ? nullptr : match->second, reference.sample);
    if (const auto of = decisions.find(entry.value); of != decisions.end()) value.decided_by(of->second);
  }
  for (const TraceEntry& entry : actual.entries) {
    if (!expected.contains(entry.value)) judge(entry.value).add(nullptr, &entry, actual.sample);
  }
}

void Comparison::add_failure(Side side, size_t sample, const std::string& why) {
  fail(fmt::format("the {} has no sample {}: {}", side == Side::kReference ? "reference" : "actual run",
                   sample, why));
}

void Comparison::set_noise_floor(std::map<std::string, NoiseFloor> noise_floor) {
  options_->noise_floor = std::move(noise_floor);
}

void Comparison::set_derived_bounds(std::map<std::string, DerivedBound> bounds) {
  options_->derived_bounds = std::move(bounds);
}

void Comparison::set_exceeded_bounds(std::map<std::string, DerivedBound> bounds) {
  options_->exceeded_bounds = std::move(bounds);
}

ComparisonResult Comparison::result() const {
  ComparisonResult result = so_far_;
  for (const auto& judge : judges_) result.tensors.push_back(judge->result());
  result.verdict = overall(result.tensors);
  const auto say = [&](Verdict verdict, std::string reason) {
    result.verdict = worst(result.verdict, verdict);
    result.reasons.push_back(std::move(reason));
  };
  if (failed_) result.verdict = Verdict::kFail;
  if (result.samples == 0)
    say(Verdict::kNotCompared, "no sample was compared");
  else if (!has_output(result.tensors))
    say(Verdict::kNotCompared, "no output was compared");
  if (same_run_) say(Verdict::kMistrusted, "a run is compared with itself");
  for (const auto* option : {&options_->tolerances.atol, &options_->tolerances.rtol}) {
    for (const auto& [name, value] : option->named) {
      if (!index_.contains(name))
        say(Verdict::kFail, fmt::format("a tolerance is given for '{}', which no run shows", name));
    }
  }
  for (const TensorComparison& tensor : result.tensors) {
    if (!tensor.is_output || tensor.type == ElementType::kUndefined) continue;
    std::string unused = options_->tolerances.not_applied(tensor.value, tensor.type);
    if (!unused.empty()) result.notes.push_back(std::move(unused));
  }
  for (size_t i = 0; i < result.tensors.size() && !result.first_difference; ++i) {
    if (result.tensors[i].verdict == Verdict::kFail && result.tensors[i].samples > 0)
      result.first_difference = i;
  }
  return result;
}

ComparisonResult compare(std::span<const Trace> reference, std::span<const Trace> actual,
                         const CompareOptions& options) {
  using Side = Comparison::Side;
  Comparison comparison(options);
  std::map<size_t, std::pair<const Trace*, const Trace*>> samples;
  const auto place = [&](const Trace& trace, const Trace*& slot, Side side) {
    if (slot != nullptr) comparison.add_failure(side, trace.sample, "it is there twice");
    slot = &trace;
  };
  for (const Trace& trace : reference) place(trace, samples[trace.sample].first, Side::kReference);
  for (const Trace& trace : actual) place(trace, samples[trace.sample].second, Side::kActual);
  for (const auto& [sample, pair] : samples) {
    if (pair.first == nullptr)
      comparison.add_failure(Side::kReference, sample, "it is missing");
    else if (pair.second == nullptr)
      comparison.add_failure(Side::kActual, sample, "it is missing");
    else
      comparison.add(*pair.first, *pair.second);
  }
  return comparison.result();
}

ComparisonResult compare(const Trace& reference, const Trace& actual, const CompareOptions& options) {
  return compare(std::span(&reference, 1), std::span(&actual, 1), options);
}

}  // namespace vernier
