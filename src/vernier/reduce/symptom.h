// How an engine goes wrong on a case, so that a smaller case can be asked to show the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/compare/compare.h"

namespace vernier {

struct Symptom {
  enum class Kind : uint8_t {
    kNone,       // it is right, or the case is no valid one
    kWrong,      // finite values that are not accepted
    kNotFinite,  // NaN or Inf where there should be none, or the other way round
    kMisshapen,  // another type, other sizes, an output too many or too few
    kError,      // it refuses the model or the data
    kCrash,      // its process ends
    kHang,       // it does not answer in time
  };
  Kind kind = Kind::kNone;
  std::vector<std::string> outputs;  // that are not accepted
  // Relative L2 of the worst output, or the part of its elements that differ where its type has no distances;
  // at most 1, since what is further off is all wrong.
  double error = 0;
  std::string message;   // of an engine that fails
  std::string sentence;  // for people
};

// "wrong values", "crash", …
std::string_view symptom_name(Symptom::Kind kind);

// Gives what a comparison shows; `failure` is what the engine said if its run failed, else "".
Symptom symptom_of(const ComparisonResult& comparison, const std::string& failure);

// Whether both are the same verdict for the same reason. Values are to be wrong by a comparable part, for a
// smaller error may be another fault; failures are to say the same, names and numbers aside.
bool is_same_symptom(const Symptom& found, const Symptom& wanted);

// The part of the error of the whole model that a smaller one must show.
inline constexpr double kComparableError = 0.05;

}  // namespace vernier
