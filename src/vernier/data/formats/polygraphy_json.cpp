#include "vernier/data/formats/polygraphy_json.h"

#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/data/formats/json_text.h"
#include "vernier/data/formats/npy.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;  // Polygraphy keeps the order of names

// Objects bear the name of their Python class under this key.
constexpr const char* kClassKey = "polygraphy_class";

Json parse(const std::filesystem::path& path) {
  try {
    return read_mapped(path, [](auto bytes) {
      const auto* text = reinterpret_cast<const char*>(bytes.data());
      return Json::parse(text, text + bytes.size());
    });
  } catch (const Json::exception& error) {
    throw bad_input("is no JSON file: {}", error.what()).in_file(path);
  }
}

void save(const std::filesystem::path& path, const Json& json) {
  try {
    write_file(path, json.dump(4));
  } catch (const Json::exception&) {
    throw bad_input("a name is no valid UTF-8, so JSON cannot hold it").in_file(path);
  }
}

std::string class_of(const Json& json) {
  const auto found = json.is_object() ? json.find(kClassKey) : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& member(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end())
    throw bad_input("an object with the key '{}' is expected", key);
  return *found;
}

Tensor read_array(const Json& json, ElementType wanted) {
  const std::string type = class_of(json);
  if (type == "LazyArray") return read_array(member(json, "values"), wanted);
  if (type == "Tensor") {
    throw unsupported("holds a PyTorch tensor").advise("save it with Polygraphy's numpy back end");
  }
  if (type != "ndarray") throw bad_input("an array (polygraphy_class 'ndarray') is expected");
  const Json& text = member(json, "array");
  if (!text.is_string()) throw bad_input("an array in base64 is expected");
  const std::string bytes = decode_base64(text.get_ref<const std::string&>());
  return read_npy(std::as_bytes(std::span(bytes)), wanted);
}

NamedData read_arrays(const Json& json, const ElementTypes& wanted) {
  if (!json.is_object()) throw bad_input("an object, name to array, is expected");
  NamedData data;
  for (const auto& [name, array] : json.items()) {
    const auto hint = wanted.find(name);
    try {
      Tensor tensor = read_array(array, hint == wanted.end() ? ElementType::kUndefined : hint->second);
      if (!data.emplace(name, std::move(tensor)).second) throw bad_input("occurs twice");
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("'{}': {}", name, error.message()));
    }
  }
  return data;
}

Json write_array(const Tensor& tensor) {
  return {{"array", encode_base64(write_npy(tensor))}, {kClassKey, "ndarray"}};
}

PolygraphyIteration read_iteration(const Json& json, const ElementTypes& wanted) {
  if (class_of(json) != "IterationResult") throw bad_input("an IterationResult is expected");
  PolygraphyIteration iteration;
  iteration.outputs = read_arrays(member(json, "outputs"), wanted);
  if (const Json& runtime = member(json, "runtime"); runtime.is_number())
    iteration.runtime = runtime.get<double>();
  if (const Json& runner = member(json, "runner_name"); runner.is_string())
    iteration.runner = runner.get<std::string>();
  return iteration;
}

Json write_iteration(const PolygraphyIteration& iteration) {
  Json outputs = Json::object();
  for (const auto& [name, datum] : iteration.outputs) {
    outputs[name] = {{"values", write_array(datum.as_tensor())}, {kClassKey, "LazyArray"}};
  }
  return {{"outputs", std::move(outputs)},
          {"runtime", iteration.runtime ? Json(*iteration.runtime) : Json()},
          {"runner_name", iteration.runner},
          {kClassKey, "IterationResult"}};
}

}  // namespace

struct PolygraphyInputs::Content {
  std::filesystem::path path;
  Json json;
};

PolygraphyInputs::PolygraphyInputs(const std::filesystem::path& path) {
  Json json = parse(path);
  if (class_of(json) == "RunResults") {
    throw bad_input("holds results of a run, not inputs")
        .in_file(path)
        .advise("pass it to --load-run, or convert it with 'polygraphy data to-input'");
  }
  if (json.is_object()) json = Json::array({std::move(json)});
  if (!json.is_array())
    throw bad_input("is no Polygraphy input file: a list of objects is expected").in_file(path);
  content_ = std::make_unique<const Content>(Content{path, std::move(json)});
}
PolygraphyInputs::~PolygraphyInputs() = default;
PolygraphyInputs::PolygraphyInputs(PolygraphyInputs&&) noexcept = default;
PolygraphyInputs& PolygraphyInputs::operator=(PolygraphyInputs&&) noexcept = default;

size_t PolygraphyInputs::size() const {
  return content_->json.size();
}

NamedData PolygraphyInputs::sample(size_t index, const ElementTypes& wanted) const {
  try {
    return read_arrays(content_->json.at(index), wanted);
  } catch (Error& error) {
    throw error.in_file(content_->path);
  }
}

void write_polygraphy_inputs(const std::filesystem::path& path, const std::vector<NamedData>& samples) {
  Json json = Json::array();
  for (const NamedData& sample : samples) {
    Json arrays = Json::object();
    for (const auto& [name, datum] : sample) arrays[name] = write_array(datum.as_tensor());
    json.push_back(std::move(arrays));
  }
  save(path, json);
}

PolygraphyResults read_polygraphy_results(const std::filesystem::path& path, const ElementTypes& wanted) {
  const Json json = parse(path);
  try {
    if (class_of(json) != "RunResults") throw bad_input("holds no RunResults of Polygraphy");
    const Json& runners = member(json, "lst");
    if (!runners.is_array()) throw bad_input("a list of runners is expected");
    PolygraphyResults results;
    for (const Json& runner : runners) {
      if (!runner.is_array() || runner.size() != 2 || !runner[0].is_string() || !runner[1].is_array()) {
        throw bad_input("a pair of a runner's name and its iterations is expected");
      }
      auto& iterations =
          results.emplace_back(runner[0].get<std::string>(), std::vector<PolygraphyIteration>{}).second;
      for (const Json& iteration : runner[1]) iterations.push_back(read_iteration(iteration, wanted));
    }
    return results;
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

void write_polygraphy_results(const std::filesystem::path& path, const PolygraphyResults& results) {
  Json runners = Json::array();
  for (const auto& [name, iterations] : results) {
    Json list = Json::array();
    for (const PolygraphyIteration& iteration : iterations) list.push_back(write_iteration(iteration));
    runners.push_back(Json::array({name, std::move(list)}));
  }
  save(path, {{"lst", std::move(runners)}, {kClassKey, "RunResults"}});
}

}  // namespace vernier
