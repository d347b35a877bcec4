#include "vernier/search/engine_prober.h"

#include <cmath>

#include "vernier/bench/paired_timing.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/describe.h"
#include "vernier/search/target.h"
#include "vernier/search/unit_plans.h"

namespace vernier {

namespace {

constexpr size_t kMostProfiledRuns = 20, kFewestProfiledRuns = 5;
constexpr double kProfiledSeconds = 0.4;
// Each part of the data has so many samples where somebody waits.
constexpr size_t kUrgentSamples = 8;

// The fewer race, the longer each does.
PairedTimingOptions paired_timing_options(size_t racing, const EngineProberOptions& given) {
  const bool urgent = given.is_urgent();
  PairedTimingOptions options;
  options.warmup = urgent ? 0.02 : 0.1;
  options.duration = urgent ? 0.1 : given.race_seconds / static_cast<double>(racing);
  options.rounds = urgent ? 5 : std::max<size_t>(9, 51 / racing);
  options.min_runs = options.rounds;
  options.seed = given.seed;
  return options;
}

// The 95 % interval of the mean of points that rows lost.
std::optional<Interval> interval_of_mean(const std::vector<double>& losses) {
  constexpr double kSigmas = 1.96;
  if (losses.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(losses.size());
  double sum = 0, squares = 0;
  for (const double lost : losses) sum += lost, squares += lost * lost;
  const double mean = sum / count,
               variance = std::max(0.0, squares / count - mean * mean) * count / (count - 1);
  const double reach = kSigmas * std::sqrt(variance / count);
  return Interval{mean - reach, mean + reach};
}

// A failing build is a matter of the plan, unless memory or the model itself is wrong.
template <class Make>
std::string failure_of(const Make& make) {
  try {
    make();
    return "";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
    return error.what();
  }
}

}  // namespace

EngineProber::EngineProber(const Model& model, const UnitPlans& plans, const TuningData& data,
                           TaskMetric* metric, EngineProberOptions options)
    : model_(model),
      plans_(plans),
      data_(data),
      metric_(metric),
      options_(std::move(options)),
      reference_({{}, &model}),
      expected_(data.samples.size()) {
  if (metric_ != nullptr) expect_all();
}

// Labels are counted over all samples in their order.
void EngineProber::expect_all() {
  std::vector<const NamedData*> all;
  for (size_t i = 0; i < data_.samples.size(); ++i) {
    if (options_.is_over())
      throw unsupported(
          "time was over when the reference had run on {} of {} samples, and a metric needs all", i,
          data_.samples.size())
          .advise("raise --budget, or give fewer samples");
    all.push_back(&expected(i));
  }
  labels_ = labels_of(*metric_, all, options_.labels);
}

const NamedData& EngineProber::expected(size_t sample) {
  auto& known = expected_[sample];
  if (known) return *known;
  options_.progress(fmt::format("reference, sample {}", sample));
  NamedData outputs;
  for (TraceEntry& entry : reference_.run(data_.samples[sample].inputs, {}).entries)
    outputs[entry.value] = std::move(entry.datum);
  known = std::move(outputs);
  return *known;
}

BuildOptions EngineProber::build_options(const CandidatePlan& types) const {
  BuildOptions options = options_.build;
  const auto constraints = options.precision.constraints;
  options.precision = {};
  options.precision.constraints = constraints;
  options.planned = types ? plans_.plan(*types) : plans_.start();
  return options;
}

std::shared_ptr<const Engine> EngineProber::quick_engine(const TypeAssignment& types) const {
  BuildOptions options = build_options(types);
  options.tune.level = 0;
  Compiler compiler(model_, options);
  std::vector<std::vector<ValueType>> sizes;
  for (const Sample& sample : data_.samples) {
    auto size = input_types(compiler.graph(), sample.inputs);
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(std::move(size));
    if (sizes.size() == 2) break;  // others are planned when they come
  }
  for (const auto& size : sizes) compiler.prepare(size);
  return compiler.engine();
}

std::shared_ptr<const Engine> EngineProber::tuned_engine(const CandidatePlan& types) const {
  BuildOptions options = build_options(types);
  if (options_.is_urgent()) options.tune.level = std::min(options.tune.level, 1);
  Builder builder(model_, std::move(options));
  return builder.build({{"the first sample", data_.timed, {}, {}}}, Judge::kNever).engine;
}

UnitTimes EngineProber::times() {
  UnitTimes times;
  std::set<ElementType> types;
  for (const SearchUnit& unit : units()) types.insert(unit.types.begin(), unit.types.end());
  if (types.empty() || !time_units(ElementType::kFloat, times)) return times;
  for (const ElementType type : types) {
    if (!time_units(type, times)) break;
  }
  return times;
}

bool EngineProber::time_units(ElementType type, UnitTimes& times) {
  if (options_.is_over()) return false;
  const std::string name(element_type_short_name(type));
  options_.progress("timing " + name);
  TypeAssignment assignment;
  for (const SearchUnit& unit : units()) {
    const bool may = std::find(unit.types.begin(), unit.types.end(), type) != unit.types.end();
    assignment.push_back(may ? type : ElementType::kFloat);
  }
  const std::string failure = failure_of([&] {
    const auto engine = tuned_engine(assignment);
    EngineRunner runner(engine);
    const double once = std::max(1e-6, runner.time(data_.timed, 2).back());
    const auto runs = static_cast<size_t>(
        std::clamp(kProfiledSeconds / once / 2, double{kFewestProfiledRuns}, double{kMostProfiledRuns}));
    const Profile measured = profile(runner.session(data_.timed), data_.timed, runs);
    times.units[type] = unit_times(measured, plans_.owners(), units().size());
    times.whole[type] = measured.unwatched_ms;
  });
  if (!failure.empty()) times.notes.push_back(fmt::format("{} is left out: {}", name, failure));
  return true;
}

std::optional<PlanScore> EngineProber::score(const TypeAssignment& types, DataPart part) {
  PlanScore failed;
  std::shared_ptr<const Engine> engine;
  failed.failure = failure_of([&] { engine = quick_engine(types); });
  if (!failed.failure.empty()) return failed;
  Session session(engine);
  try {
    return score(session, part, true);
  } catch (const PrecisionDifference& error) {  // at sizes that were planned when they came
    failed.failure = error.what();
    return failed;
  }
}

std::optional<PlanScore> EngineProber::score(Session& session, DataPart part, bool early) {
  const bool by_elements = options_.target.kind == TuneTarget::Kind::kElements;
  const auto samples = data_.part(part);
  PlanScore result;
  result.error = result.deviation = 0;
  std::vector<NamedData> outputs;
  for (const size_t sample : samples) {
    if (early && options_.is_over()) return std::nullopt;
    if (!early && metric_ == nullptr && result.samples == kUrgentSamples && options_.is_urgent()) break;
    NamedData made = session.run(data_.samples[sample].inputs);
    const OutputError error =
        output_error(expected(sample), made, by_elements ? &options_.target.elements : nullptr);
    ++result.samples;
    result.error = std::max(result.error, error.relative_l2);
    if (metric_ != nullptr) {
      outputs.push_back(std::move(made));
      continue;
    }
    const double deviation = by_elements ? error.elements : error.relative_l2;
    result.deviation = std::max(result.deviation, deviation);
    result.beyond += !(deviation <= options_.target.limit());
    // While parts are screened, how far beyond is what is asked for.
    if (early && part != DataPart::kScreening && result.beyond > 0) return result;
  }
  if (metric_ != nullptr) add_metric(result, samples, outputs);
  return result;
}

void EngineProber::add_metric(PlanScore& score, const std::vector<size_t>& samples,
                              const std::vector<NamedData>& outputs) {
  RowScores before, after;
  const auto add = [&](RowScores& rows, const NamedData& made, size_t sample) {
    for (RowScore& row : metric_->score({made, *expected_[sample], labels_[sample]}))
      rows.push_back(std::move(row));
  };
  for (size_t i = 0; i < samples.size(); ++i) {
    add(before, *expected_[samples[i]], samples[i]);
    add(after, outputs[i], samples[i]);
  }
  score.metric = points_of(*metric_, after);
  score.deviation = points_lost(*metric_, before, after);
  score.loss = interval_of_mean(row_losses(*metric_, before, after));
}

std::unique_ptr<EngineRunner> EngineProber::judged(RacedPlan& plan, std::shared_ptr<const Engine> engine) {
  auto runner = std::make_unique<EngineRunner>(std::move(engine));
  Session& session = runner->session(data_.timed);
  plan.selection = *score(session, DataPart::kSelection, false);
  plan.held_out = *score(session, DataPart::kHeldOut, false);
  return runner;
}

std::unique_ptr<EngineRunner> EngineProber::judged_or_refused(RacedPlan& plan) {
  std::shared_ptr<const Engine> engine;
  std::string failure = failure_of([&] { engine = tuned_engine(plan.types); });
  try {
    if (failure.empty()) return judged(plan, std::move(engine));
  } catch (const PrecisionDifference& error) {  // at sizes that were planned when they came
    failure = error.what();
  }
  plan.selection.failure = plan.held_out.failure = failure;
  return nullptr;
}

std::vector<RacedPlan> EngineProber::race(const std::vector<CandidatePlan>& plans) {
  std::vector<RacedPlan> raced;
  std::vector<std::unique_ptr<EngineRunner>> runners;
  std::vector<Runner*> racing;
  std::vector<size_t> places;
  for (const CandidatePlan& plan : plans) {
    RacedPlan& each = raced.emplace_back();
    each.types = plan;
    options_.progress(fmt::format("tuned engine {} of {}", raced.size(), plans.size()));
    // Without the first there is nothing to compare with.
    auto runner = racing.empty() ? judged(each, tuned_engine(plan)) : judged_or_refused(each);
    if (!runner) continue;
    racing.push_back(runners.emplace_back(std::move(runner)).get());
    places.push_back(raced.size() - 1);
  }
  options_.progress("timing in turn");
  const PairedTimes times = time_paired(racing, data_.timed, paired_timing_options(racing.size(), options_));
  const double first = summarise(times.seconds).p50 * 1e3;
  for (size_t i = 0; i < places.size(); ++i) {
    RacedPlan& each = raced[places[i]];
    each.ratio = i == 0 ? 1 : times.ratios[i - 1];
    each.ratio_interval = i == 0 ? Interval{1, 1} : times.intervals[i - 1];
    each.latency_ms = first * each.ratio;
  }
  return raced;
}

}  // namespace vernier
