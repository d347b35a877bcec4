#include "vernier/evaluate/part_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "vernier-evaluation-part";

// JSON has no NaN and no Inf.
Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_of(const JsonValue& value) {
  if (!value.is_string()) return value.real();
  const std::string& text = value.string();
  if (text == "nan") return std::nan("");
  if (text == "inf" || text == "-inf") return text == "inf" ? INFINITY : -INFINITY;
  throw bad_input("'{}' is no number", text);
}

// [value, weight, margin, numbers…]: there are many.
Json row_json(const RowScore& row) {
  Json json = {number_json(row.value), number_json(row.weight), number_json(row.margin)};
  for (const double each : row.numbers) json.push_back(number_json(each));
  return json;
}

RowScore row_of(const JsonValue& json) {
  const auto& items = json.items();
  if (items.size() < 3) throw bad_input("a row has {} numbers, and not 3 or more", items.size());
  RowScore row{number_of(items[0]), number_of(items[1]), number_of(items[2]), {}};
  for (size_t i = 3; i < items.size(); ++i) row.numbers.push_back(number_of(items[i]));
  return row;
}

Json sample_json(const SampleScores& sample) {
  Json scores = Json::array();
  for (const auto& of_metric : sample.scores) {
    Json runners = Json::array();
    for (const RowScores& rows : of_metric) {
      Json list = Json::array();
      for (const RowScore& row : rows) list.push_back(row_json(row));
      runners.push_back(std::move(list));
    }
    scores.push_back(std::move(runners));
  }
  return {{"index", sample.index},
          {"origin", sample.origin},
          {"inputs", hash_to_text(sample.inputs_hash)},
          {"failures", sample.failures},
          {"scores", std::move(scores)}};
}

uint64_t hash_of_text(const std::string& text) {
  size_t end = 0;
  const uint64_t hash = text.size() == 16 ? std::stoull(text, &end, 16) : 0;
  if (end != 16) throw bad_input("'{}' is no hash", text);
  return hash;
}

std::vector<std::string> texts_of(const JsonValue& json) {
  std::vector<std::string> texts;
  for (const JsonValue& each : json.items()) texts.push_back(each.string());
  return texts;
}

std::map<std::string, std::string> map_of(const JsonValue& json) {
  std::map<std::string, std::string> map;
  for (const auto& [name, value] : json.members()) map[name] = value.string();
  return map;
}

SampleScores sample_of(const JsonValue& json, size_t metrics, size_t runners) {
  SampleScores sample;
  sample.index = json.at("index").size();
  sample.origin = json.at("origin").string();
  sample.inputs_hash = hash_of_text(json.at("inputs").string());
  sample.failures = texts_of(json.at("failures"));
  for (const JsonValue& of_metric : json.at("scores").items()) {
    auto& by_runner = sample.scores.emplace_back();
    for (const JsonValue& rows : of_metric.items()) {
      RowScores& list = by_runner.emplace_back();
      for (const JsonValue& row : rows.items()) list.push_back(row_of(row));
    }
    if (by_runner.size() != runners)
      throw bad_input("sample {} has scores of {} runners, not {}", sample.index, by_runner.size(), runners);
  }
  if (sample.scores.size() != metrics || sample.failures.size() != runners)
    throw bad_input("sample {} has scores of {} metrics, not {}", sample.index, sample.scores.size(),
                    metrics);
  return sample;
}

Json subject_json(const EvaluationSubject& subject) {
  Json json = {{"model", subject.model},
               {"model_hash", subject.model_hash},
               {"build", subject.build},
               {"options", subject.options},
               {"data_format", subject.data_format},
               {"data_hash", hash_to_text(subject.data_hash)},
               {"seed", subject.seed},
               {"against", subject.against},
               {"classes", subject.classes}};
  json["runners"] = Json::array();
  for (const auto& [name, description] : subject.runners)
    json["runners"].push_back({{"name", name}, {"description", description}});
  json["metrics"] = Json::array();
  for (const MetricOptions& each : subject.metrics)
    json["metrics"].push_back({{"name", each.name},
                               {"output", each.output},
                               {"outputs", each.outputs},
                               {"threshold", each.threshold},
                               {"match_iou", each.match_iou}});
  json["gates"] = Json::array();
  for (const auto& [metric, drop] : subject.gates)
    json["gates"].push_back({{"metric", metric}, {"drop", drop}});
  return json;
}

EvaluationSubject subject_of(const JsonValue& json) {
  EvaluationSubject subject;
  subject.model = json.at("model").string();
  subject.model_hash = json.at("model_hash").string();
  subject.build = json.at("build").string();
  subject.options = map_of(json.at("options"));
  subject.data_format = json.at("data_format").string();
  subject.data_hash = hash_of_text(json.at("data_hash").string());
  subject.seed = json.at("seed").size();
  subject.against = json.at("against").size();
  subject.classes = texts_of(json.at("classes"));
  for (const JsonValue& each : json.at("runners").items())
    subject.runners.push_back({each.at("name").string(), map_of(each.at("description"))});
  for (const JsonValue& each : json.at("metrics").items())
    subject.metrics.push_back({each.at("name").string(), each.at("output").string(),
                               texts_of(each.at("outputs")), each.at("threshold").real(),
                               each.at("match_iou").real()});
  for (const JsonValue& each : json.at("gates").items())
    subject.gates.push_back({each.at("metric").string(), each.at("drop").real()});
  if (subject.against >= subject.runners.size()) throw bad_input("there is no runner {}", subject.against);
  return subject;
}

}  // namespace

std::string part_json(const EvaluationPart& part) {
  Json samples = Json::array();
  for (const SampleScores& each : part.scores) samples.push_back(sample_json(each));
  const Json root = {{"schema", kSchema},
                     {"version", 1},
                     {"subject", subject_json(part.subject)},
                     {"environment", part.environment},
                     {"shard", {{"index", part.shard.index}, {"count", part.shard.count}}},
                     {"samples", part.samples},
                     {"scores", std::move(samples)}};
  return root.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

EvaluationPart parse_part(std::string_view text) {
  const JsonValue root = JsonValue::parse(text);
  const JsonValue* schema = root.find("schema");
  if (schema == nullptr || !schema->is_string() || schema->string() != kSchema)
    throw bad_input("is no partial result of `vernier evaluate --shard`");
  if (root.at("version").integer() != 1)
    throw unsupported("has version {}, and 1 is read", root.at("version").integer());
  EvaluationPart part;
  part.subject = subject_of(root.at("subject"));
  part.environment = map_of(root.at("environment"));
  part.shard = {root.at("shard").at("index").size(), root.at("shard").at("count").size()};
  constexpr size_t kMostShards = 1'000'000;
  if (part.shard.index < 1 || part.shard.index > part.shard.count || part.shard.count > kMostShards)
    throw bad_input("there is no shard {} of {}", part.shard.index, part.shard.count);
  part.samples = root.at("samples").size();
  for (const JsonValue& each : root.at("scores").items())
    part.scores.push_back(sample_of(each, part.subject.metrics.size(), part.subject.runners.size()));
  return part;
}

EvaluationPart read_part(const std::filesystem::path& file) {
  try {
    return parse_part(read_file(file));
  } catch (Error& error) {
    throw error.in_file(file);
  }
}

}  // namespace vernier
