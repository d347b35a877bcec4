#include "vernier/reduce/reduce.h"

#include "vernier/backends/reference/run_limit.h"
#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

class ReductionRun {
 public:
  ReductionRun(const ReproCase& whole, const Judgement& judgement, ReductionOracle& oracle,
               const ReduceOptions& options)
      : options_(options), watch_(options.budget), shrinking_(copy(whole), judgement, oracle, watch_) {
    shrinking_.on_step = options.progress;
    result_.whole = judgement.symptom;
    result_.before = size_of(whole);
  }

  Reduction run() && {
    {
      // A run of the reference that the end of the time finds at work gets half as much time again.
      const RunLimit limit(1.5 * options_.budget);
      constexpr double kPartBeforeAnonymising = 0.8;
      if (options_.anonymise) shrinking_.limit_part(kPartBeforeAnonymising);
      shrink();
      result_.is_finished = !shrinking_.is_over();
      shrinking_.limit_part(1);
      if (options_.anonymise) anonymise_best();
    }
    confirm();
    result_.result = copy(shrinking_.best());
    result_.judgement = shrinking_.judgement();
    result_.after = size_of(result_.result);
    result_.steps = shrinking_.steps();
    result_.seconds = watch_.seconds();
    return std::move(result_);
  }

 private:
  // Leaves a case as it is if the step cannot be done to it.
  template <class Step>
  void attempt(const Step& step) {
    if (shrinking_.is_over()) return;
    try {
      step();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUsage) throw;
      const std::string name = shrinking_.steps().empty() ? "nodes" : shrinking_.steps().back().name;
      result_.notes.push_back(fmt::format("step '{}' ended early: {}", name, error.message()));
    }
  }

  void shrink() {
    bool is_shown_by_copies = true;
    attempt([&] { is_shown_by_copies = cut_nodes(shrinking_); });
    if (!is_shown_by_copies) {
      result_.notes.emplace_back(
          "a copy of the model that is written again does not show it: what goes wrong is in the file, or "
          "does "
          "not come every time");
      return;
    }
    shrink_graph();
    attempt([&] { shrink_sizes(shrinking_); });
    attempt([&] { drop_attributes(shrinking_); });
    attempt([&] { simplify_values(shrinking_); });
    // Smaller sizes and simpler values may do without a node that was needed before.
    if (shrinking_.best().model.graph->nodes().size() < 2) return;
    attempt([&] { cut_nodes(shrinking_); });
    shrink_graph();
  }

  void shrink_graph() {
    constexpr int kDeepest = 8;  // regions inside of each other
    for (int depth = 0; depth < kDeepest && !shrinking_.is_over(); ++depth) {
      if (depth > 0) attempt([&] { cut_nodes(shrinking_); });
      attempt([&] { cut_outputs(shrinking_); });
      attempt([&] { bypass_nodes(shrinking_); });
      const size_t before = node_count(shrinking_.best().model);
      attempt([&] { open_regions(shrinking_); });
      attempt([&] { cut_region_nodes(shrinking_); });
      if (node_count(shrinking_.best().model) >= before) return;
    }
  }

  void anonymise_best() {
    attempt([&] { result_.anonymisation = anonymise(shrinking_, options_.seed); });
    if (result_.anonymisation) return;
    result_.anonymisation.emplace();
    result_.anonymisation->kept.emplace_back("anything: it ended before something could be replaced");
  }

  // An engine may show it only now and then, so the last case must show it once more.
  void confirm() {
    while (!is_interrupted()) {
      const Judgement again = shrinking_.oracle().judge(shrinking_.best());
      if (is_same_symptom(again.symptom, shrinking_.wanted())) return;
      if (!shrinking_.step_back()) break;
      result_.notes.emplace_back("a smaller case showed it once and not again: it was given up");
    }
  }

  const ReduceOptions& options_;
  const Stopwatch watch_;
  Shrinking shrinking_;
  Reduction result_;
};

}  // namespace

CaseSize size_of(const ReproCase& reproduction) {
  return {node_count(reproduction.model), constant_bytes(reproduction.model),
          input_bytes(reproduction.inputs)};
}

Reduction reduce(const ReproCase& whole, const Judgement& judgement, ReductionOracle& oracle,
                 const ReduceOptions& options) {
  return ReductionRun(whole, judgement, oracle, options).run();
}

}  // namespace vernier
