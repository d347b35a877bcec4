// Of several engines: which agree with each other, and which stand alone.
#pragma once

#include "vernier/compare/compare.h"
#include "vernier/diagnose/diagnosis.h"

namespace vernier {

using OutputsBySample = std::map<size_t, NamedData>;

struct ComparedEngine {
  std::string name;
  const ComparisonResult* comparison = nullptr;  // with what all are compared with
  const OutputsBySample* outputs = nullptr;
};

// In the order of the engines; first differences are not known here. Engines that are right agree. Two that
// are wrong agree if they are much nearer to each other than to what is right, on every sample.
std::vector<EngineAgreement> agreements(const std::vector<ComparedEngine>& engines,
                                        const std::string& against, const OutputsBySample& right);

// "'a' and 'b' agree with each other and with 'reference'; 'c' stands alone, from 'n7' on"
std::string agreement_sentence(const std::vector<EngineAgreement>& engines);

}  // namespace vernier
