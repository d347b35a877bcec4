#include "vernier/diagnose/repairs/find_repairs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <list>

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/backends/reference/run_limit.h"
#include "vernier/base/file.h"
#include "vernier/diagnose/repairs/candidate.h"
#include "vernier/diagnose/repairs/changed_runner.h"
#include "vernier/diagnose/repairs/evaluator.h"
#include "vernier/diagnose/repairs/root_cause_group.h"
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/verify.h"
#include "vernier/onnx/export.h"
#include "vernier/onnx/import.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

namespace {

// The engine with all repairs so far, and the files of it.
struct Repaired {
  std::shared_ptr<Model> model;  // null: as it was
  EngineChange change;
  std::unique_ptr<Runner> runner;
};

class RepairSearch {
 public:
  RepairSearch(const RepairJob& job, const RepairOptions& options, Diagnosis& diagnosis)
      : job_(job),
        options_(options),
        diagnosis_(diagnosis),
        repair_builder_(options.repair_builder(job.engine)),
        watch_(options.budget),
        limit_(1.5 * options.budget),
        meant_(without_quantizers(job.model)),
        ideal_({{}, &meant_}, ReferenceMode::kIdeal) {}

  void run() {
    prepare();
    for (RootCauseGroup& group : by_class(diagnosis_.root_causes)) {
      if (state_.passes) {
        diagnosis_.notes.push_back(fmt::format(
            "{} needs no repair of its own: with those before it the engine passes", group.failure.code()));
        break;
      }
      repair(group);
    }
    for (const Experiment& each : watch_.experiments()) diagnosis_.experiments.push_back(each);
    diagnosis_.seconds += watch_.seconds();
  }

 private:
  // The sample that candidates are chosen on, and those that decide whether they hold. Where the model itself
  // is at fault, and not the engine, what is right is what the model means, without its roundings.
  void prepare() {
    stage("measuring what is to be repaired");
    const Sample& chosen = job_.samples.at(job_.chosen);
    limit_time();
    auto declared = make_evaluator(job_.against, {chosen});
    auto meant = make_evaluator(ideal_, {chosen});
    const double to_declared = declared->measure(job_.engine).relative_l2,
                 to_meant = meant->measure(job_.engine).relative_l2;
    constexpr double kMore = 3;
    const bool is_of_model = to_meant > kMore * to_declared;
    Runner& right = is_of_model ? static_cast<Runner&>(ideal_) : job_.against;
    chosen_ = is_of_model ? std::move(meant) : std::move(declared);
    const auto drawn = options_.draw ? options_.draw(job_.seed + 1) : nullptr;
    HeldOut others = held_out_samples(job_.samples, job_.chosen, drawn.get(), job_.seed);
    held_out_ = make_evaluator(right, std::move(others.samples));
    origin_ = others.origin;
    state_.on_chosen = chosen_->measure(job_.engine).relative_l2;
    measure_before(right);
  }

  // A fault that other samples do not show would be cured there by whatever is tried.
  void measure_before(Runner& right) {
    Measured before = held_out_->measure(job_.engine);
    constexpr double kShown = 0.1;
    if (!(before.relative_l2 >= kShown * state_.on_chosen) && !std::isinf(before.relative_l2)) {
      const Sample& chosen = job_.samples.at(job_.chosen);
      held_out_ = make_evaluator(right, {variation(chosen, job_.seed + 1), variation(chosen, job_.seed + 2)});
      origin_ = "2 variations of the sample at hand, since other samples do not show the error";
      before = held_out_->measure(job_.engine);
    }
    state_.on_held_out = before.relative_l2;
  }

  std::unique_ptr<Evaluator> make_evaluator(Runner& right, std::vector<Sample> samples) {
    return std::make_unique<Evaluator>(job_.model, right, job_.compare, std::move(samples), watch_);
  }

