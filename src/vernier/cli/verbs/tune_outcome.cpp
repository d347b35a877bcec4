#include "vernier/cli/verbs/tune_outcome.h"

#include <filesystem>

#include "vernier/base/file.h"
#include "vernier/search/front.h"

namespace vernier {

namespace {

TuneReport::Score score_of(const PlanScore& score, double limit) {
  return {score.error, score.deviation, score.metric, score.samples, score.beyond, score.holds(limit)};
}

// "bf16 19, f32 2": units.
std::string types_text(const TypeAssignment& types) {
  std::map<std::string_view, size_t> counts;
  for (const ElementType type : types) ++counts[element_type_short_name(type)];
  std::string text;
  for (const auto& [type, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type, count);
  return text.empty() ? "nothing to choose" : text;
}

}  // namespace

std::string front_file(const std::string& output, size_t index) {
  std::filesystem::path path(output);
  const std::string name = fmt::format("{}.{}{}", path.stem().string(), index + 1, path.extension().string());
  return path.replace_filename(name).string();
}

TuneOutcome::TuneOutcome(const TuneTarget& target, std::string output, std::string first,
                         const UnitPlans& plans)
    : target_(target), output_(std::move(output)), first_(std::move(first)), plans_(plans) {}

TuneReport::Point TuneOutcome::point_of(const RacedPlan& raced, const std::string& file) const {
  const double limit = target_.limit();
  return {file,
          raced.types ? types_text(*raced.types) : "as it was",
          raced.latency_ms,
          raced.ratio,
          raced.ratio_interval.low,
          raced.ratio_interval.high,
          score_of(raced.selection, limit),
          score_of(raced.held_out, limit),
          raced.selection.failure};
}

TuneReport::Confirmation TuneOutcome::confirmation_of(const PlanScore& held_out) const {
  TuneReport::Confirmation confirmed;
  confirmed.held_out = score_of(held_out, target_.limit());
  confirmed.share_beyond_at_most = share_beyond_at_most(held_out.beyond, held_out.samples);
  if (held_out.loss) confirmed.loss_ci95 = std::pair(held_out.loss->low, held_out.loss->high);
  return confirmed;
}

// Names the type that was chosen for a unit first, then its other types.
std::string TuneOutcome::text_of(const RacedPlan& raced) const {
  if (!raced.types) return plan_json(plans_.first());
  std::vector<std::string> reasons;
  for (size_t unit = 0; unit < raced.types->size(); ++unit) {
    const ElementType type = raced.types->at(unit);
    std::string& text = reasons.emplace_back();
    if (const auto own = reasons_[unit].find(type); own != reasons_[unit].end()) text = own->second;
    for (const auto& [other, reason] : reasons_[unit]) {
      if (other != type) text += (text.empty() ? "" : "; ") + reason;
    }
  }
  return plan_json(plans_.plan(*raced.types, reasons));
}

void TuneOutcome::find_reasons(const SearchResult& result) {
  reasons_.resize(plans_.units().size());
  for (size_t unit = 0; unit < reasons_.size(); ++unit) {
    for (const auto& [type, times] : result.times.units)
      reasons_[unit][type] = fmt::format("takes {:.4f} ms in {}", times[unit], element_type_short_name(type));
  }
  for (const UnitSensitivity& each : result.sensitivities)
    reasons_[each.unit][each.type] += fmt::format(", error {:.2g} alone", each.error);
}

void TuneOutcome::add(const SearchResult& result, TuneReport& report) {
  find_reasons(result);
  std::vector<std::string> files(result.raced.size());
  for (size_t i = 0; i < result.front.size(); ++i) {
    const RacedPlan& raced = result.raced[result.front[i]];
    files[result.front[i]] = front_file(output_, i);
    write_file(files[result.front[i]], text_of(raced));
    report.front.push_back(point_of(raced, files[result.front[i]]));
  }
  for (size_t i = 0; i < result.raced.size(); ++i) {
    if (files[i].empty()) report.dominated.push_back(point_of(result.raced[i], i == 0 ? first_ : "-"));
  }
  report.baseline = point_of(result.raced.front(), first_);
  if (result.chosen) {
    const RacedPlan& chosen = result.raced[*result.chosen];
    write_file(output_, text_of(chosen));
    report.chosen = point_of(chosen, output_);
    report.confirmed = confirmation_of(chosen.held_out);
    if (!chosen.types)
      report.notes.push_back("no plan that keeps the target is faster beyond the noise of timing");
  } else if (const auto nearest = closest(result.raced)) {
    report.closest = point_of(result.raced[*nearest], files[*nearest].empty() ? first_ : files[*nearest]);
  }
  for (const UnitSensitivity& each : result.sensitivities)
    report.sensitivities.push_back({plans_.units()[each.unit].nodes,
                                    std::string(element_type_short_name(each.type)), each.gain_ms,
                                    each.error});
  report.notes.insert(report.notes.end(), result.times.notes.begin(), result.times.notes.end());
  report.units = plans_.units().size();
  report.probes = result.probes;
  report.finished = result.finished;
}

}  // namespace vernier
