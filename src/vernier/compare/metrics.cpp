#include "vernier/compare/metrics.h"

#include <cfloat>

namespace vernier {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Dims unflatten(int64_t index, const Dims& dims) {
  Dims result(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    result[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return result;
}

// NaN where the squares of what is not zero left the range of double.
double checked(double squares, bool nonzero) {
  const bool held = squares >= DBL_MIN && squares <= DBL_MAX;
  return nonzero && !held ? kNan : squares;
}

double cosine_of(double reference_squares, double actual_squares, double products) {
  if (reference_squares == 0 && actual_squares == 0) return 1;
  if (reference_squares == 0 || actual_squares == 0) return 0;
  const double cosine = products / std::sqrt(reference_squares) / std::sqrt(actual_squares);
  return std::isnan(cosine) ? cosine : std::clamp(cosine, -1.0, 1.0);
}

double sqnr_of(double signal, double noise) {
  if (noise == 0) return signal == 0 ? kNan : kInfinity + signal;
  return 10 * std::log10(signal / noise);
}

Distances measured(const Sums& sums) {
  Distances result;
  if (sums.finite == 0) return result;
  const auto count = static_cast<double>(sums.finite);
  const double reference = checked(sums.reference_squares, sums.reference_nonzero);
  const double actual = checked(sums.actual_squares, sums.actual_nonzero);
  const double error = checked(sums.error_squares, sums.max_error > 0);
  result.max_abs = sums.max_error;
  result.mean_abs = sums.error_sum / count;
  result.rmse = std::sqrt(error / count);
  result.relative_l2 = error == 0 ? 0 : std::sqrt(error) / std::sqrt(reference);
  result.cosine = cosine_of(reference, actual, sums.products);
  result.sqnr_db = sqnr_of(reference, error);
  result.required_atol = sums.required_atol;
  result.required_rtol = sums.required_rtol;
  return result;
}

Distances unbounded() {
  Distances result;
  for (double Distances::*member :
       {&Distances::max_abs, &Distances::mean_abs, &Distances::rmse, &Distances::relative_l2,
        &Distances::required_atol, &Distances::required_rtol}) {
    result.*member = kInfinity;
  }
  result.sqnr_db = -kInfinity;
  return result;
}

bool comparable(const Tensor& reference, const Tensor& actual) {
  const auto real = [](ElementType type) {
    return is_float(type) || is_integer(type) || type == ElementType::kBool;
  };
  if (!reference.is_defined() || !actual.is_defined() || reference.dims() != actual.dims()) return false;
  if (reference.type() == actual.type()) return true;
  return real(reference.type()) && real(actual.type());
}

}  // namespace

MetricsAccumulator::MetricsAccumulator(ElementType declared, Tolerance tolerance, int64_t top_k)
    : declared_(declared), format_(float_format(declared)), tolerance_(std::move(tolerance)), top_k_(top_k) {}

void MetricsAccumulator::add(const Tensor& reference, const Tensor& actual, size_t sample,
                             const std::string& part) {
  if (!comparable(reference, actual)) throw internal_error("metrics over tensors of different type or dims");
  const Sums sums = sum_up(reference, actual, tolerance_, format_);
  if (sums.worst_index >= 0 && (!worst_ || sums.worst_excess > worst_excess_)) {
    worst_excess_ = sums.worst_excess;
    worst_ = WorstElement{sample, part, unflatten(sums.worst_index, reference.dims()),
                          scalar_at(reference, sums.worst_index), scalar_at(actual, sums.worst_index)};
  }
  sums_.merge(sums);
  if (top_k_ > 0 && looks_like_logits(declared_, reference.dims())) {
    agreement_.merge(count_agreement(reference, actual, top_k_));
  }
}

void MetricsAccumulator::merge(const MetricsAccumulator& other) {
  if (other.worst_ && (!worst_ || other.worst_excess_ > worst_excess_)) {
    worst_ = other.worst_;
    worst_excess_ = other.worst_excess_;
  }
  sums_.merge(other.sums_);
  agreement_.merge(other.agreement_);
}

Metrics MetricsAccumulator::metrics() const {
  Metrics result{.elements = sums_.elements,
                 .mismatching = sums_.mismatching,
                 .nan_mismatches = sums_.nan_mismatches,
                 .inf_mismatches = sums_.inf_mismatches,
                 .nan_in_both = sums_.nan_in_both,
                 .inf_in_both = sums_.inf_in_both,
                 .distances = {},
                 .histogram = {},
                 .argmax_agreement = {},
                 .top_k_agreement = {}};
  const auto fraction = [](int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  if (agreement_.rows > 0) result.argmax_agreement = fraction(agreement_.same_argmax, agreement_.rows);
  if (agreement_.top_k_places > 0)
    result.top_k_agreement = fraction(agreement_.top_k_shared, agreement_.top_k_places);
  if (declared_ == ElementType::kString || declared_ == ElementType::kBool) return result;
  const bool special = sums_.nan_mismatches + sums_.inf_mismatches > 0;
  result.distances = special ? unbounded() : measured(sums_);
  if (format_) result.distances->max_ulp = special ? kInfinity : sums_.finite > 0 ? sums_.max_ulp : kNan;
  result.histogram = sums_.histogram;
  return result;
}

}  // namespace vernier
