// Runs the nodes of a plan that have no kernel at planning time: those of sizes that only running tells (a
// kernel is made for the sizes at hand, and kept), and those of operators that no backend has (their
// reference semantics).
#pragma once

#include "vernier/exec/program.h"
#include "vernier/exec/run_options.h"
#include "vernier/exec/scratch.h"

namespace vernier {

class ProgramRun;

// Belongs to one session; not thread-safe.
class NodeRunner {
 public:
  explicit NodeRunner(const KernelSource& kernels);
  ~NodeRunner();

  // What each region reads from around it, in order.
  using Captured = std::map<const Graph*, std::vector<Datum>>;
  // Throws what inference, kernel or reference throw, with the node's name, and Stopped.
  std::vector<Datum> run(const Plan& plan, const Step& step, const std::vector<const Datum*>& inputs,
                         const Captured& captured, const std::atomic<bool>* stop = nullptr);

  const KernelSource& kernels() const { return kernels_; }
  size_t bytes() const;  // of working memory, that of regions included

  // Kernels made at run time that are kept.
  static constexpr size_t kMaxKept = 4096;

 private:
  class Context;
  std::vector<Datum> run_region(const Plan& plan, const Graph& region, std::vector<Datum> inputs,
                                const std::atomic<bool>* stop);
  const Kernel* kernel_for(const Plan& plan, const KernelRequest& request);

  const KernelSource& kernels_;
  // By plan, node, and the sizes and small integer contents of its inputs; null: the backend has none.
  std::map<std::tuple<uint64_t, const Node*, std::vector<int64_t>>, std::unique_ptr<Kernel>> kept_;
  std::map<std::shared_ptr<Program>, std::unique_ptr<ProgramRun>> regions_;
  Scratch scratch_;
};

}  // namespace vernier
