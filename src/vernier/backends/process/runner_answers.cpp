#include "vernier/backends/process/runner_answers.h"

#include <nlohmann/json.hpp>

#include "vernier/data/formats/json_text.h"

namespace vernier {

using nlohmann::json;

namespace {

constexpr size_t kExcerpt = 100;

// Fields may be left out; one that is there must be of the right kind.
std::vector<std::string> strings(const json& answer, const std::string& field) {
  std::vector<std::string> result;
  if (!answer.contains(field)) return result;
  for (const json& element : json_array(answer, field)) {
    if (!element.is_string()) throw bad_input("has something that is no string in '{}'", field);
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::map<std::string, std::string> description(const json& answer) {
  std::map<std::string, std::string> result;
  if (!answer.contains("description")) return result;
  const json& object = answer.at("description");
  if (!object.is_object()) throw bad_input("has a description that is no object");
  for (const auto& [key, value] : object.items()) result[key] = json_string(object, key);
  return result;
}

double seconds_of(const json& value, const char* field) {
  if (!value.is_number()) throw bad_input("has '{}' that are no numbers", field);
  const auto seconds = value.get<double>();
  if (!std::isfinite(seconds) || seconds < 0)
    throw bad_input("has {} in '{}', which is no time", seconds, field);
  return seconds;
}

}  // namespace

std::string excerpt(std::string_view line) {
  std::string text(line.substr(0, kExcerpt));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return "'" + text + (line.size() > kExcerpt ? "…'" : "'");
}

json parse_answer(std::string_view line, int64_t id) {
  json answer = parse_json(line);
  if (!answer.is_object()) throw bad_input("is no JSON object");
  if (!answer.contains("id") || answer.at("id") != id) throw bad_input("lacks the id {} of the request", id);
  return answer;
}

HelloAnswer hello_answer(const json& answer) {
  if (const std::string& spoken = json_string(answer, "protocol"); spoken != kRunnerProtocol) {
    throw unsupported("speaks {}, but this Vernier speaks {}", excerpt(spoken), kRunnerProtocol);
  }
  return {json_string(answer, "engine"), json_string(answer, "version"), strings(answer, "capabilities"),
          description(answer)};
}

LoadAnswer load_answer(const json& answer) {
  return {description(answer), strings(answer, "notes")};
}

RunAnswer run_answer(const json& answer) {
  if (!answer.contains("outputs")) throw bad_input("lacks the field 'outputs'");
  RunAnswer result{strings(answer, "outputs"), strings(answer, "notes"), 0, {}};
  if (const auto times = answer.find("times"); times != answer.end()) {
    if (!times->is_array()) throw bad_input("has 'times' that are no list");
    for (const json& time : *times) {
      result.times.push_back(seconds_of(time, "times"));
    }
  }
  if (const auto seconds = answer.find("seconds"); seconds != answer.end()) {
    result.seconds = seconds_of(*seconds, "seconds");
  }
  return result;
}

std::optional<Error> error_in(const json& answer, const std::string& prefix) {
  const auto found = answer.find("error");
  if (found == answer.end()) return std::nullopt;
  const auto text = [&](const char* field) {
    const bool there = found->is_object() && found->contains(field) && found->at(field).is_string();
    return there ? found->at(field).get<std::string>() : std::string();
  };
  const std::string message = text("message"), node = text("node"), advice = text("advice");
  Error error(text("code") == "unsupported" ? ErrorCode::kUnsupported : ErrorCode::kBadInput,
              prefix + (message.empty() ? "failed without saying why" : message));
  if (!node.empty()) error.at_node(node);
  if (!advice.empty()) error.advise(advice);
  return error;
}

}  // namespace vernier