  void repair(RootCauseGroup& group) {
    const RepairContext context{model(),
                                group.failure,
                                group.nodes(),
                                group.values(),
                                job_.samples.at(job_.chosen).inputs,
                                *repair_builder_,
                                plan() != nullptr};
    std::vector<RejectedRepair> rejected;
    std::optional<Repair> found;
    for (RepairCandidate& candidate : repair_candidates(context)) {
      if (watch_.is_over()) {
        rejected.push_back({candidate.sentence, is_interrupted() ? "interrupted" : "the time was over"});
        break;
      }
      stage(candidate.sentence);
      candidates_.push_back(std::move(candidate));
      if (auto why = attempt(candidates_.back(), group, found); !why.empty())
        rejected.push_back({candidates_.back().sentence, std::move(why)});
      if (found) break;
    }
    for (RootCause* root_cause : group.root_causes) {
      if (found) {
        root_cause->repair = *found;
      } else if (rejected.empty()) {
        continue;  // nothing can be tried: what the cause alone says stays, unverified
      } else {
        const std::string advice = root_cause->repair.sentence;
        root_cause->repair = Repair();
        root_cause->repair.sentence = "none of the repairs that were tried holds";
        if (!advice.empty()) root_cause->repair.sentence += "; by the cause alone: " + advice;
      }
      root_cause->repair.rejected = rejected;
    }
  }

  // Why it was not taken; empty where it was, or where it does not apply.
  std::string attempt(const RepairCandidate& candidate, const RootCauseGroup& group,
                      std::optional<Repair>& found) {
    try {
      Repaired made;
      if (auto why = change(candidate, made); !why.empty() || made.runner == nullptr) return why;
      return judge(candidate, group, std::move(made), found);
    } catch (const Error& error) {
      return error.message();
    }
  }

  std::string change(const RepairCandidate& candidate, Repaired& made) {
    made.change = repaired_.change;
    made.change.options.insert(candidate.options.begin(), candidate.options.end());
    if (candidate.rewrite) {
      made.model = std::make_shared<Model>(clone(model()));
      if (!candidate.rewrite(*made.model)) return "";
      if (auto why = check_rewritten(candidate, *made.model); !why.empty()) return why;
      const auto path = file_for(candidate, "onnx");
      export_model(*made.model, path);
      // The user gets exactly what is tried: the file, in which new nodes have names of their own.
      *made.model = import_model(path).model;
      made.change.model = {path, made.model.get()};
      if (!made.change.plan.empty()) put_plan(candidate, carried_plan(*plan(), *made.model->graph), made);
    } else {
      made.model = repaired_.model;
    }
    if (candidate.plan) {
      const auto changed = candidate.plan(*plan());
      if (!changed) return "";
      put_plan(candidate, *changed, made);
    }
    made.runner = start(made.change, candidate);
    return "";
  }

  const Model& model() const { return repaired_.model ? *repaired_.model : job_.model; }
  // Gives the plan of the engine as repaired so far.
  const PrecisionPlan* plan() const {
    return repair_builder_->plan(repaired_.runner ? *repaired_.runner : job_.engine);
  }
  std::filesystem::path file_for(const RepairCandidate& candidate, const char* ending) const {
    return folder_.path() / fmt::format("{}-{}.{}", candidates_.size(), candidate.name, ending);
  }
  void put_plan(const RepairCandidate& candidate, const PrecisionPlan& plan, Repaired& made) const {
    made.change.plan = file_for(candidate, "json");
    write_file(made.change.plan, plan_json(plan));
  }

  std::unique_ptr<Runner> start(const EngineChange& change, const RepairCandidate& candidate) {
    return std::make_unique<ChangedRunner>(
        [this, change] { return repair_builder_->make(change, seconds_of_a_run()); }, *job_.model.graph,
        candidate);
  }

  // A rewritten model must be one, and mean the same.
  std::string check_rewritten(const RepairCandidate& candidate, Model& model) {
    ops::infer_types(*model.graph);
    verify(*model.graph);
    std::vector<Sample> samples = chosen_->samples();
    samples.insert(samples.end(), held_out_->samples().begin(), held_out_->samples().end());
    const double distance = watch_.time("meaning of rewrites", static_cast<int64_t>(samples.size()),
                                        [&] { return distance_in_meaning(meant_, model, samples); });
    if (distance <= candidate.preserves_within) return "";
    return fmt::format("it does not mean the same: the reference differs by {:.2g}", distance);
  }

