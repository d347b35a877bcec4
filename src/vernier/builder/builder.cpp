#include "vernier/builder/builder.h"

#include <chrono>

#include "vernier/base/memory.h"
#include "vernier/compile/automatic_sizes.h"
#include "vernier/compile/tactic_selection.h"
#include "vernier/engine/describe.h"
#include "vernier/tune/timing_cache.h"

namespace vernier {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::vector<ValueType>> sizes_of_profiles(const Compiler& compiler) {
  std::vector<std::vector<ValueType>> all;
  for (const ShapeProfile& profile : compiler.options().profiles) {
    for (auto size : {&DimRange::opt, &DimRange::min, &DimRange::max}) {
      auto types = profile.types(compiler.graph(), size);
      if (std::find(all.begin(), all.end(), types) == all.end()) all.push_back(std::move(types));
    }
  }
  return all;
}

BuildOptions with_timing_cache(BuildOptions options) {
  if (!options.timing_cache) options.timing_cache = shared_timing_cache(timing_device());
  return options;
}

}  // namespace

Builder::Builder(const Model& model, BuildOptions options)
    : model_(model), options_(with_timing_cache(std::move(options))) {
  timed([&] { compiler_.emplace(model_, options_); });
  made_.engine = compiler_->engine();
  made_.notes = made_.engine->precision().notes;
}

template <class Work>
void Builder::timed(const Work& work) {
  const auto start = Clock::now();
  work();
  made_.build_seconds += seconds_since(start);
}

BuiltEngine Builder::build(std::vector<Sample> samples, Judge judge, const ProofOptions& how) {
  const KeptMemory kept;  // from one trial of a kernel to the next
  samples_ = std::move(samples);
  how_ = how;
  how_.prices = how.prices && judge == Judge::kAlways;  // nobody else shows the certificate
  timed([&] {
    choose_sizes();
    compile();
  });
  require_forced();
  const bool may_give_up =
      !options_.fault && options_.tune.approximate && approximate_nodes(*made_.engine) > 0;
  if (judge == Judge::kNever || (judge == Judge::kApproximations && !may_give_up)) return std::move(made_);
  if (!draw_samples()) return std::move(made_);
  this->judge(may_give_up);
  if (passes() || !may_give_up) return std::move(made_);
  give_up_some();
  if (!passes()) give_up_all();
  return std::move(made_);
}

void Builder::choose_sizes() {
  sizes_ = sizes_of_profiles(*compiler_);
  if (sizes_.empty() && has_fixed_sizes(compiler_->graph()))
    sizes_ = {ShapeProfile{}.types(compiler_->graph(), &DimRange::opt)};
  if (sizes_.empty()) {
    AutomaticSizes found = automatic_sizes(*compiler_, model_, samples_, how_.seed);
    made_.notes.push_back(std::move(found.note));
    if (!found.inputs.empty()) sizes_ = {std::move(found.inputs)};
    if (samples_.empty() && found.sample) samples_ = {std::move(*found.sample)};
  }
}

// Keeps what choosing the sizes has prepared already.
void Builder::compile() {
  const auto prepare = [&](const std::vector<ValueType>& types) {
    const auto& prepared = compiler_->prepared();
    const bool known =
        std::any_of(prepared.begin(), prepared.end(), [&](const auto& each) { return each.inputs == types; });
    if (!known) compiler_->prepare(types);
  };
  for (const auto& types : sizes_) prepare(types);
  for (const auto& types : added_sizes_) prepare(types);
  tune_between();
  made_.engine = compiler_->engine();
}

// A tactic that wins at the ends of a range need not win inside.
void Builder::tune_between() {
  if (options_.deterministic || options_.tune.level == 0) return;
  for (const ShapeProfile& profile : options_.profiles) {
    for (const auto& types : profile.types_between(compiler_->graph())) {
      const auto nearest = compiler_->tuned().nearest(types);
      if (nearest != nullptr && nearest->inputs == types) continue;
      try {
        compiler_->tune_for(types);
      } catch (const Error& error) {  // the model may take multiples of something only
        if (error.code() != ErrorCode::kBadInput) throw;
      }
    }
  }
}

// Unless there are some. False where the model has inputs that nothing can be drawn for.
bool Builder::draw_samples() {
  if (!samples_.empty()) return true;
  try {
    samples_ = drawn_samples(model_, options_.profiles, how_.seed);
    return true;
  } catch (const Error& error) {
    made_.certificate.emplace();
    made_.certificate->reasons = {error.what()};
    return false;
  }
}

void Builder::judge(bool provisional) {
  const auto start = Clock::now();
  ProofOptions how = how_;
  how.provisional = provisional;
  how.promised = &promised_;
  made_.certificate = prove(made_.engine, model_, samples_, how);
  made_.verdict_seconds += seconds_since(start);
}

bool Builder::passes() const {
  return made_.certificate->verdict == Verdict::kPass;
}

void Builder::give_up_some() {
  const std::string verdict(verdict_name(made_.certificate->verdict));
  KeptTactics found;
  timed([&] {
    found = keep_tactics(*made_.engine, samples_, how_.compare.tolerances);
    if (found.kept > 0 && found.kept < found.of) made_.engine = with_kept(*made_.engine, found);
  });
  made_.notes.push_back(
      fmt::format("with tactics that approximate in {} nodes the verdict was {}", found.of, verdict));
  if (found.kept == 0 || found.kept == found.of) return;
  judge(true);
  made_.notes.back() += fmt::format(": given up in {} of them, {:.2f} ms of a run as timed",
                                    found.of - found.kept, found.slower * 1e3);
  if (!passes()) made_.notes.back() += fmt::format(", it was {}", verdict_name(made_.certificate->verdict));
}

void Builder::give_up_all() {
  options_.tune.approximate = false;
  timed([&] {
    compiler_.emplace(model_, options_);
    compile();
  });
  judge(false);
  made_.notes.back() += ": given up in all";
}

void Builder::require_forced() const {
  const std::string& forced = options_.tune.forced;
  if (forced.empty()) return;
  for (const TuneResult& result : made_.engine->tuning().results) {
    const auto found = result.records.find(forced);
    if (found != result.records.end() && !found->second.quarantine.empty())
      throw unsupported("the tactic '{}', which is forced, is in quarantine for {}: {}", forced,
                        result.request, found->second.quarantine);
  }
  const auto& offered = made_.engine->tuning().offered;
  if (!offered.contains(forced))
    throw usage_error("no node of the model can be computed by the tactic '{}'", forced)
        .advise(fmt::format("there are: {}", fmt::join(offered, ", ")));
}

std::shared_ptr<EngineOnDemand> build_on_demand(const Model& model, BuildOptions options) {
  const auto builder = std::make_shared<Builder>(model, std::move(options));
  return std::make_shared<EngineOnDemand>(builder->engine(), [builder](const NamedData& inputs) {
    return builder->build({{"the first sample", inputs, {}, {}}}, Judge::kApproximations).engine;
  });
}

}  // namespace vernier
