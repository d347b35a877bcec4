// Whether an engine gives the same answer again: what differs between runs on the same inputs is no matter of
// arithmetic.
#pragma once

#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

struct Repeatability {
  size_t runs = 0;                   // on the same inputs, one after the other
  size_t differ = 0;                 // from the last of them
  bool only_first = false;           // the first alone differs: it found what nobody had written yet
  bool depends_on_before = false;    // after a run on other inputs the answer is another one
  bool by_chance = false;            // after some runs on other inputs, and not after others
  double spread = 0;                 // of the answers, in roundings of the largest element
  std::vector<std::string> outputs;  // that differ

  // Sums may be added up in another order each time.
  bool is_repeatable() const {
    constexpr double kRoundings = 64;
    return (differ == 0 && !depends_on_before) || spread <= kRoundings;
  }
};

// Runs A, A, A, A, and then B, A, again and again for so many seconds; `first` are the outputs of a run on A
// before, and the first of the four is not counted. Bits are compared. An engine whose run takes many times
// as long as that runs A once.
Repeatability check_repeatability(EngineUnderTest& tested, const NamedData& inputs, const NamedData& other,
                                  const NamedData& first, double seconds = 1);

// The outputs whose bits differ, or that one side lacks.
std::vector<std::string> differing_outputs(const NamedData& a, const NamedData& b);

// Inputs of the same sizes and values of the same range, in another order: nothing of a run on them is right
// for a run on these.
NamedData reordered(const NamedData& inputs);

}  // namespace vernier
