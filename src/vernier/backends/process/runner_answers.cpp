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

void check_names(const std::vector<std::string>& answered, const std::vector<std::string>& stored,
                 const Model* model, const std::vector<std::string>& taps) {
  std::set<std::string> said;
  for (const std::string& name : answered) {
    if (!said.insert(name).second) throw bad_input("it says twice that it returned '{}'", name);
  }
  const std::set<std::string> there(stored.begin(), stored.end());
  for (const std::string& name : said) {
    if (!there.contains(name))
      throw bad_input("it says that it returned '{}', but the file of outputs lacks it", name);
  }
  for (const std::string& name : there) {
    if (!said.contains(name))
      throw bad_input("the file of outputs holds '{}', of which the answer says nothing", name);
  }
  if (model == nullptr) return;
  std::set<std::string> allowed(taps.begin(), taps.end());
  for (const Value* output : model->graph->outputs) {
    if (!there.contains(output->name))
      throw bad_input("it did not return the output '{}' ({})", output->name, output->type.text());
    allowed.insert(output->name);
  }
  for (const std::string& name : there) {
    if (!allowed.contains(name))
      throw bad_input("it returned '{}', which is neither an output of the model nor asked for", name);
  }
}

void check_type(const std::string& name, const Datum& datum, const ValueType& declared) {
  if (declared.kind == ValueType::Kind::kOptional) {
    if (datum.kind != Datum::Kind::kNone) check_type(name, datum, *declared.element);
    return;
  }
  if (datum.kind != (declared.has_parts() ? Datum::Kind::kSequence : Datum::Kind::kTensor)) {
    throw bad_input("it returned '{}' as another kind of value than the model's {}", name, declared.text());
  }
  if (declared.has_parts()) {
    if (declared.kind == ValueType::Kind::kMap) datum.as_map();
    for (size_t i = 0; i < datum.sequence->size(); ++i)
      check_type(name, (*datum.sequence)[i], declared.part(i));
    return;
  }
  const Tensor& tensor = datum.tensor;
  bool fits = declared.tensor.element == ElementType::kUndefined || tensor.type() == declared.tensor.element;
  if (const auto& shape = declared.tensor.shape) {
    fits = fits && static_cast<int64_t>(shape->size()) == tensor.rank();
    for (size_t i = 0; fits && i < shape->size(); ++i) {
      const auto size = (*shape)[i].constant();
      fits = !size || *size == tensor.dims()[i];
    }
  }
  if (fits) return;
  throw bad_input("it returned '{}' as {}{}, but in the model it is {}", name,
                  element_type_short_name(tensor.type()), dims_text(tensor.dims()), declared.text());
}

}  // namespace vernier
