#include "vernier/compile/tactic_selection.h"

#include <cmath>

#include "vernier/backends/installed/drivers.h"
#include "vernier/base/thread_limit.h"
#include "vernier/compile/choose_tactics.h"
#include "vernier/engine/workspace.h"
#include "vernier/exec/bind_inputs.h"
#include "vernier/exec/probing/repeated_run.h"
#include "vernier/ir/clone.h"
#include "vernier/tune/exchangeable_kernels.h"

namespace vernier {

namespace {

// Places that are told apart; of more elements the worst of each place counts.
constexpr size_t kMostPlaces = 1 << 14;
// The approximations may use up this part of the tolerance, because the exact kernels round, too.
constexpr double kUsable = 0.8;

// A plan whose approximate kernels can be exchanged, run on the samples of its sizes.
class ExchangeablePlan {
 public:
  ExchangeablePlan(const Engine& engine, const PreparedPlan& prepared, Tuner& exact,
                   const Tolerances& tolerances)
      : prepared_(prepared),
        tolerances_(tolerances),
        kernels_(engine.kernels(), exact, host_driver().approximate_tactics()),
        nodes_(kernels_) {
    for (const auto& [key, form] : engine.packed().forms()) packed_.add(key, form);  // is not packed again
    plan_ = engine.planner().plan_again(*prepared.plan, kernels_, packed_);
  }

  // Measures what every node takes of the tolerance at every output of every sample.
  std::vector<Approximation> measure(const Graph& graph, const std::vector<Sample>& samples) {
    use(std::vector<bool>(exchanges().size(), false));
    for (const Sample& sample : samples) add(graph, sample);
    std::vector<Approximation> all;
    for (const auto& exchange : exchanges()) all.push_back({exchange->saved, {}});
    const auto steps = steps_of_exchanges();
    if (steps) {
      for (size_t sample = 0; sample < inputs_.size(); ++sample) measure(sample, *steps, all);
      return all;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<bool> alone(all.size(), false);
      alone[i] = true;
      all[i].share = shares(alone);
    }
    return all;
  }

  // Squares of the errors, in usable tolerances.
  std::vector<double> shares(const std::vector<bool>& approximate) {
    use(approximate);
    std::vector<double> places;
    for (size_t sample = 0; sample < inputs_.size(); ++sample)
      add_shares(sample, run(inputs_[sample]), places);
    return places;
  }

  const std::vector<std::shared_ptr<Exchange>>& exchanges() const { return kernels_.exchanges(); }
  bool has_samples() const { return !inputs_.empty(); }

 private:
  void use(const std::vector<bool>& approximate) {
    for (size_t i = 0; i < approximate.size(); ++i) exchanges()[i]->approximate = approximate[i];
  }

  // By step, the exchange in it; nothing if one cannot be run alone without all steps before it.
  std::optional<std::map<size_t, size_t>> steps_of_exchanges() const {
    if (!RepeatedRun::serves(*plan_)) return std::nullopt;
    std::map<std::string, size_t> made_by;
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      const Node* node = plan_->steps[i].node;
      if (node != nullptr && node->output(0) != nullptr) made_by[node->output(0)->name] = i;
    }
    std::map<size_t, size_t> found;
    for (size_t i = 0; i < exchanges().size(); ++i) {
      const auto step = made_by.find(exchanges()[i]->value);
      if (step == made_by.end()) return std::nullopt;
      found[step->second] = i;
    }
    return found;
  }

  void measure(size_t sample, const std::map<size_t, size_t>& steps, std::vector<Approximation>& all) {
    const ThreadLimit scope(prepared_.threads);
    Execution execution(plan_, nodes_, memory_);
    RepeatedRun run(execution, inputs_[sample]);
    for (const auto& [step, i] : steps) {
      while (run.step() < step) run.advance();
      exchanges()[i]->approximate = true;
      add_shares(sample, run.run_rest(), all[i].share);
      exchanges()[i]->approximate = false;
    }
  }

  // A sample of other sizes, or one that cannot be run, tells nothing here.
  void add(const Graph& graph, const Sample& sample) {
    try {
      auto inputs = bind_inputs(graph, sample.inputs);
      if (types_of(graph, inputs) != prepared_.inputs) return;
      exact_.push_back(run(inputs));
      inputs_.push_back(std::move(inputs));
    } catch (const Error&) {
      return;
    }
  }

  std::vector<Datum> run(const std::vector<Datum>& inputs) {
    const ThreadLimit scope(prepared_.threads);
    Execution execution(plan_, nodes_, memory_);
    std::vector<Datum> outputs;
    execution.run(inputs, outputs);
    return outputs;
  }

  void add_shares(size_t sample, const std::vector<Datum>& outputs, std::vector<double>& places) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].is_tensor() || outputs[i].tensor.type() == ElementType::kString) continue;
      add_shares(exact_[sample][i].tensor, outputs[i].tensor, *plan_->graph->outputs[i], places.size(),
                 places);
    }
  }

  void add_shares(const Tensor& exact, const Tensor& actual, const Value& output, size_t begin,
                  std::vector<double>& places) const {
    const Tolerance tolerance = tolerances_.of(output.name, exact.type());
    const auto expected = exact.to_doubles(), got = actual.to_doubles();
    places.resize(begin + std::clamp<size_t>(expected.size(), 1, kMostPlaces), 0);
    if (expected.size() != got.size()) {
      places[begin] = HUGE_VAL;
      return;
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] == got[i] || (std::isnan(expected[i]) && std::isnan(got[i]))) continue;
      const double share = (got[i] - expected[i]) / (kUsable * tolerance.allowed(expected[i]));
      double& place = places[begin + i % kMostPlaces];
      place = std::isnan(share) ? HUGE_VAL : std::max(place, share * share);
    }
  }

  const PreparedPlan& prepared_;
  const Tolerances& tolerances_;
  ExchangeableKernels kernels_;
  PackedConstants packed_;
  DynamicShapeExecutor nodes_;
  SessionMemory memory_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::vector<Datum>> inputs_, exact_;  // by sample
};

