// Plans of regions of control flow: the bodies of If, Loop and Scan, whose inputs mostly have other sizes
// than the model says anything of.
#pragma once

#include "vernier/engine/sizes/sized_plans.h"
#include "vernier/exec/program.h"

namespace vernier {

// Plans of one region for sizes that come again and again, as a loop has them in which something grows. How
// the sizes hang together is learned from two trips; where later ones do not fit, from others. Thread-safe.
class RegionPlans {
 public:
  // Gives the region where its inputs have these types, of symbols: inferred, its passes run.
  using Infer = std::function<std::unique_ptr<Graph>(const Graph& region, const std::vector<ValueType>&)>;

  // `maker` but for its graph.
  RegionPlans(SizedPlans::Maker maker, Infer infer) : maker_(std::move(maker)), infer_(std::move(infer)) {}

  // Null where nothing is learned that serves; see SizedPlans.
  std::shared_ptr<const Plan> plan(const Graph& region, const std::vector<ValueType>& inputs,
                                   const PlanChoices& choices, bool with_graph);

 private:
  std::shared_ptr<SizedPlans> learned(const Graph& region, const std::vector<ValueType>& inputs);
  void forget(const std::shared_ptr<SizedPlans>& plans, const std::vector<ValueType>& inputs);

  static constexpr int kMostLessons = 4;

  SizedPlans::Maker maker_;
  Infer infer_;
  std::mutex mutex_;
  std::shared_ptr<SizedPlans> plans_;
  std::vector<ValueType> before_;  // inputs that came before, while nothing is learned
  int lessons_ = 0;
};

// Programs of regions by what they compute and how their nodes are called: plans for further sizes of the
// graph around them have copies of the same regions. Thread-safe.
class RegionPrograms {
 public:
  using Make = std::function<std::shared_ptr<Program>(std::unique_ptr<Graph> region)>;
  // `region` is closed (close_region). `how`: what else the program depends on.
  std::shared_ptr<Program> get(std::unique_ptr<Graph> region, uint64_t how, const Make& make);

  static constexpr size_t kMost = 64;

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Program>> programs_;
};

}  // namespace vernier
