#include "vernier/engine/verified_build.h"

#include <chrono>

#include "vernier/backends/cpu/parallel.h"
#include "vernier/engine/kept_tactics.h"
#include "vernier/ir/clone.h"

namespace vernier {

namespace {

std::vector<std::vector<ValueType>> sizes_to_prepare(const Engine& engine) {
  std::vector<std::vector<ValueType>> all;
  const auto add = [&](std::vector<ValueType> types) {
    if (std::find(all.begin(), all.end(), types) == all.end()) all.push_back(std::move(types));
  };
  const Graph& graph = engine.graph();
  for (const ShapeProfile& profile : engine.options().profiles) {
    for (auto size : {&DimRange::opt, &DimRange::min, &DimRange::max}) add(profile.types(graph, size));
  }
  const bool fixed = std::all_of(graph.inputs.begin(), graph.inputs.end(), [](const Value* input) {
    return input->type.is_tensor() && input->type.tensor.shape && to_dims(*input->type.tensor.shape);
  });
  if (all.empty() && fixed) add(ShapeProfile{}.types(graph, &DimRange::opt));
  return all;
}

// The engine again, each of its plans with other choices.
std::shared_ptr<Engine> with_choices(const Engine& engine, const std::vector<PlanChoices>& choices) {
  const Engine::Content& content = engine.content();
  auto again = Engine::restore(
      {clone(*content.graph), content.passes, content.precision, content.nodes, content.structure},
      engine.options());
  for (size_t i = 0; i < choices.size(); ++i) {
    const Engine::Prepared& prepared = engine.prepared()[i];
    const cpu::ThreadScope scope(prepared.threads);
    again->prepare(prepared.inputs, &choices[i]);
  }
  return again;
}

class VerifiedBuild {
 public:
  VerifiedBuild(const Model& model, BuildOptions options, const std::vector<Sample>& samples,
                AccuracyOptions how)
      : model_(model),
        options_(std::move(options)),
        samples_(samples.empty() ? drawn_samples(model, options_.profiles, how.seed) : samples),
        how_(std::move(how)) {
    if (!options_.timing_cache) options_.timing_cache = std::make_shared<TimingCache>(timing_device());
  }

  VerifiedEngine make() {
    build([&] { return build_prepared(model_, options_); });
    const bool may_give_up =
        !options_.fault && options_.tune.approximate && approximate_nodes(*made_.engine) > 0;
    judge(may_give_up);
    if (passes() || !may_give_up) return std::move(made_);
    give_up_some();
    if (!passes()) give_up_all();
    return std::move(made_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  template <class Make>
  void build(const Make& make) {
    const auto start = Clock::now();
    if (auto engine = make()) made_.engine = std::move(engine);
    made_.build_seconds += seconds_since(start);
  }

  void judge(bool provisional) {
    const auto start = Clock::now();
    AccuracyOptions how = how_;
    how.provisional = provisional;
    how.promised = &promised_;
    made_.accuracy = accuracy_verdict(made_.engine, model_, samples_, how);
    made_.verdict_seconds += seconds_since(start);
  }

  bool passes() const { return made_.accuracy.verdict() == Verdict::kPass; }

  void give_up_some() {
    const std::string verdict(verdict_name(made_.accuracy.verdict()));
    KeptTactics found;
    build([&]() -> std::shared_ptr<Engine> {
      found = keep_tactics(*made_.engine, samples_, how_.compare.tolerances);
      if (found.kept == 0 || found.kept == found.of) return nullptr;
      return with_choices(*made_.engine, found.choices);
    });
    made_.notes.push_back(
        fmt::format("with tactics that approximate in {} nodes the verdict was {}", found.of, verdict));
    if (found.kept == 0 || found.kept == found.of) return;
    judge(true);
    made_.notes.back() += fmt::format(": given up in {} of them, {:.2f} ms of a run as timed",
                                      found.of - found.kept, found.slower * 1e3);
    if (!passes()) made_.notes.back() += fmt::format(", it was {}", verdict_name(made_.accuracy.verdict()));
  }

  void give_up_all() {
    options_.tune.approximate = false;
    build([&] { return build_prepared(model_, options_); });
    judge(false);
    made_.notes.back() += ": given up in all";
  }

  const Model& model_;
  BuildOptions options_;
  const std::vector<Sample> samples_;
  AccuracyOptions how_;
  PromisedTraces promised_;
  VerifiedEngine made_;
};

}  // namespace

std::shared_ptr<Engine> build_prepared(const Model& model, const BuildOptions& options) {
  auto engine = Engine::build(model, options);
  for (const auto& types : sizes_to_prepare(*engine)) engine->prepare(types);
  return engine;
}

VerifiedEngine build_verified(const Model& model, BuildOptions options, const std::vector<Sample>& samples,
                              const AccuracyOptions& how) {
  return VerifiedBuild(model, std::move(options), samples, how).make();
}

}  // namespace vernier
