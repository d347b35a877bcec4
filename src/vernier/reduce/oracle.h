// Who says what an engine makes of a case.
#pragma once

#include "vernier/reduce/repro_case.h"
#include "vernier/reduce/symptom.h"

namespace vernier {

struct Judgement {
  Symptom symptom;
  NamedData expected, actual;                   // outputs; `actual` is empty where the engine failed
  std::map<std::string, Tolerance> tolerances;  // of outputs that were compared
  std::vector<std::string> notes;
};

class ReductionOracle {
 public:
  virtual ~ReductionOracle() = default;
  // Symptom::Kind::kNone for a case that is none: the model is not valid, or what judges cannot run it.
  virtual Judgement judge(const ReproCase& reproduction) = 0;
  // The nodes that make the first value, in execution order, that is wrong by the part of the symptom's error
  // that kComparableError names; `known` has the right values. Empty where the engine shows no inner values,
  // or none of them is wrong.
  virtual std::vector<std::string> first_wrong_nodes(const ReproCase& /*reproduction*/,
                                                     const NamedData& /*known*/, const Symptom& /*symptom*/) {
    return {};
  }
};

}  // namespace vernier