  std::string judge(const RepairCandidate& candidate, const RootCauseGroup& group, Repaired made,
                    std::optional<Repair>& found) {
    const Measured first = chosen_->measure(*made.runner, candidate.times);
    if (!first.trouble.empty()) return first.trouble;
    // One sample alone does not show what a run before has left.
    if (!candidate.run && !candidate.starts_anew && !is_less(first, state_.on_chosen, group))
      return fmt::format("on the sample at hand the error goes from {:.2g} to {:.2g}", state_.on_chosen,
                         first.relative_l2);
    const Measured after = held_out_->measure(*made.runner, candidate.times);
    if (!after.trouble.empty()) return after.trouble;
    if (!is_less(after, state_.on_held_out, group))
      return fmt::format("on {} the error goes from {:.2g} to {:.2g}", origin_, state_.on_held_out,
                         after.relative_l2);
    found = keep(candidate, std::move(made), first, after);
    return "";
  }

  // A root cause that makes a part of the error takes away no more than that.
  bool is_less(const Measured& after, double before, const RootCauseGroup& group) const {
    constexpr double kTenth = 0.1, kHalf = 0.5, kWhole = 0.9;
    // The best of eight bits are a few times better than bad ones.
    constexpr int kFirst = 19, kLast = 30;  // the classes of quantization
    const bool is_quantized = group.failure >= FailureClass(kFirst) && group.failure <= FailureClass(kLast);
    const double goal = is_quantized ? kHalf : kTenth;
    const double part = group.share >= kWhole || by_class(diagnosis_.root_causes).size() == 1
                            ? goal
                            : std::max(goal, 1 - kHalf * group.share);
    const bool falls =
        std::isinf(before) ? std::isfinite(after.relative_l2) : after.relative_l2 <= part * before;
    return falls || (after.passes && after.relative_l2 < before);
  }

  Repair keep(const RepairCandidate& candidate, Repaired made, const Measured& first, const Measured& after) {
    Repair repair;
    repair.kind = candidate.kind;
    repair.verified = RepairMeasurement{state_.on_held_out, after.relative_l2, std::nullopt,
                                        held_out_->samples().size(), after.passes};
    if (made.change.plan != repaired_.change.plan)
      made.change.plan = repair.file = kept_file(made.change.plan, "plan.json");
    if (candidate.rewrite)
      made.change.model.path = repair.file = kept_file(made.change.model.path, candidate.name + ".onnx");
    if (!watch_.is_over()) {
      stage("timing the repair");
      constexpr double kSeconds = 2;
      repair.verified->cost_percent = watch_.time("timing", 1, [&] {
        return cost_percent(job_.engine, *made.runner, job_.samples.at(job_.chosen).inputs, kSeconds);
      });
    }
    repair.sentence = candidate.sentence;
    if (candidate.kind != Repair::Kind::kCaller)
      repair.sentence += ": " + repair_builder_->command(made.change);
    repair.sentence += fmt::format(" (verified on {})", origin_);
    state_ = {first.relative_l2, after.relative_l2, after.passes};
    repaired_ = std::move(made);
    return repair;
  }

  std::string kept_file(const std::filesystem::path& made, const std::string& name) {
    std::filesystem::create_directories(options_.folder);
    const auto kept = options_.folder / name;
    std::filesystem::copy_file(made, kept, std::filesystem::copy_options::overwrite_existing);
    if (const auto data = made.string() + ".data"; std::filesystem::exists(data))
      std::filesystem::copy_file(data, options_.folder / std::filesystem::path(data).filename(),
                                 std::filesystem::copy_options::overwrite_existing);
    return kept.string();
  }

  double seconds_of_a_run() const { return std::max(1.0, watch_.left()); }
  void limit_time() { job_.engine.limit_time(seconds_of_a_run()); }
  void stage(const std::string& text) const {
    if (job_.progress) job_.progress("repair: " + text);
  }

  struct State {
    double on_chosen = 0, on_held_out = 0;  // relative L2 with all repairs so far
    bool passes = false;
  };

  const RepairJob& job_;
  const RepairOptions& options_;
  Diagnosis& diagnosis_;
  std::unique_ptr<RepairBuilder> repair_builder_;
  Stopwatch watch_;
  const RunLimit limit_;
  const Model meant_;
  ReferenceRunner ideal_;
  TemporaryFolder folder_;
  std::unique_ptr<Evaluator> chosen_, held_out_;
  std::string origin_;  // of the samples that are held out
  State state_;
  std::list<RepairCandidate> candidates_;  // runners refer to them
  Repaired repaired_;
};

}  // namespace

void find_repairs(const RepairJob& job, const RepairOptions& options, Diagnosis& diagnosis) {
  RepairSearch(job, options, diagnosis).run();
}

}  // namespace vernier
