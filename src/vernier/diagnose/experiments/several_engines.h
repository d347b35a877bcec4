// Tells of several engines which agree, and from which node on each of the others goes wrong.
#pragma once

#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/experiments/outputs_compared.h"

namespace vernier {

struct SeveralEngines {
  std::vector<EngineAgreement> engines;  // in the order of the job
  std::vector<std::string> notes;        // who agrees with whom, after what could not be looked into
};

// `known` is where the engine that is looked into as a whole goes wrong, if that was found. Of the others
// that fail, the first wrong value is searched for while there is time. Of inner values `most_bytes` are held
// at once.
SeveralEngines compare_engines(const OutputsCompared& compared, const std::string& against,
                               const KeptSamples& samples, const std::optional<FirstWrongValue>& known,
                               size_t most_bytes, Stopwatch& watch);

// The value of the flagged node, and its nodes.
FirstWrongValue difference_of(const FlaggedNode& flagged);

}  // namespace vernier
