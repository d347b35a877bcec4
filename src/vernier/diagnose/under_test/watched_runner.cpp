#include "vernier/diagnose/under_test/watched_runner.h"

namespace vernier {

Trace WatchedRunner::run(const NamedData& inputs, const std::vector<std::string>& taps) {
  constexpr double kLeast = 0.1;
  decorated().limit_time(std::max(kLeast, part_ * watch_.left()));
  try {
    return decorated().run(inputs, taps);
  } catch (const Error& error) {
    if (!failure_) failure_ = Failure{inputs, error.message(), error.code() == ErrorCode::kUnsupported};
    throw;
  }
}

std::optional<Trace> WatchedRunner::run_with_noise(const NamedData& inputs,
                                                   const std::vector<std::string>& taps, uint64_t seed) {
  require_time();
  return decorated().run_with_noise(inputs, taps, seed);
}

std::optional<Trace> WatchedRunner::run_with_values(const NamedData& inputs,
                                                    const std::vector<std::string>& taps,
                                                    const NamedData& values,
                                                    std::optional<uint64_t> noise_seed) {
  require_time();
  return decorated().run_with_values(inputs, taps, values, noise_seed);
}

void WatchedRunner::require_time() const {
  if (watch_.is_over()) throw unsupported("the time of the diagnosis is over");
}

}  // namespace vernier
