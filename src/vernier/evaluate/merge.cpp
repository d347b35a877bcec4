#include <algorithm>

#include "vernier/base/error.h"
#include "vernier/evaluate/part_file.h"

namespace vernier {

namespace {

// The first respect in which two parts are of different evaluations; "" for none.
std::string difference(const EvaluationPart& a, const EvaluationPart& b) {
  const EvaluationSubject &one = a.subject, &other = b.subject;
  if (one.model_hash != other.model_hash) return "model";
  if (one.build != other.build) return "build of Vernier";
  if (one.data_hash != other.data_hash || one.data_format != other.data_format ||
      one.classes != other.classes || a.samples != b.samples)
    return "data";
  for (const auto& [name, value] : one.options) {
    const auto found = other.options.find(name);
    if (found == other.options.end() || found->second != value) return "option --" + name;
  }
  if (one.options.size() != other.options.size() || one.seed != other.seed || one.gates != other.gates)
    return "options";
  if (one.runners != other.runners || one.against != other.against) return "runners";
  const auto same = [](const MetricOptions& left, const MetricOptions& right) {
    return left.name == right.name && left.output == right.output && left.threshold == right.threshold &&
           left.match_iou == right.match_iou;
  };
  if (!std::equal(one.metrics.begin(), one.metrics.end(), other.metrics.begin(), other.metrics.end(), same))
    return "metrics";
  return a.shard.count != b.shard.count ? "number of shards" : "";
}

void require_fitting(const std::vector<NamedPart>& parts) {
  const NamedPart& first = parts.front();
  std::vector<const NamedPart*> shards(first.part.shard.count, nullptr);
  for (const NamedPart& each : parts) {
    if (const std::string what = difference(first.part, each.part); !what.empty())
      throw bad_input("is of another {} than {}", what, first.file)
          .in_file(each.file)
          .advise("merge the shards of one evaluation");
    const NamedPart*& place = shards[each.part.shard.index - 1];
    if (place != nullptr)
      throw bad_input("is shard {} of {}, as is {}", each.part.shard.index, each.part.shard.count,
                      place->file)
          .in_file(each.file);
    place = &each;
    for (const SampleScores& sample : each.part.scores) {
      if (!each.part.shard.holds(sample.index) || sample.index >= each.part.samples)
        throw bad_input("holds sample {}, which is not of shard {}", sample.index, each.part.shard.index)
            .in_file(each.file);
    }
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i] == nullptr)
      throw bad_input("shard {} of {} is missing", i + 1, shards.size())
          .advise(fmt::format("run it again: --shard {}/{}", i + 1, shards.size()));
  }
}

}  // namespace

EvaluationPart merge_parts(std::vector<NamedPart> parts) {
  if (parts.empty()) throw usage_error("there is nothing to merge");
  require_fitting(parts);
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.part.shard.index < b.part.shard.index; });
  EvaluationPart whole = std::move(parts.front().part);
  whole.shard = {};
  for (size_t i = 1; i < parts.size(); ++i) {
    auto& scores = parts[i].part.scores;
    std::move(scores.begin(), scores.end(), std::back_inserter(whole.scores));
    for (const auto& [name, value] : parts[i].part.environment) {
      std::string& known = whole.environment[name];
      if (("; " + known + "; ").find("; " + value + "; ") == std::string::npos)
        known += (known.empty() ? "" : "; ") + value;
    }
  }
  std::sort(whole.scores.begin(), whole.scores.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  for (size_t i = 0; i < whole.samples; ++i) {
    if (i >= whole.scores.size() || whole.scores[i].index != i)
      throw bad_input("sample {} of {} is in no part, or in two", i, whole.samples)
          .advise("run its shard again");
  }
  if (whole.scores.size() != whole.samples)
    throw bad_input("there are {} samples, and the data have {}", whole.scores.size(), whole.samples);
  return whole;
}

}  // namespace vernier
