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
  // Ideal mode stores doubles, which noise moves by an ulp of double.
  std::optional<Trace> run_with_noise(const NamedData& inputs, const std::vector<std::string>& taps,
                                      uint64_t seed) override;
  std::optional<Trace> run_with_values(const NamedData& inputs, const std::vector<std::string>& taps,
                                       const NamedData& values, std::optional<uint64_t> noise_seed) override;
  std::string random_generator() const override { return kReferenceGenerator; }

 private:
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps, InterpreterOptions options);
  const Model& model_;
  ReferenceMode mode_;
  std::string name_;
};

}  // namespace vernier
