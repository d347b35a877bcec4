#include "vernier/diagnose/causes/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/hypotheses/extent.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {

namespace {

// A simulation is about as much work as the nodes themselves. One that takes so many times as long, and so
// many seconds, as a loop does whose condition never comes true, is given up.
constexpr double kPatience = 50, kLeastSeconds = 5;

// Gives what rounding may do to each element.
std::vector<std::vector<double>> allowances(const FlaggedNode& flagged) {
  std::vector<std::vector<double>> allowed;
  for (const ElementErrors& errors : flagged.expected) {
    auto& each = allowed.emplace_back(errors.error);
    for (double& error : each) error *= kLargestDeviation;
  }
  return allowed;
}

Tensors zeros_like(const Tensors& tensors) {
  Tensors zeros;
  for (const Tensor& tensor : tensors)
    zeros.push_back(tensor.is_defined() ? Tensor(tensor.type(), tensor.dims()) : Tensor());
  return zeros;
}

// The share of elements that are no neighbours of each other.
double unlike_share(const Tensors& made, const Tensors& simulated) {
  constexpr double kNear = 0.01;
  double unlike = 0, all = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i].is_defined() || !is_float(made[i].type()) || made[i].dims() != simulated[i].dims()) continue;
    const auto a = made[i].to_doubles(), b = simulated[i].to_doubles();
    for (size_t k = 0; k < a.size(); ++k) {
      const bool same = a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]));
      if (!same && !(std::abs(a[k] - b[k]) <= kNear * std::max(std::abs(a[k]), std::abs(b[k])))) ++unlike;
    }
    all += static_cast<double>(a.size());
  }
  return all > 0 ? unlike / all : 0;
}

// Floats alone: of two truth values the one that is wrong is the other one, whatever the cause.
bool has_part(const Tensor& made) {
  return made.is_defined() && is_float(made.type()) && !is_complex(made.type());
}

}  // namespace

CauseTrial::CauseTrial(const FlaggedNode& flagged, const Members& members)
    : flagged_(flagged), members_(members) {
  const Stopwatch watch(std::numeric_limits<double>::infinity());
  sound_ = members.sound_results();
  patience_ = std::max(kLeastSeconds, kPatience * watch.seconds());
  allowed_ = allowances(flagged);
  error_ = bounded_distance(flagged.made, sound_, sound_, allowed_);
  // A result of other sizes than it should have cannot be compared; all of it is the error.
  if (std::isinf(error_)) error_ = bounded_distance(flagged.made, zeros_like(flagged.made), flagged.made);
  for (size_t i = 0; i < sound_.size(); ++i) {
    const Tensor& made = flagged.made[i];
    if (!has_part(made) || made.dims() != sound_[i].dims()) continue;
    const auto wrong = wrong_elements(i, made.to_doubles(), sound_[i].to_doubles());
    may_be_part_ = may_be_part_ || may_be_part(made.dims(), wrong);
  }
}

std::vector<bool> CauseTrial::wrong_elements(size_t output, const std::vector<double>& values,
                                             const std::vector<double>& sound) const {
  std::vector<bool> wrong(values.size(), false);
  const bool allows = output < allowed_.size() && allowed_[output].size() == values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    const double allowed = allows ? allowed_[output][i] : 0;
    const bool same = values[i] == sound[i] || (std::isnan(values[i]) && std::isnan(sound[i]));
    wrong[i] = !same && !(std::abs(values[i] - sound[i]) <= allowed);
  }
  return wrong;
}

// Whether the output is right, or `where` says which part of it is wrong.
bool CauseTrial::keep_right(size_t output, Tensor& simulated, std::optional<CausePart>& where) const {
  constexpr size_t kFewest = 4, kFewestValues = 3;
  const Tensor &made = flagged_.made[output], &right = sound_[output];
  if (made.dims() != right.dims() || simulated.dims() != made.dims()) return false;
  auto values = simulated.to_doubles();
  const auto sound = right.to_doubles();
  const auto wrong = wrong_elements(output, made.to_doubles(), sound),
             changes = wrong_elements(output, values, sound);
  const bool is_any = std::any_of(wrong.begin(), wrong.end(), [](bool each) { return each; });
  auto extent = is_any ? extent_of(made.dims(), wrong, changes) : std::nullopt;
  if (is_any && (!extent || extent->count() < kFewest)) return false;
  std::set<double> others;
  for (size_t k = 0; k < values.size(); ++k) {
    if (!wrong[k])
      values[k] = sound[k];
    else if (others.size() < kFewestValues)
      others.insert(values[k]);
  }
  if (is_any && others.size() < kFewestValues) return false;
  simulated = Tensor::from_doubles(simulated.type(), simulated.dims(), values);
  if (extent) where = std::move(extent);
  return true;
}

std::optional<Tensors> CauseTrial::in_part(Tensors simulated, CausePart& where) const {
  if (!may_be_part_) return std::nullopt;
  std::optional<CausePart> found;
  for (size_t i = 0; i < simulated.size(); ++i) {
    if (has_part(flagged_.made[i]) && !keep_right(i, simulated[i], found)) return std::nullopt;
  }
  if (!found) return std::nullopt;
  where = std::move(*found);
  return simulated;
}

void CauseTrial::judge(const Tensors& simulated, Simulated& cause) const {
  const double left = bounded_distance(flagged_.made, simulated, sound_, allowed_);
  cause.residual = 1;
  if (!(error_ > 0) || !std::isfinite(left)) return;
  // A result that hardly differs from sound ones explains no difference from them, however small that is.
  constexpr double kMoves = 0.5;
  if (bounded_distance(simulated, sound_, sound_, allowed_) < kMoves * error_) return;
  cause.residual = std::min(1.0, left / error_);
  cause.unlike = unlike_share(flagged_.made, simulated);
}

}  // namespace vernier
