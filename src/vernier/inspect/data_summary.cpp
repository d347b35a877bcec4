#include "vernier/inspect/data_summary.h"

#include "vernier/data/formats/npy.h"
#include "vernier/data/formats/polygraphy_json.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/inspect/model_summary.h"
#include "vernier/onnx/data_file.h"

namespace vernier {

namespace {

void add_datum(const std::string& name, const Datum& datum, std::vector<WeightSummary>& tensors) {
  if (datum.is_tensor()) {
    tensors.push_back(summarize_weight(name, datum.tensor));
  } else if (datum.kind == Datum::Kind::kSequence) {
    for (size_t i = 0; i < datum.sequence->size(); ++i)
      add_datum(fmt::format("{}[{}]", name, i), (*datum.sequence)[i], tensors);
  } else {
    WeightSummary none;
    none.name = name;
    none.type = "none";
    tensors.push_back(std::move(none));
  }
}

SampleSummary summarize_values(std::string title, const NamedData& values) {
  SampleSummary sample{std::move(title), {}};
  for (const auto& [name, datum] : values) add_datum(name, datum, sample.tensors);
  return sample;
}

}  // namespace

bool is_data_file(const std::filesystem::path& path) {
  const std::string extension = path.extension();
  return extension == ".npy" || extension == ".npz" || extension == ".safetensors" || extension == ".pb" ||
         extension == ".json";
}

DataSummary summarize_data(const std::filesystem::path& path) {
  const std::string extension = path.extension(), stem = path.stem();
  DataSummary summary;
  summary.format = extension.substr(1);
  if (extension == ".npy") {
    summary.samples.push_back(summarize_values("", {{stem, read_npy_file(path)}}));
  } else if (extension == ".npz") {
    summary.samples.push_back(summarize_values("", read_npz_file(path)));
  } else if (extension == ".pb") {
    summary.samples.push_back(summarize_values("", {{stem, read_pb_file(path, ValueType::Kind::kTensor)}}));
  } else if (extension == ".json") {
    const PolygraphyInputs inputs(path);
    summary.format = "Polygraphy JSON";
    for (size_t i = 0; i < inputs.size(); ++i)
      summary.samples.push_back(summarize_values(fmt::format("sample {}", i), inputs.sample(i)));
  } else {
    const auto file = SafetensorsFile::open(path);
    summary.description = file.metadata();
    summary.samples.push_back(summarize_values("", file.read_all()));
  }
  return summary;
}

SampleSummary summarize_trace(const Trace& trace) {
  SampleSummary sample{fmt::format("sample {} of {}", trace.sample, trace.runner), {}};
  for (const TraceEntry& entry : trace.entries) add_datum(entry.value, entry.datum, sample.tensors);
  return sample;
}

}  // namespace vernier
