#include "vernier/search/probe_memory.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "vernier-tune-state";
constexpr std::chrono::seconds kBetweenSaves{1};

// "selection f32 bf16*12 f32"
std::string key_of(const TypeAssignment& types, DataPart part) {
  std::string text = part == DataPart::kScreening   ? "screening"
                     : part == DataPart::kSelection ? "selection"
                                                    : "held-out";
  for (size_t i = 0; i < types.size();) {
    size_t same = i;
    while (same < types.size() && types[same] == types[i]) ++same;
    text += fmt::format(" {}", element_type_short_name(types[i]));
    if (same - i > 1) text += fmt::format("*{}", same - i);
    i = same;
  }
  return text;
}

// JSON has no infinity.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

double number_of(const JsonValue& json) {
  return json.is_null() ? std::numeric_limits<double>::infinity() : json.real();
}

Json score_json(const PlanScore& score) {
  Json json = {{"error", number(score.error)},
               {"deviation", number(score.deviation)},
               {"samples", score.samples},
               {"beyond", score.beyond}};
  if (score.metric) json["metric"] = *score.metric;
  if (score.loss) json["loss"] = {score.loss->low, score.loss->high};
  if (!score.failure.empty()) json["failure"] = score.failure;
  return json;
}

PlanScore score_of(const JsonValue& json) {
  PlanScore score;
  score.error = number_of(json.at("error"));
  score.deviation = number_of(json.at("deviation"));
  score.samples = json.at("samples").size();
  score.beyond = json.at("beyond").size();
  if (const JsonValue* metric = json.find("metric")) score.metric = metric->real();
  if (const JsonValue* loss = json.find("loss"))
    score.loss = Interval{loss->items().at(0).real(), loss->items().at(1).real()};
  if (const JsonValue* failure = json.find("failure")) score.failure = failure->string();
  return score;
}

ElementType type_of(const std::string& text) {
  const auto type = parse_element_type(text);
  if (!type) throw bad_input("'{}' is no element type", text);
  return *type;
}

UnitTimes times_of(const JsonValue& json, size_t units) {
  UnitTimes times;
  for (const auto& [name, entry] : json.members()) {
    const ElementType type = type_of(name);
    times.whole[type] = entry.at("whole_ms").real();
    for (const JsonValue& each : entry.at("units_ms").items()) times.units[type].push_back(each.real());
    if (times.units[type].size() != units)
      throw bad_input("'times' of {} has {} units, and the model {}", name, times.units[type].size(), units);
  }
  return times;
}

}  // namespace

ProbeMemory::ProbeMemory(PlanProber& prober, std::filesystem::path file, std::string subject)
    : prober_(prober), file_(std::move(file)), subject_(std::move(subject)) {
  std::error_code error;
  if (file_.empty() || !std::filesystem::exists(file_, error)) return;
  try {
    load();
  } catch (Error& damage) {
    throw damage.in_file(file_).advise("give another --state file, or remove this one");
  }
}

void ProbeMemory::load() {
  const JsonValue root = JsonValue::parse(read_file(file_));
  const JsonValue *schema = root.find("schema"), *version = root.find("version");
  if (schema == nullptr || schema->string() != kSchema || version == nullptr || version->integer() != 1)
    throw bad_input("this is no state of a search of version 1");
  if (root.at("subject").string() != subject_)
    throw bad_input("this is the state of another search: model, data, target, options or machine differ");
  times_ = times_of(root.at("times"), units().size());
  for (const JsonValue& note : root.at("notes").items()) times_.notes.push_back(note.string());
  for (const auto& [key, score] : root.at("scores").members()) {
    try {
      scores_[key] = score_of(score);
    } catch (const Error& damage) {
      throw bad_input("score '{}': {}", key, damage.message());
    }
  }
  remembered_ = scores_.size();
}

void ProbeMemory::save() {
  saved_ = std::chrono::steady_clock::now();
  if (file_.empty() || !changed_) return;
  Json root = {{"schema", kSchema}, {"version", 1}, {"subject", subject_}, {"times", Json::object()}};
  for (const auto& [type, whole] : times_.whole)
    root["times"][std::string(element_type_short_name(type))] = {{"whole_ms", whole},
                                                                 {"units_ms", times_.units.at(type)}};
  root["notes"] = times_.notes;
  root["scores"] = Json::object();
  for (const auto& [key, score] : scores_) root["scores"][key] = score_json(score);
  write_file(file_, root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  changed_ = false;
}

bool ProbeMemory::has_all_times() const {
  if (!times_.whole.contains(ElementType::kFloat)) return false;
  const auto is_known = [&](ElementType type) {
    const std::string left_out = std::string(element_type_short_name(type)) + " is left out";
    return times_.whole.contains(type) ||
           std::any_of(times_.notes.begin(), times_.notes.end(),
                       [&](const auto& note) { return note.starts_with(left_out); });
  };
  return std::all_of(units().begin(), units().end(), [&](const SearchUnit& unit) {
    return std::all_of(unit.types.begin(), unit.types.end(), is_known);
  });
}

UnitTimes ProbeMemory::times() {
  if (has_all_times()) return times_;
  times_ = prober_.times();
  changed_ = true;
  save();
  return times_;
}

std::optional<PlanScore> ProbeMemory::score(const TypeAssignment& types, DataPart part) {
  const std::string key = key_of(types, part);
  if (const auto found = scores_.find(key); found != scores_.end()) return found->second;
  auto scored = prober_.score(types, part);
  if (!scored) return scored;
  scores_[key] = *scored;
  changed_ = true;
  if (std::chrono::steady_clock::now() - saved_ > kBetweenSaves) save();
  return scored;
}

std::vector<RacedPlan> ProbeMemory::race(const std::vector<CandidatePlan>& plans) {
  save();
  return prober_.race(plans);
}

}  // namespace vernier
