// Writes what `inspect` shows of an engine file, and of two.
#pragma once

#include "vernier/report/build_report.h"

namespace vernier {

struct EngineSummary {
  std::string file, model;
  std::map<std::string, std::string> fingerprint, options;
  std::vector<std::string> profiles;
  std::vector<BuildReport::Pass> passes;
  std::vector<BuildReport::Plan> plans;
  std::vector<std::string> tuned;  // see BuildReport
  std::map<std::string, std::vector<BuildReport::TacticRange>> ranges;
  size_t constants = 0, packed = 0, file_bytes = 0;
  bool stripped = false;
  std::string accuracy;  // the verdict of the build, as text; "" for none
};

std::string engine_text(const EngineSummary& engine, bool layers);
// Writes what differs: fingerprints, options, passes, and for each plan that both have the kernels of each
// ONNX node.
std::string engine_diff_text(const EngineSummary& a, const EngineSummary& b);

}  // namespace vernier
