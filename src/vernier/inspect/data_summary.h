// Summarises a file of tensors, or a recorded run.
#pragma once

#include <filesystem>

#include "vernier/compare/trace.h"
#include "vernier/inspect/model_summary.h"

namespace vernier {

struct SampleSummary {
  std::string title;                   // "sample 0 of onnxruntime", or empty for a file of tensors
  std::vector<WeightSummary> tensors;  // sequences by element: "name[2]"
};

struct DataSummary {
  std::string format;                              // "npz", "recorded run", …
  std::map<std::string, std::string> description;  // what the file says of itself
  std::vector<SampleSummary> samples;
};

// True for the extensions of the formats that summarize_data reads.
bool is_data_file(const std::filesystem::path& path);
// .npy, .npz, .safetensors, .pb (a tensor), Polygraphy .json. Throws bad_input for damaged files.
DataSummary summarize_data(const std::filesystem::path& path);
SampleSummary summarize_trace(const Trace& trace);

}  // namespace vernier