// Finds what an approximate tactic computes at any of some sizes, by the value that it makes.
class ApproximateNodes {
 public:
  void add(const PlanChoices& choices) {
    for (const auto& [value, tactic] : choices.tactics) {
      if (approximate_.contains(tactic)) values_.insert(value);
    }
  }
  size_t count() const { return values_.size(); }

 private:
  std::set<std::string> approximate_ = host_driver().approximate_tactics(), values_;
};

// Squares add up if errors are independent. Run together they show whether these are; if not, there is less
// room than it seemed.
std::vector<bool> choose(ExchangeablePlan& plan, std::vector<Approximation> all) {
  constexpr double kTighter = 1.25;
  for (;;) {
    auto kept = keep_within_limit(all);
    if (std::find(kept.begin(), kept.end(), true) == kept.end()) return kept;
    const auto together = plan.shares(kept);
    if (std::all_of(together.begin(), together.end(), [](double share) { return share <= 1; })) return kept;
    for (Approximation& each : all) {
      for (double& share : each.share) share *= kTighter;
    }
  }
}

// Holds what is known of the nodes of all plans, by the value that they make.
struct Findings {
  std::map<std::string, bool> kept;  // false wins
  double slower = 0;

  void add(const std::vector<std::shared_ptr<Exchange>>& exchanges, const std::vector<bool>& chosen) {
    double lost = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      bool& all = kept.emplace(exchanges[i]->value, true).first->second;
      all = all && chosen[i];
      if (!chosen[i]) lost += exchanges[i]->saved;
    }
    slower = std::max(slower, lost);
  }

  bool keeps(const std::string& value) const {
    const auto found = kept.find(value);
    return found != kept.end() && found->second;
  }
};

bool has_plan(const Engine& engine, const std::vector<ValueType>& inputs) {
  return std::any_of(engine.prepared().begin(), engine.prepared().end(),
                     [&](const PreparedPlan& each) { return each.inputs == inputs; });
}

}  // namespace

size_t approximate_nodes(const Engine& engine) {
  ApproximateNodes nodes;
  for (const auto& sizes : engine.tuned().all()) nodes.add(sizes->choices);
  return nodes.count();
}

KeptTactics keep_tactics(const Engine& engine, const std::vector<Sample>& samples,
                         const Tolerances& tolerances) {
  const auto cache = engine.options().timing_cache ? engine.options().timing_cache
                                                   : std::make_shared<TimingCache>(timing_device());
  TuneOptions options = engine.options().tune;
  options.approximate = false;
  Tuner exact(engine.kernels(), *cache, tuner_options(options));
  const auto approximate = host_driver().approximate_tactics();
  Findings findings;
  std::vector<std::vector<std::shared_ptr<Exchange>>> exchanges;  // by plan
  for (const PreparedPlan& prepared : engine.prepared()) {
    const ThreadLimit scope(prepared.threads);
    ExchangeablePlan plan(engine, prepared, exact, tolerances);
    exchanges.push_back(plan.exchanges());
    const auto all = plan.measure(engine.graph(), samples);
    if (plan.has_samples()) findings.add(plan.exchanges(), choose(plan, all));
  }
  KeptTactics result;
  result.of = approximate_nodes(engine);
  result.slower = findings.slower;
  ApproximateNodes kept;
  for (size_t i = 0; i < exchanges.size(); ++i) {
    PlanChoices& choices = result.choices.emplace_back(engine.prepared()[i].plan->choices);
    for (const auto& exchange : exchanges[i]) {
      if (findings.keeps(exchange->value)) continue;
      if (exchange->exact.empty())
        choices.tactics.erase(exchange->value);
      else
        choices.tactics[exchange->value] = exchange->exact;
    }
    kept.add(choices);
  }
  for (const auto& sizes : engine.tuned().all()) {
    if (has_plan(engine, sizes->inputs)) continue;
    TunedSizes& between = result.between.emplace_back(*sizes);
    std::erase_if(between.choices.tactics, [&](const auto& entry) {
      return approximate.contains(entry.second) && !findings.keeps(entry.first);
    });
    kept.add(between.choices);
  }
  result.kept = kept.count();
  return result;
}

std::shared_ptr<const Engine> with_kept(const Engine& engine, const KeptTactics& kept) {
  const EngineContent& content = engine.content();
  const BuildOptions& options = engine.options();
  const auto planner =
      std::make_shared<Planner>(EngineContent{clone(*content.graph), content.passes, content.precision,
                                              content.nodes, content.structure, content.separate},
                                options);
  std::vector<PreparedPlan> prepared;
  TunedChoices tuned;
  for (size_t i = 0; i < kept.choices.size(); ++i) {
    const PreparedPlan& before = engine.prepared()[i];
    const ThreadLimit scope(before.threads);
    auto plan =
        planner->plan(planner->specialise(planner->graph_for(before.inputs), before.inputs), kept.choices[i]);
    require_workspace(*plan, options.workspace, options.profiles);
    tuned.add({before.inputs, plan->choices});
    prepared.push_back({before.inputs, std::move(plan), before.threads});
  }
  for (const TunedSizes& sizes : kept.between) tuned.add(sizes);
  return std::make_shared<const Engine>(planner, std::move(prepared), std::move(tuned), engine.tuning());
}

}  // namespace vernier
