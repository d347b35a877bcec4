// Writes what `inspect` shows of a model, a file of tensors, a recorded run.
#pragma once

#include <string>

#include "vernier/inspect/data_summary.h"
#include "vernier/inspect/model_summary.h"

namespace vernier {

struct InspectOptions {
  bool layers = false, weights = false, attributes = false;
};

std::string inspect_text(const std::string& file, const ModelSummary& summary, const InspectOptions& options);
// Schema "vernier-inspect", version 1: everything, whatever the options.
std::string inspect_json(const std::string& file, const ModelSummary& summary);

std::string inspect_text(const std::string& file, const DataSummary& summary);
// Schema "vernier-inspect-data", version 1.
std::string inspect_json(const std::string& file, const DataSummary& summary);

}  // namespace vernier
