#include "vernier/backends/process/runner_connection.h"

#include <nlohmann/json.hpp>

#include "vernier/data/formats/json_text.h"

namespace vernier {

using nlohmann::json;

namespace {

constexpr size_t kLongestAnswer = size_t{4} << 20;
constexpr double kGraceToClose = 2;  // seconds

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

template <class Parse>
auto RunnerConnection::parsed(const char* stage, const json& answer, const Parse& parse) {
  try {
    return parse(answer);
  } catch (const Error& error) {
    const Error failure = broken(stage, "its answer " + error.message());
    throw Error(error.code(), failure.message()).advise("see docs/runner-protocol.md");
  }
}

HelloAnswer RunnerConnection::hello(double timeout) {
  const json answer = ask("start", {{"request", "hello"}, {"protocol", kRunnerProtocol}}, timeout);
  return parsed("start", answer, hello_answer);
}

LoadAnswer RunnerConnection::load(const LoadRequest& request, double timeout) {
  const std::string model = std::filesystem::absolute(request.model).string();
  if (!is_utf8(model)) {
    throw bad_input("runner '{}' cannot be told this path: it is not UTF-8, as the protocol asks for", name_)
        .in_file(model)
        .advise("rename the file or its folder");
  }
  const json answer =
      ask("load",
          {{"request", "load"}, {"model", model}, {"options", request.options}, {"threads", request.threads}},
          timeout);
  return parsed("load", answer, load_answer);
}

RunAnswer RunnerConnection::run(const RunRequest& request, double timeout) {
  json message = {{"request", "run"},
                  {"inputs", request.inputs.string()},
                  {"outputs", request.outputs.string()},
                  {"taps", request.taps}};
  if (request.repeat > 0) message["repeat"] = request.repeat;
  const json answer = ask("run", std::move(message), timeout);
  return parsed("run", answer, run_answer);
}

json RunnerConnection::ask(const char* stage, json request, double timeout) {
  using Outcome = ChildProcess::Reply::Outcome;
  request["id"] = ++requests_;
  const auto reply =
      process_.exchange(json_text(request), std::chrono::duration<double>(timeout), kLongestAnswer);
  switch (reply.outcome) {
    case Outcome::kLine: break;
    case Outcome::kTimeout:
      throw broken(stage, fmt::format("no answer within {:.3g} s", timeout))
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
  json answer;
  try {
    answer = parse_answer(reply.line, requests_);
  } catch (const Error& error) {
    throw broken(stage, fmt::format("sent {}, which {}", excerpt(reply.line), error.message()))
        .advise(
            "a runner must print nothing but answers on its standard output; see docs/runner-protocol.md");
  }
  if (const auto error = error_in(answer, runner_failure(name_, stage, ""))) throw *error;
  return answer;
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
