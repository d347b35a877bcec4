#include "vernier/diagnose/hazards/quantization_hazards.h"

#include <algorithm>
#include <cmath>

#include "vernier/compare/distance.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/hazards/calibrations.h"

namespace vernier {

namespace {

// Gives the root mean square error of outputs against those that quantization has not touched; what is not
// finite on one side counts as lost.
double error_of(const std::vector<Tensor>& sound, const std::vector<Tensor>& made) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < sound.size(); ++i) {
    if (!sound[i].is_defined() || !is_float(sound[i].type()) || sound[i].size() == 0) continue;
    const double error = sound[i].dims() == made[i].dims() ? relative_l2_of(sound[i], made[i]) : HUGE_VAL;
    constexpr double kLost = 10;
    const double bounded = error < kLost ? error : kLost;
    sum += bounded * bounded;
    ++count;
  }
  return count > 0 ? std::sqrt(sum / count) : 0;
}

class Search {
 public:
  Search(const Graph& graph, const char* owner, const std::vector<NamedData>& samples, Stopwatch& watch)
      : owner_(owner), samples_(samples), watch_(watch), runs_(graph) {}

  std::vector<RootCause> search() {
    if (runs_.sites().empty() || samples_.empty()) return {};
    for (size_t i = 0; i < samples_.size() && (i == 0 || watch_.seconds() - start_ < kBudget / 3); ++i)
      measure(samples_[i]);
    if (auto root_cause = shared_root_cause()) return {std::move(*root_cause)};
    auto root_causes = broken_root_causes();
    if (!root_causes.empty() || error_ < kHarmless) return root_causes;
    root_causes = single_root_causes();
    if (root_causes.empty()) root_causes = sensitive_root_causes();
    return root_causes;
  }

 private:
  // Quantization costs healthy models so much, measured: a few percent.
  static constexpr double kHarmless = 0.02;
  static constexpr double kBudget = 20;  // seconds
  static constexpr double kOfInput = 0.5;

  // Finds the sample that quantization hits most.
  void measure(const NamedData& sample) {
    auto sound = watch_.time("without quantization", 1, [&] { return runs_.measure(sample); });
    const double error = error_of(sound, runs_.run(sample, {}));
    if (worst_ != nullptr && error <= error_) return;
    worst_ = &sample;
    sound_ = std::move(sound);
    error_ = error;
  }

  bool is_late() { return watch_.is_over() || watch_.seconds() - start_ > kBudget; }

  // The share of the square of the error that goes with these cures.
  double share_of(const Cures& cures) {
    const auto outputs = watch_.time("cured sites", 1, [&] { return runs_.run(*worst_, cures); });
    const double left = error_of(sound_, outputs) / error_;
    return std::clamp(1 - left * left, 0.0, 1.0);
  }
  double share_of(const QuantizationSite& site, Cure cure = {}) { return share_of({{site.quantize, cure}}); }

  RootCause root_cause(const QuantizationSite& site, const SiteCause& cause, double share,
                       std::string_view by = "when this place alone is the identity") const {
    RootCause made;
    made.nodes = site.onnx_nodes();
    made.values = {site.quantize->inputs[0]->name};
    made.failure = cause.failure;
    made.sentence = fmt::format("not the engine, but the scales of {} are at fault at '{}': {}", owner_,
                                made.nodes.front(), cause.sentence);
    made.share = share;
    made.confidence = 0.5 + share / 2;
    made.evidence = {
        {"scales and values", site.use().lost / std::max(site.use().energy, 1e-300), cause.sentence},
        {"counterfactual", share,
         fmt::format("{:.3g} % of what quantization costs ({:.3g} of the outputs) is gone {}", 100 * share,
                     error_, by)}};
    made.repair = repair_of(made);
    return made;
  }

  // A fault of all scales is shown by all that do not fit. It is one of calibration only if other scales cure
  // it.
  std::optional<RootCause> shared_root_cause() {
    constexpr double kLeast = 0.75, kCostly = 0.03;
    if (error_ < kCostly) return std::nullopt;
    std::vector<const QuantizationSite*> off;
    Cures refits;
    for (const QuantizationSite& site : runs_.sites()) {
      if (!site.has_one_scale()) continue;
      off.push_back(&site);
      refits[site.quantize] = {Cure::Kind::kRefit};
    }
    const double share = refits.empty() ? 0 : share_of(refits);
    if (share < kLeast) return std::nullopt;
    const auto cause = watch_.time("calibrations", 1, [&] {
      return shared_cause({runs_, samples_, [this] { return is_late(); }});
    });
    return cause ? std::optional(shared(*cause, std::move(off), share)) : std::nullopt;
  }

  RootCause shared(const SiteCause& cause, std::vector<const QuantizationSite*> off, double share) const {
    const auto misfit = [](const QuantizationSite* site) {
      return std::abs(std::log(site->fit(site->use())));
    };
    std::stable_sort(off.begin(), off.end(),
                     [&](const auto* a, const auto* b) { return misfit(a) > misfit(b); });
    RootCause made = root_cause(*off.front(), cause, share, "with scales that suit the values");
    for (size_t i = 1; i < off.size(); ++i) {
      const auto nodes = off[i]->onnx_nodes();
      made.nodes.insert(made.nodes.end(), nodes.begin(), nodes.end());
    }
    made.sentence =
        fmt::format("not the engine, but the scales of {} are at fault at {} places, at '{}' most of all: {}",
                    owner_, off.size(), made.nodes.front(), cause.sentence);
    return made;
  }

