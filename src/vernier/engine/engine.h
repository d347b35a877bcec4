// A built model: immutable, shared by any number of sessions.
#pragma once

#include "vernier/backends/cpu/cpu_kernels.h"
#include "vernier/exec/program.h"
#include "vernier/passes/pass.h"

namespace vernier {

struct BuildOptions {
  PassOptions passes;
  cpu::CpuOptions cpu;
};

class Engine {
 public:
  // The model is copied; constants share their buffers. Throws as import does.
  static std::shared_ptr<Engine> build(const Model& model, const BuildOptions& options = {});

  const Graph& graph() const { return *graph_; }  // after the passes that need no sizes
  // Kernels are made for a number of threads, so there is a program for each. Thread-safe. To be run, and
  // asked for plans, under that number only.
  Program& program(int threads);
  const std::vector<PassRecord>& passes() const { return passes_; }
  const BuildOptions& options() const { return options_; }

 private:
  explicit Engine(BuildOptions options) : options_(std::move(options)), kernels_(options_.cpu) {}
  std::shared_ptr<const Plan> compile(const Graph& graph, const std::vector<ValueType>& inputs);

  BuildOptions options_;
  cpu::CpuKernels kernels_;
  std::vector<PassRecord> passes_;
  std::unique_ptr<Graph> graph_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Program>> programs_;  // by number of threads
};

}  // namespace vernier
