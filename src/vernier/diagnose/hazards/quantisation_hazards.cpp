#include "vernier/diagnose/hazards/quantisation_hazards.h"

#include <algorithm>
#include <cmath>

#include "vernier/compare/distance.h"
#include "vernier/diagnose/causes/repairs.h"
#include "vernier/diagnose/hazards/quantisation_causes.h"

namespace vernier {

namespace {

// Of outputs against those that quantisation has not touched, the root mean square over them; what is not
// finite on one side counts as lost.
double error_of(const std::vector<Tensor>& sound, const std::vector<Tensor>& made) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < sound.size(); ++i) {
    if (!sound[i].is_defined() || !is_float(sound[i].type()) || sound[i].size() == 0) continue;
    const double error =
        sound[i].dims() == made[i].dims() ? distances_of(sound[i], made[i]).relative_l2 : HUGE_VAL;
    constexpr double kLost = 10;
    const double bounded = error < kLost ? error : kLost;
    sum += bounded * bounded;
    ++count;
  }
  return count > 0 ? std::sqrt(sum / count) : 0;
}

class Search {
 public:
  Search(const Model& model, const std::vector<NamedData>& samples, Stopwatch& watch)
      : samples_(samples), watch_(watch), runs_(*model.graph) {}

  std::vector<Culprit> search() {
    if (runs_.sites().empty() || samples_.empty()) return {};
    for (size_t i = 0; i < samples_.size() && (i == 0 || !is_late()); ++i) measure(samples_[i]);
    if (error_ < kHarmless) return {};
    if (const auto cause = shared_cause(runs_.sites(), measured_)) {
      if (auto culprit = shared_culprit(*cause)) return {std::move(*culprit)};
    }
    auto culprits = single_culprits();
    if (culprits.empty()) culprits = sensitive_culprits();
    return culprits;
  }

 private:
  // What quantisation costs healthy models, measured: a few percent.
  static constexpr double kHarmless = 0.02;
  static constexpr double kBudget = 20;  // seconds
  static constexpr double kOfInput = 0.5;

  // What is looked into is the sample that quantisation hits most.
  void measure(const NamedData& sample) {
    auto sound = watch_.time("without quantisation", 1, [&] { return runs_.measure(sample); });
    ++measured_;
    const double error = error_of(sound, runs_.run(sample, {}));
    if (worst_ != nullptr && error <= error_) return;
    worst_ = &sample;
    sound_ = std::move(sound);
    error_ = error;
  }

  bool is_late() { return watch_.is_over() || watch_.seconds() - start_ > kBudget; }

  std::vector<Tensor> run(const std::set<const Node*>& healed) {
    return watch_.time("one site as the identity", 1, [&] { return runs_.run(*worst_, healed); });
  }

  // The share of the square of the error that goes with these sites.
  double share_of(const std::set<const Node*>& healed) {
    const double left = error_of(sound_, run(healed)) / error_;
    return std::clamp(1 - left * left, 0.0, 1.0);
  }

  Culprit culprit(const QuantisationSite& site, const SiteCause& cause, double share) const {
    Culprit made;
    made.nodes = site.onnx_nodes();
    made.values = {site.quantise->inputs[0]->name};
    made.failure = cause.failure;
    made.sentence = fmt::format("'{}': {}", made.nodes.front(), cause.sentence);
    made.share = share;
    made.confidence = 0.5 + share / 2;
    made.evidence = {
        {"scales and values", site.use().lost / std::max(site.use().energy, 1e-300), cause.sentence},
        {"counterfactual", share,
         fmt::format("{:.3g} % of what quantisation costs ({:.3g} of the outputs) is gone when this "
                     "place alone is the identity",
                     100 * share, error_)}};
    made.repair = repair_of(made);
    return made;
  }

  // A fault of all scales is shown by all that do not fit.
  std::optional<Culprit> shared_culprit(const SiteCause& cause) {
    std::vector<const QuantisationSite*> off;
    for (const QuantisationSite& site : runs_.sites()) {
      if (!site.is_weight && site.scales.size() == 1) off.push_back(&site);
    }
    std::set<const Node*> healed;
    for (const QuantisationSite* site : off) healed.insert(site->quantise);
    const double share = share_of(healed);
    constexpr double kLeast = 0.5, kCostly = 0.05;
    if (share < kLeast || error_ < kCostly) return std::nullopt;
    const auto misfit = [](const QuantisationSite* site) {
      return std::abs(std::log(site->fit(site->use())));
    };
    std::stable_sort(off.begin(), off.end(),
                     [&](const auto* a, const auto* b) { return misfit(a) > misfit(b); });
    Culprit made = culprit(*off.front(), cause, share);
    for (size_t i = 1; i < off.size(); ++i) {
      const auto nodes = off[i]->onnx_nodes();
      made.nodes.insert(made.nodes.end(), nodes.begin(), nodes.end());
    }
    made.sentence = fmt::format("{} places that quantise, '{}' most of all: {}", off.size(),
                                made.nodes.front(), cause.sentence);
    return made;
  }

  // What the model reads itself: whether the data or the scale is at fault there, only a cost beyond doubt
  // tells.
  static bool is_input(const QuantisationSite& site) {
    const Value& value = *site.quantise->inputs[0];
    const auto& inputs = value.graph().inputs;
    return std::find(inputs.begin(), inputs.end(), &value) != inputs.end();
  }

  std::vector<Culprit> single_culprits() {
    constexpr double kLeast = 0.2, kCostly = 0.05;
    std::vector<Culprit> culprits;
    for (const QuantisationSite& site : runs_.sites()) {
      if (is_late()) break;
      const auto cause = cause_at(site, runs_, runs_.sites());
      const bool by_range =
          cause && (cause->failure == FailureClass(20) || cause->failure == FailureClass(19));
      if (!cause || (by_range && error_ < (is_input(site) ? kOfInput : kCostly))) continue;
      const double share = share_of({site.quantise});
      if (share >= kLeast) culprits.push_back(culprit(site, *cause, share));
    }
    std::stable_sort(culprits.begin(), culprits.end(),
                     [](const Culprit& a, const Culprit& b) { return a.share > b.share; });
    return culprits;
  }

  // Scales as good as they can be, and still too coarse.
  std::vector<Culprit> sensitive_culprits() {
    constexpr double kCostly = 0.25, kMost = 0.5;
    if (error_ < kCostly) return {};
    const QuantisationSite* worst = nullptr;
    double most = 0;
    for (const QuantisationSite& site : runs_.sites()) {
      if (is_late()) break;
      const double share = share_of({site.quantise});
      if (worst != nullptr && share <= most) continue;
      worst = &site;
      most = share;
    }
    if (worst == nullptr || (is_input(*worst) && error_ < kOfInput)) return {};
    const std::string what = most > kMost
                                 ? "it is far more sensitive to eight bits than all others"
                                 : "no place alone is to blame: eight bits cost too much in so many of them";
    return {culprit(*worst, {FailureClass(30), what}, most)};
  }

  const std::vector<NamedData>& samples_;
  Stopwatch& watch_;
  double start_ = watch_.seconds();
  HealedRuns runs_;
  const NamedData* worst_ = nullptr;
  std::vector<Tensor> sound_;  // of that sample
  size_t measured_ = 0;
  double error_ = 0;  // what quantisation costs the outputs
};

}  // namespace

std::vector<Culprit> quantisation_hazards(const Model& model, const std::vector<NamedData>& samples,
                                          Stopwatch& watch) {
  try {
    return Search(model, samples, watch).search();
  } catch (const Error&) {
    return {};  // the reference does not run the model: others say so
  }
}

}  // namespace vernier
