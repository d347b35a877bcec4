// Reports what `build` made, as text and as JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/engine/certificate.h"
#include "vernier/precision/audit.h"
#include "vernier/report/bench_report.h"

namespace vernier {

struct BuildReport {
  struct Pass {
    std::string name, numerics;
    int rewrites = 0;
  };
  struct Step {
    std::string kernel, reason;  // one of them: why there is no kernel
    std::vector<std::string> nodes;
    std::string contract;
    std::string device = "cpu";  // that does it
    std::string refusal = {};    // why accelerators do not; "" where they do, or were not asked
    // A copy counts the bytes that it moves between devices; a node that was refused counts those of all
    // copies that it causes.
    size_t copied = 0;
    std::optional<double> milliseconds = {};  // of a step without a kernel
  };
  struct Plan {
    std::string sizes;
    std::vector<Step> steps;
    size_t arena = 0;  // bytes
    // Nothing where it could not be measured.
    std::optional<FallbackShare> fallback = {};
  };

  // The tactics of a node at neighbouring tuned sizes, where they are not the same at all of them.
  struct TacticRange {
    std::string tactic;       // "": the backend's own choice
    std::string first, last;  // sizes
  };

  // A tactic that is not used because of what its trial found.
  struct Quarantined {
    std::string tactic;              // "": the backend's own choice
    std::string request;             // what it was to compute
    std::vector<std::string> nodes;  // of ONNX
    std::string reason;
    std::string text;  // all but the request, for people
  };

  std::string model, engine;
  std::map<std::string, std::string> options, environment;
  std::vector<std::string> notes;
  std::vector<std::string> tactics;  // by which some node could be computed
  std::vector<Quarantined> quarantine;
  std::vector<Pass> passes;  // those that fired
  std::vector<Plan> plans;
  std::vector<std::string> tuned;  // sizes at which tactics were chosen, those of the plans among them
  std::map<std::string, std::vector<TacticRange>> ranges;  // by the value that the node makes
  size_t weights = 0, file = 0;                            // bytes
  double build_s = 0;                                      // without the verdict
  double verdict_s = 0;
  std::optional<Certificate> certificate;  // nothing where nobody asked for it
  PrecisionAudit audit;                    // of the first plan
};

std::string build_text(const BuildReport& report, bool all_steps);
// At how many sizes tactics were chosen, and how many change with them; all that do, if that is asked for.
// "" where there was one.
std::string ranges_text(const std::vector<std::string>& tuned,
                        const std::map<std::string, std::vector<BuildReport::TacticRange>>& ranges, bool all);
// Schema "vernier-build", version 1.
std::string build_json(const BuildReport& report);

// Says what runs on which device, what copies move, and what accelerators left to the CPU.
struct DeviceCopies {
  size_t count = 0, bytes = 0;
};
DeviceCopies copies_of(const BuildReport::Plan& plan);

// Indented by two; "" for a plan of the CPU alone.
std::string devices_text(const BuildReport::Plan& plan);

}  // namespace vernier
