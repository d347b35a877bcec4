// A comparison concludes with a verdict, never with a bare bool: there are three ways not to pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace vernier {

// From best to worst.
enum class Verdict : uint8_t {
  kPass,         // every element was compared, is within the tolerance, and the data could have shown a fault
  kMistrusted,   // no fault was seen, or none that counts, but the evidence is worth nothing; a reason says
                 // why
  kNotCompared,  // there was nothing to compare; a reason says why
  kFail,
};

constexpr Verdict worst(Verdict a, Verdict b) {
  return std::max(a, b);
}

// "pass", "mistrusted", "not_compared", "fail".
std::string_view verdict_name(Verdict verdict);

}  // namespace vernier
