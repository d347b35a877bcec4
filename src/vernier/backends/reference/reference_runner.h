// The reference as a runner: "reference" rounds as the model declares, "reference=ideal" not at all.
#pragma once

#include "vernier/backends/reference/interpreter.h"
#include "vernier/exec/runner.h"

namespace vernier {

class ReferenceRunner : public Runner {
 public:
  // `model.model` must be set; the file is not read.
  explicit ReferenceRunner(const RunnerModel& model, ReferenceMode mode = ReferenceMode::kDeclared);

  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override;
  // Taps may name any value that a node of the main graph makes; others are skipped with a note.
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override;

 private:
  const Model& model_;
  ReferenceMode mode_;
  std::string name_;
};

}  // namespace vernier
