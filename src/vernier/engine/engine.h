// A built model: immutable, shared by any number of sessions.
#pragma once

#include "vernier/backends/cpu/cpu_kernels.h"
#include "vernier/exec/program.h"
#include "vernier/passes/pass.h"
#include "vernier/precision/audit.h"
#include "vernier/precision/options.h"

namespace vernier {

struct BuildOptions {
  PassOptions passes;
  PrecisionOptions precision;
  cpu::CpuOptions cpu;
};

class Engine {
 public:
  // The model is copied; constants share their buffers. Throws as import does, and for precision options that
  // do not suit the model.
  static std::shared_ptr<Engine> build(const Model& model, const BuildOptions& options = {});

  const Graph& graph() const { return program_->graph(); }  // after the passes that need no sizes
  Program& program() { return *program_; }
  const std::vector<PassRecord>& passes() const { return passes_; }
  const BuildOptions& options() const { return options_; }
  // What every ONNX node is to be computed in.
  const PrecisionPlan& precision() const { return precision_; }
  PrecisionAudit audit(const Plan& plan) const;

 private:
  explicit Engine(BuildOptions options) : options_(std::move(options)), kernels_(options_.cpu) {}
  // Throws PrecisionDifference where the precision plan is to be obeyed and is not.
  std::shared_ptr<const Plan> compile(const Graph& graph, const std::vector<ValueType>& inputs);

  BuildOptions options_;
  cpu::CpuKernels kernels_;
  std::vector<PassRecord> passes_;
  PrecisionPlan precision_;
  std::set<std::string> nodes_;  // of the ONNX model
  std::unique_ptr<Program> program_;
};

}  // namespace vernier
