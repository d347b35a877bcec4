#include "vernier/backends/process/saved_run.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "vernier/base/hash.h"
#include "vernier/data/formats/json_text.h"

namespace vernier {

using nlohmann::json;

namespace {

constexpr const char* kFormat = "vernier-run/1";
constexpr const char* kRunKey = "vernier.run";

std::string sample_key(size_t index) {
  return fmt::format("{}.{}", kRunKey, index);
}

uint64_t hash_of(const Datum& datum) {
  uint64_t hash = static_cast<uint64_t>(datum.kind);
  if (datum.kind == Datum::Kind::kSequence) {
    for (const Datum& element : datum.as_sequence()) hash = hash_combine(hash, hash_of(element));
  } else if (datum.is_tensor()) {
    const Tensor& tensor = datum.tensor;
    hash = hash_combine(static_cast<uint64_t>(tensor.type()),
                        hash_bytes(tensor.dims().data(), tensor.dims().size() * sizeof(int64_t)));
    if (tensor.type() == ElementType::kString) {
      for (const std::string& text : tensor.values<std::string>()) hash = hash_combine(hash, hash_text(text));
    } else {
      hash = hash_combine(hash, hash_bytes(tensor.raw(), tensor.byte_size()));
    }
  }
  return hash;
}

json json_of(const TraceEntry& entry, const std::string& key) {
  json result = {{"value", entry.value}, {"key", key}, {"nodes", entry.nodes}};
  if (entry.is_output) result["output"] = true;
  if (entry.declared != ElementType::kUndefined) result["declared"] = element_type_name(entry.declared);
  return result;
}

TraceEntry entry_of(const json& entry) {
  TraceEntry result;
  result.value = json_string(entry, "value");
  result.is_output = entry.contains("output");
  if (entry.contains("declared")) {
    const auto declared = parse_element_type(json_string(entry, "declared"));
    if (!declared) throw bad_input("has the unknown type '{}'", json_string(entry, "declared"));
    result.declared = *declared;
  }
  for (const json& node : json_array(entry, "nodes")) {
    if (!node.is_string()) throw bad_input("has a node that is no name");
    result.nodes.push_back(node.get<std::string>());
  }
  return result;
}

}  // namespace

uint64_t hash_of(const NamedData& data) {
  uint64_t hash = data.size();
  for (const auto& [name, datum] : data)
    hash = hash_combine(hash, hash_combine(hash_text(name), hash_of(datum)));
  return hash;
}

RunRecorder::RunRecorder(std::filesystem::path path, std::string runner,
                         std::map<std::string, std::string> description)
    : path_(std::move(path)), runner_(std::move(runner)), description_(std::move(description)) {}

void RunRecorder::add(const NamedData& inputs, const Trace& trace) {
  NamedData values;
  json entries = json::array();
  for (const TraceEntry& entry : trace.entries) {
    const std::string key = fmt::format("{}/{}", samples_.size(), entry.value);
    if (!values.emplace(key, entry.datum).second)
      throw bad_input("the value '{}' occurs twice in a trace", entry.value);
    entries.push_back(json_of(entry, key));
  }
  write_safetensors(folder_.path() / std::to_string(samples_.size()), values);
  samples_.push_back(json_text(
      {{"inputs", hash_to_text(hash_of(inputs))}, {"notes", trace.notes}, {"entries", std::move(entries)}}));
}

void RunRecorder::finish() {
  MappedFile::require_all_unchanged();  // what was computed from their bytes is worth nothing
  NamedData values;
  std::map<std::string, std::string> metadata;
  metadata[kRunKey] = json_text({{"format", kFormat},
                                 {"runner", runner_},
                                 {"description", description_},
                                 {"samples", samples_.size()}});
  for (size_t i = 0; i < samples_.size(); ++i) {
    metadata[sample_key(i)] = samples_[i];
    values.merge(SafetensorsFile::open(folder_.path() / std::to_string(i)).read_all());
  }
  write_safetensors(path_, values, metadata);
}

LoadedRun::LoadedRun(const std::filesystem::path& path) : file_(SafetensorsFile::open(path)) {
  const auto text = [&](const std::string& key) -> const std::string& {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) throw bad_input("is no recorded run: it lacks the entry '{}'", key);
    return found->second;
  };
  try {
    const json run = parse_json(text(kRunKey));
    if (json_string(run, "format") != kFormat)
      throw unsupported("has the format '{}', not '{}'", json_string(run, "format"), kFormat);
    name_ = fmt::format("{} from {}", json_string(run, "runner"), path.filename().string());
    description_ = {{"recorded in", path.string()}};
    if (const auto found = run.find("description"); found != run.end() && found->is_object()) {
      for (const auto& [key, value] : found->items()) description_[key] = json_string(*found, key);
    }
    if (!run.contains("samples")) throw bad_input("lacks the number of samples");
    const int64_t count = json_size(run.at("samples"), "the number of samples");
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      samples_.push_back(parse_sample(text(sample_key(i))));
      for (const std::string& key : samples_.back().keys) {
        if (!file_.contains(key)) throw bad_input("lacks the value '{}'", key);
      }
    }
  } catch (Error& error) {
    throw error.in_file(path.string());
  }
}

LoadedRun::Sample LoadedRun::parse_sample(const std::string& text) {
  const json json_sample = parse_json(text);
  Sample sample;
  const std::string& hash = json_string(json_sample, "inputs");
  const auto [end, failed] = std::from_chars(hash.data(), hash.data() + hash.size(), sample.inputs_hash, 16);
  if (failed != std::errc() || end != hash.data() + hash.size())
    throw bad_input("has the damaged hash '{}'", hash);
  for (const json& note : json_array(json_sample, "notes")) {
    if (!note.is_string()) throw bad_input("has a note that is no text");
    sample.trace.notes.push_back(note.get<std::string>());
  }
  for (const json& entry : json_array(json_sample, "entries")) {
    sample.trace.entries.push_back(entry_of(entry));
    sample.keys.push_back(json_string(entry, "key"));
  }
  return sample;
}

Trace LoadedRun::trace(size_t index) const {
  if (index >= samples_.size())
    throw bad_input("{} has {} samples, so there is no sample {}", name_, samples_.size(), index);
  Trace trace = samples_[index].trace;
  trace.runner = name_;
  trace.sample = index;
  for (size_t i = 0; i < trace.entries.size(); ++i)
    trace.entries[i].datum = file_.read(samples_[index].keys[i]);
  return trace;
}

Trace LoadedRun::trace_on(const NamedData& inputs) const {
  const uint64_t hash = hash_of(inputs);
  for (size_t i = 0; i < samples_.size(); ++i) {
    if (samples_[i].inputs_hash == hash) return trace(i);
  }
  throw bad_input("{} has no sample of these inputs", name_);
}

Trace LoadedRun::run(const NamedData& inputs, const std::vector<std::string>& taps) {
  const size_t index = next_++;
  Trace result = trace(index);
  if (hash_of(inputs) != samples_[index].inputs_hash) {
    throw bad_input("{}: sample {} was recorded with other inputs", name_, index)
        .advise("give it the data, the seed and the order of the recording");
  }
  const std::set<std::string> wanted(taps.begin(), taps.end());
  std::erase_if(result.entries,
                [&](const TraceEntry& entry) { return !entry.is_output && !wanted.contains(entry.value); });
  for (const std::string& tap : taps) {
    if (result.find(tap) == nullptr) result.notes.push_back(fmt::format("'{}' was not recorded", tap));
  }
  return result;
}

}  // namespace vernier
