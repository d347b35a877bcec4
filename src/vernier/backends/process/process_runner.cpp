#include "vernier/backends/process/process_runner.h"

#include "vernier/backends/process/runner_answers.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/exec/trace_entry.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

// Removes a file that only one run needs, however that run ends.
struct ScratchFile {
  fs::path path;
  ~ScratchFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

// The whole file is read at once: a mapping would crash us if the other process cut the file off.
SafetensorsFile read_outputs(const fs::path& path) {
  std::error_code missing;
  const auto size = fs::file_size(path, missing);
  if (missing) throw bad_input("it wrote no file of outputs");
  const size_t limit = 4 * allocation_limit();  // that is for one tensor, these are all of them
  if (size > limit) throw bad_input("it wrote {} bytes of outputs, more than the limit of {}", size, limit);
  const auto content = std::make_shared<const std::string>(read_file(path));
  return SafetensorsFile(std::as_bytes(std::span(*content)), content);
}

// Names of the values that nodes make, in execution order.
std::vector<std::string> execution_order(const Model* model) {
  std::vector<std::string> names;
  if (model == nullptr) return names;
  for (const auto& node : model->graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr) names.push_back(output->name);
    }
  }
  return names;
}

}  // namespace

ProcessOptions parse_runner_option(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    throw usage_error("--runner needs NAME=COMMAND, but is '{}'", text);
  }
  ProcessOptions options;
  options.name = text.substr(0, equals);
  options.command = text.substr(equals + 1);
  return options;
}

ProcessRunner::ProcessRunner(const RunnerModel& model, ProcessOptions options)
    : model_(model), options_(std::move(options)) {
  for (const double timeout : {options_.load_timeout, options_.run_timeout}) {
    if (!(timeout > 0)) throw usage_error("a time limit must be above 0 s, but is {}", timeout);
  }
  start();
  if (!options_.loads_late) load();
}

void ProcessRunner::start() {
  connection_ = nullptr;  // the old process is gone before the new one begins
  is_loaded_ = false;
  auto connection = std::make_unique<RunnerConnection>(options_.name, options_.command);
  const HelloAnswer hello = connection->hello(within_limit(options_.load_timeout));
  const auto can = [&](const char* capability) {
    return std::find(hello.capabilities.begin(), hello.capabilities.end(), capability) !=
           hello.capabilities.end();
  };
  can_tap_ = can("taps");
  can_repeat_ = can("repeat");
  description_ = hello.description;
  description_["engine"] = hello.engine + " " + hello.version;
  if (options_.threads > 0) description_["threads"] = std::to_string(options_.threads);
  last_taps_.clear();
  connection_ = std::move(connection);
}

void ProcessRunner::load() {
  const LoadAnswer load = connection_->load({model_.path, options_.options, options_.threads},
                                            within_limit(options_.load_timeout));
  for (const auto& [key, value] : load.description) {
    if (key != "engine" && key != "threads") description_[key] = value;
  }
  load_notes_ = load.notes;
  is_loaded_ = true;
}

void ProcessRunner::prepare() {
  if (!connection_ || !connection_->is_usable()) start();
  if (is_loaded_) return;
  try {
    load();
  } catch (const Error&) {
    connection_ = nullptr;  // a process is asked to load once
    throw;
  }
}

void ProcessRunner::limit_time(double seconds) {
  limit_ = seconds;
}

double ProcessRunner::within_limit(double timeout) const {
  return limit_ > 0 ? std::min(limit_, timeout) : timeout;
}

Trace ProcessRunner::run(const NamedData& inputs, const std::vector<std::string>& taps) {
  prepare();
  const int64_t run = runs_++;
  const ScratchFile sent{folder_.path() / fmt::format("inputs-{}.safetensors", run)};
  const ScratchFile received{folder_.path() / fmt::format("outputs-{}.safetensors", run)};
  write_safetensors(sent.path, inputs);
  const std::vector<std::string> asked = can_tap_ ? taps : std::vector<std::string>();
  // Other taps are another graph to most engines, which they load anew.
  const double timeout =
      within_limit(options_.run_timeout + (asked == last_taps_ ? 0 : options_.load_timeout));
  last_taps_ = asked;
  const RunAnswer answer = connection_->run({sent.path, received.path, asked, 0}, timeout);
  last_seconds_ = answer.seconds;
  try {
    return make_trace(answer, received.path, taps);
  } catch (const Error& error) {
    throw Error(error.code(), runner_failure(options_.name, "run", error.message()));
  }
}

std::vector<double> ProcessRunner::time(const NamedData& inputs, size_t runs) {
  prepare();
  if (!can_repeat_)
    throw unsupported("runner '{}' cannot be timed: it lacks the capability 'repeat'", options_.name);
  const ScratchFile sent{folder_.path() / fmt::format("inputs-{}.safetensors", runs_++)};
  write_safetensors(sent.path, inputs);
  last_taps_.clear();
  auto answer = connection_->run({sent.path, {}, {}, runs}, options_.run_timeout * static_cast<double>(runs));
  if (answer.times.size() != runs)
    throw bad_input("{}",
                    runner_failure(options_.name, "run",
                                   fmt::format("gave {} times for {} runs", answer.times.size(), runs)));
  return std::move(answer.times);
}

Trace ProcessRunner::make_trace(const RunAnswer& answer, const fs::path& outputs,
                                const std::vector<std::string>& taps) const {
  const SafetensorsFile file = read_outputs(outputs);
  check_names(answer.outputs, file.names(), model_.model, taps);
  auto data = file.read_all();
  std::map<std::string, const Value*> known;
  if (model_.model != nullptr) {
    for (const auto& value : model_.model->graph->values()) known[value->name] = value.get();
  }
  Trace trace;
  trace.runner = options_.name;
  const std::set<std::string> tapped(taps.begin(), taps.end());
  const auto add = [&](const std::string& name, Datum datum) {
    const auto found = known.find(name);
    if (found == known.end()) {
      trace.entries.push_back({name, std::move(datum), !tapped.contains(name), ElementType::kUndefined, {}});
      return;
    }
    check_type(name, datum, found->second->type);
    const auto& declared = model_.model->graph->outputs;
    const bool is_output = std::find(declared.begin(), declared.end(), found->second) != declared.end();
    trace.entries.push_back(make_trace_entry(*found->second, std::move(datum), is_output));
  };
  for (const std::string& name : execution_order(model_.model)) {
    if (auto node = data.extract(name)) add(name, std::move(node.mapped()));
  }
  for (auto& [name, datum] : data) add(name, std::move(datum));
  trace.notes = load_notes_;
  trace.notes.insert(trace.notes.end(), answer.notes.begin(), answer.notes.end());
  if (!can_tap_ && !taps.empty()) trace.notes.emplace_back("this runner cannot show inner values");
  return trace;
}

}  // namespace vernier
