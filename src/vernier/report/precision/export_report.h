// Writes what `export` shows.
#pragma once

#include <string>
#include <vector>

#include "vernier/check/check.h"

namespace vernier {

struct ExportReport {
  std::string model, output;
  int64_t opset = 0, opset_before = 0;  // of ai.onnx
  std::string types;                    // what results are stored in; empty: as the model declares
  size_t casts = 0, quantized = 0;      // Casts, and QuantizeLinear and DequantizeLinear, that were added
  std::vector<std::string> notes;
  std::vector<Finding> findings;  // of the runtime that the file is for
};

std::string export_text(const ExportReport& report);
// Schema "vernier-export", version 1.
std::string export_json(const ExportReport& report);

}  // namespace vernier
