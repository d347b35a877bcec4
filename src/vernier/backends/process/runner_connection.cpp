#include "vernier/backends/process/runner_connection.h"

#include <nlohmann/json.hpp>

#include "vernier/data/json_text.h"

namespace vernier {

using nlohmann::json;

namespace {

constexpr size_t kLongestAnswer = size_t{4} << 20;
constexpr double kGraceToClose = 2;  // seconds
constexpr size_t kExcerpt = 100;

// The beginning of what a process sent, fit for a message.
std::string excerpt(const std::string& line) {
  std::string text = line.substr(0, kExcerpt);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return "'" + text + (line.size() > kExcerpt ? "…'" : "'");
}

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

}  // namespace

std::string runner_failure(const std::string& runner, const char* stage, const std::string& what) {
  return fmt::format("runner '{}', stage {}: {}", runner, stage, what);
}

RunnerConnection::RunnerConnection(std::string name, const std::string& command)
    : name_(std::move(name)), process_(command) {}

RunnerConnection::~RunnerConnection() {
  if (!usable_) return;
  process_.finish(json{{"request", "close"}, {"id", ++requests_}}.dump(),
                  std::chrono::duration<double>(kGraceToClose));
}

HelloAnswer RunnerConnection::hello(double timeout) {
  const json answer = ask("start", {{"request", "hello"}, {"protocol", kRunnerProtocol}}, timeout);
  try {
    if (const std::string& spoken = json_string(answer, "protocol"); spoken != kRunnerProtocol) {
      throw unsupported("speaks {}, but this Vernier speaks {}", excerpt(spoken), kRunnerProtocol);
    }
    return {json_string(answer, "engine"), json_string(answer, "version"), strings(answer, "capabilities"),
            description(answer)};
  } catch (const Error& error) {
    usable_ = false;
    throw Error(error.code(), runner_failure(name_, "start", error.message()))
        .advise("see docs/runner-protocol.md");
  }
}

LoadAnswer RunnerConnection::load(const LoadRequest& request, double timeout) {
  const json answer = ask("load",
                          {{"request", "load"},
                           {"model", std::filesystem::absolute(request.model).string()},
                           {"options", request.options},
                           {"threads", request.threads}},
                          timeout);
  try {
    return {description(answer), strings(answer, "notes")};
  } catch (const Error& error) {
    throw broken("load", "its answer " + error.message());
  }
}

RunAnswer RunnerConnection::run(const RunRequest& request, double timeout) {
  const json answer = ask("run",
                          {{"request", "run"},
                           {"inputs", request.inputs.string()},
                           {"outputs", request.outputs.string()},
                           {"taps", request.taps}},
                          timeout);
  try {
    RunAnswer result{strings(answer, "outputs"), strings(answer, "notes"), 0};
    if (!answer.contains("outputs")) throw bad_input("lacks the field 'outputs'");
    if (const auto seconds = answer.find("seconds"); seconds != answer.end()) {
      if (!seconds->is_number()) throw bad_input("has 'seconds' that are no number");
      result.seconds = seconds->get<double>();
    }
    return result;
  } catch (const Error& error) {
    throw broken("run", "its answer " + error.message());
  }
}

json RunnerConnection::ask(const char* stage, json request, double timeout) {
  using Outcome = ChildProcess::Reply::Outcome;
  request["id"] = ++requests_;
  const auto reply =
      process_.exchange(json_text(request), std::chrono::duration<double>(timeout), kLongestAnswer);
  switch (reply.outcome) {
    case Outcome::kLine: break;
    case Outcome::kTimeout:
      throw broken(stage, fmt::format("no answer within {} s", timeout))
          .advise("find out why it hangs, or allow it more time");
    case Outcome::kTooLong:
      throw broken(stage, fmt::format("sent a line of more than {} bytes, beginning with {}", kLongestAnswer,
                                      excerpt(reply.line)));
    case Outcome::kExtra:
      throw broken(stage, "sent more than one line, beginning with " + excerpt(reply.line));
    case Outcome::kEnded: {
      const std::string ending = process_.stop();
      const std::string half = reply.line.empty() ? "" : ", after the unfinished line " + excerpt(reply.line);
      throw broken(stage, "closed its output without an answer; it " + ending + half)
          .advise("run its command by hand to see why");
    }
  }
  const json answer = parse_answer(stage, reply.line);
  if (answer.contains("error")) throw error_of(stage, answer.at("error"));
  return answer;
}

json RunnerConnection::parse_answer(const char* stage, const std::string& line) {
  try {
    json answer = parse_json(line);
    if (!answer.is_object()) throw bad_input("is no JSON object");
    if (!answer.contains("id") || answer.at("id") != requests_)
      throw bad_input("lacks the id {} of the request", requests_);
    return answer;
  } catch (const Error& error) {
    throw broken(stage, fmt::format("sent {}, which {}", excerpt(line), error.message()))
        .advise(
            "a runner must print nothing but answers on its standard output; see docs/runner-protocol.md");
  }
}

Error RunnerConnection::error_of(const char* stage, const json& error) const {
  const auto text = [&](const char* field) {
    const bool there = error.is_object() && error.contains(field) && error.at(field).is_string();
    return there ? error.at(field).get<std::string>() : std::string();
  };
  const std::string message = text("message");
  Error result(text("code") == "unsupported" ? ErrorCode::kUnsupported : ErrorCode::kBadInput,
               runner_failure(name_, stage, message.empty() ? "failed without saying why" : message));
  if (!text("node").empty()) result.at_node(text("node"));
  if (!text("advice").empty()) result.advise(text("advice"));
  return result;
}

Error RunnerConnection::broken(const char* stage, const std::string& what) {
  usable_ = false;
  process_.stop();
  std::string message = runner_failure(name_, stage, what);
  if (const std::string words = process_.last_words(); !words.empty())
    message += "; the last it wrote:\n" + words + "\n";
  return Error(ErrorCode::kBadInput, message);
}

}  // namespace vernier
