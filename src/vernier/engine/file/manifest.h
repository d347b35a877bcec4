// The manifest is what an engine file says of itself, as JSON (docs/engine-file.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/engine/certificate.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/file/recorded_devices.h"
#include "vernier/precision/plan.h"

namespace vernier {

// These must be the same where an engine runs as where it was built: kernels and packed weights depend on it.
struct Fingerprint {
  std::string vernier;    // version
  std::string cpu;        // instruction sets that kernels are chosen by
  std::string libraries;  // "oneDNN 2.6.3, Highway 1.0.3"

  static Fingerprint here();
  bool operator==(const Fingerprint&) const = default;
};

struct Manifest {
  // Holds what was chosen at some sizes.
  struct Tuned {
    Tuned() = default;
    explicit Tuned(const TunedSizes& sizes);
    // Throws bad_input for types and layouts that are none.
    TunedSizes sizes() const;

    std::vector<std::string> inputs;  // types, as text
    std::string images;               // layout
    std::map<std::string, std::string> tactics;
    std::map<std::string, int> ungrouped;  // see PlanChoices
  };
  struct Plan : Tuned {
    Plan() = default;
    explicit Plan(Tuned choices) : Tuned(std::move(choices)) {}
    // Throws unsupported unless the plan that was made of these choices has the same kernels: else the file's
    // accuracy verdict is not of this engine.
    void require_same_kernels(const vernier::Plan& made) const;

    int threads = 1;
    std::vector<StepDescription> steps;
    size_t arena_bytes = 0;
  };
  struct Constant {
    std::string name;  // its hash, by which the texts call it
    std::string type;  // "f32[64, 3, 7, 7]"
    bool plain = false;
    std::vector<std::string> forms;  // names of the kernels' forms, see PackedConstants
  };

  struct Payload {
    std::string name;   // see Payloads
    size_t device = 0;  // of `devices`
  };

  Fingerprint fingerprint;
  std::string model_hash, model_name;
  uint64_t structure = 0;  // see model_structure
  std::map<std::string, std::string> options;
  BuildOptions build;                   // those that hold for further sizes, and for a refit
  std::vector<RecordedDevice> devices;  // accelerators, the preferred first
  std::vector<PassRecord> passes;
  PrecisionPlan precision;
  std::set<std::string> nodes;  // of the ONNX model
  std::vector<ShapeProfile> profiles;
  std::vector<Plan> plans;
  std::vector<Tuned> tuned;  // without a plan
  std::vector<Constant> constants;
  std::vector<Payload> payloads;
  bool stripped = false;                   // its constants are to be found in the model
  std::optional<Certificate> certificate;  // nothing where the engine was not judged

  std::string json() const;
  // Throws bad_input for what is no manifest.
  static Manifest parse(std::string_view json);
};

}  // namespace vernier