  static void sort_by_share(std::vector<RootCause>& root_causes) {
    std::stable_sort(root_causes.begin(), root_causes.end(),
                     [](const RootCause& a, const RootCause& b) { return a.share > b.share; });
  }

  // A scale of nothing suits no values: it need not cost much to be a fault.
  std::vector<RootCause> broken_root_causes() {
    constexpr double kNoticed = 1e-3, kLeast = 0.05;
    std::vector<RootCause> root_causes;
    for (const QuantizationSite& site : runs_.sites()) {
      if (error_ < kNoticed || is_late()) break;
      const auto cause = cause_at(site, runs_);
      if (!cause || cause->failure != FailureClass(23)) continue;
      const double share = share_of(site);
      if (share >= kLeast) root_causes.push_back(root_cause(site, *cause, share));
    }
    sort_by_share(root_causes);
    return root_causes;
  }

  static bool is_by_range(const SiteCause& cause) {
    return cause.failure == FailureClass(19) || cause.failure == FailureClass(20);
  }

  // A range that does not suit the values, as it looks or as another one shows that makes most of the error
  // go. What the model reads itself: whether the data or the scale is at fault there, only a cost beyond
  // doubt tells.
  std::optional<RootCause> misfit(const QuantizationSite& site, std::optional<SiteCause> cause) {
    constexpr double kLeast = 0.2, kMost = 0.75, kCostly = 0.05;
    if (error_ < (site.is_input() ? kOfInput : kCostly)) return std::nullopt;
    if (cause) {
      const double share = share_of(site);
      return share < kLeast ? std::nullopt : std::optional(root_cause(site, *cause, share));
    }
    cause = cause_of_misfit(site);
    if (!cause) return std::nullopt;
    const double share = share_of(site, {Cure::Kind::kRefit});
    if (share < kMost) return std::nullopt;
    return root_cause(site, *cause, share, "with a scale that suits the values at this place");
  }

  std::vector<RootCause> single_root_causes() {
    constexpr double kLeast = 0.2;
    std::vector<RootCause> root_causes;
    for (const QuantizationSite& site : runs_.sites()) {
      if (is_late()) break;
      const auto cause = cause_at(site, runs_);
      if (cause && !is_by_range(*cause)) {
        const double share = share_of(site);
        if (share >= kLeast) root_causes.push_back(root_cause(site, *cause, share));
      } else if (auto made = misfit(site, cause)) {
        root_causes.push_back(std::move(*made));
      }
    }
    sort_by_share(root_causes);
    return root_causes;
  }

  // Scales as good as they can be, and still too coarse: for one place, or for the model, which makes more of
  // what all places round than that is.
  std::vector<RootCause> sensitive_root_causes() {
    constexpr double kCostly = 0.25, kAmplified = 0.1, kMuch = 3, kMost = 0.5;
    if (error_ < kAmplified || (error_ < kCostly && error_ < kMuch * rounded())) return {};
    const QuantizationSite* worst = nullptr;
    double most = 0;
    for (const QuantizationSite& site : runs_.sites()) {
      if (is_late()) break;
      const double share = share_of(site);
      if (worst != nullptr && share <= most) continue;
      worst = &site;
      most = share;
    }
    if (worst == nullptr || (worst->is_input() && error_ < kOfInput)) return {};
    if (most > kMost) {
      if (auto cause = unequal_parts(*worst, most)) return {root_cause(*worst, *cause, most)};
    }
    const std::string what = most > kMost
                                 ? "it is far more sensitive to eight bits than all others"
                                 : "no place alone is to blame: eight bits cost too much in so many of them";
    return {root_cause(*worst, {FailureClass(30), what}, most)};
  }

  // A joined value needs more than one scale if scales for the indices of an axis make its error go.
  std::optional<SiteCause> unequal_parts(const QuantizationSite& site, double share) {
    constexpr double kAsGood = 0.9;
    if (site.is_weight || site.scales.size() != 1 || !is_of_join(site)) return std::nullopt;
    const auto& shape = site.quantize->inputs[0]->type.tensor.shape;
    for (size_t axis = 0; shape && axis < shape->size(); ++axis) {
      if (share_of(site, {Cure::Kind::kPerIndex, axis}) < kAsGood * share) continue;
      return SiteCause{
          FailureClass(26),
          fmt::format("what it holds differs so much along axis {} that it needs more than one scale", axis)};
    }
    return std::nullopt;
  }

  // Gives what all places round, as a part of what they hold, and as if it came to the outputs as it is.
  double rounded() const {
    double sum = 0;
    for (const QuantizationSite& site : runs_.sites()) {
      const ScaleUse use = site.use();
      if (use.energy > 0) sum += use.lost / use.energy;
    }
    return std::sqrt(sum);
  }

  const char* owner_;
  const std::vector<NamedData>& samples_;
  Stopwatch& watch_;
  double start_ = watch_.seconds();
  HealedRuns runs_;
  const NamedData* worst_ = nullptr;
  std::vector<Tensor> sound_;  // of that sample
  double error_ = 0;           // what quantization costs the outputs
};

}  // namespace

std::vector<RootCause> quantization_hazards(const Graph& graph, const char* owner,
                                            const std::vector<NamedData>& samples, Stopwatch& watch) {
  try {
    return Search(graph, owner, samples, watch).search();
  } catch (const Error&) {
    return {};  // the reference does not run the model: others say so
  }
}

}  // namespace vernier
