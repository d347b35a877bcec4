#include "vernier/reduce/forked_runner.h"

#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/base/forked_work.h"
#include "vernier/base/thread_limit.h"
#include "vernier/base/threads.h"
#include "vernier/data/formats/safetensors.h"

namespace vernier {

namespace {

using Json = nlohmann::json;

constexpr const char* kNoMemory = "out of memory";

Json error_json(ErrorCode code, const std::string& message, const std::string& node = "") {
  return {{"code", static_cast<int>(code)}, {"message", message}, {"node", node}};
}

// The answer of a child.
std::string answer_of(const std::function<std::string()>& work) {
  Json answer;
  try {
    answer["text"] = work();
  } catch (const Error& error) {
    answer["error"] = error_json(error.code(), error.message(), error.node());
  } catch (const std::bad_alloc&) {
    answer["error"] = error_json(ErrorCode::kUnsupported, kNoMemory);
  } catch (const std::exception& error) {
    answer["error"] = error_json(ErrorCode::kInternal, error.what());
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Writes what a trace holds besides its data, which go by way of a file.
Json description_of(const Trace& trace) {
  Json entries = Json::array();
  for (const TraceEntry& entry : trace.entries)
    entries.push_back({{"value", entry.value},
                       {"output", entry.is_output},
                       {"declared", static_cast<int>(entry.declared)},
                       {"nodes", entry.nodes}});
  return {{"entries", entries}, {"notes", trace.notes}};
}

Trace trace_from(const Json& description, const std::filesystem::path& path) {
  Trace trace;
  NamedData data;
  {
    const auto content = std::make_shared<const std::string>(read_file(path));
    data = SafetensorsFile(std::as_bytes(std::span(*content)), content).read_all();
  }
  for (const Json& each : description.at("entries")) {
    TraceEntry entry;
    entry.value = each.at("value");
    entry.datum = data.at(std::to_string(trace.entries.size()));
    entry.is_output = each.at("output");
    entry.declared = static_cast<ElementType>(each.at("declared").get<int>());
    entry.nodes = each.at("nodes");
    trace.entries.push_back(std::move(entry));
  }
  trace.notes = description.at("notes").get<std::vector<std::string>>();
  return trace;
}

}  // namespace

ForkedRunner::ForkedRunner(std::string name, std::function<std::unique_ptr<Runner>()> make, double seconds)
    : name_(std::move(name)), make_(std::move(make)), seconds_(seconds) {}

std::string ForkedRunner::ask(const std::function<std::string(Runner&)>& work) {
  const int threads = thread_count();
  const auto in_child = [&](ForkedProgress& progress) {
    progress.begin(0);
    const ThreadLimit limit(threads);
    return answer_of([&] { return work(*make_()); });
  };
  const ForkedResult result = run_forked(in_child, limit_ > 0 ? std::min(limit_, seconds_) : seconds_);
  if (!result.failure.empty()) throw bad_input("runner '{}', stage run: {}", name_, result.failure);
  const Json answer = Json::parse(result.answer);
  if (!answer.contains("error")) return answer.at("text");
  const Json& error = answer.at("error");
  throw Error(static_cast<ErrorCode>(error.at("code").get<int>()), error.at("message"))
      .at_node(error.at("node"));
}

Trace ForkedRunner::run(const NamedData& inputs, const std::vector<std::string>& taps) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "values.safetensors";
  const std::string description = ask([&](Runner& runner) {
    const Trace trace = runner.run(inputs, taps);
    NamedData values;
    for (size_t i = 0; i < trace.entries.size(); ++i) values[std::to_string(i)] = trace.entries[i].datum;
    write_safetensors(path, values);
    return description_of(trace).dump(-1, ' ', false, Json::error_handler_t::replace);
  });
  Trace trace = trace_from(Json::parse(description), path);
  trace.runner = name_;
  return trace;
}

}  // namespace vernier
