// Lint: structural faults and the numerical hazards of docs/hazards.md that can be decided without running
// the model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/ir/import_note.h"

namespace vernier {

enum class Severity : uint8_t {
  kNote,     // worth knowing; results are as intended
  kWarning,  // results may differ between engines or precisions
  kError,    // results are wrong, or running fails
};
std::string_view severity_name(Severity severity);

struct Finding {
  std::string rule;  // "B14-cast-chain"; the part before the dash is the class of docs/hazards.md
  Severity severity = Severity::kWarning;
  double effect = 0;  // predicted relative effect on what the node feeds, 0 … 1; findings are ranked by it
  std::string node;   // empty: about the model as a whole
  std::string message;  // what is there, with the number that decides
  std::string remedy;
  size_t count = 1;  // how many nodes have the same finding; `node` is the first
};

struct CheckOptions {
  // Judges the model as if its f32 tensors were of this type (FLOAT16 or BFLOAT16): what lowering would cost.
  std::optional<ElementType> assume;
};

struct Rule {
  const char* id;
  const char* title;
  void (*run)(const class CheckContext& context, std::vector<Finding>& findings);
};

std::span<const Rule> check_rules();

// Findings of all rules, errors first, then by predicted effect. `import_notes` are what import found and did
// not trust.
std::vector<Finding> check(const Model& model, const std::vector<ImportNote>& import_notes,
                           const CheckOptions& options = {});

// Errors first, then by predicted effect.
void rank(std::vector<Finding>& findings);

}  // namespace vernier
