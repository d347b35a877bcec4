#include "vernier/diagnose/bounds/promised_bounds.h"

#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/diagnose/subjects/engine_subject.h"

namespace vernier {

std::map<std::string, DerivedBound> promised_bounds(Runner& runner, const NamedData& inputs, uint64_t seed) {
  auto* engine = dynamic_cast<EngineRunner*>(&runner.original());
  if (engine == nullptr) return {};
  EngineSubject subject(*engine);
  return derived_bounds(subject, inputs, seed);
}

}  // namespace vernier
