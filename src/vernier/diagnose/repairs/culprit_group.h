#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "vernier/diagnose/diagnosis.h"

namespace vernier {

// Culprits of one class are cured by the same change.
struct CulpritGroup {
  FailureClass failure;
  std::vector<Culprit*> culprits;
  double share = 0;

  std::vector<std::string> nodes() const { return all(&Culprit::nodes); }
  std::vector<std::string> values() const { return all(&Culprit::values); }

 private:
  std::vector<std::string> all(std::vector<std::string> Culprit::*member) const {
    std::vector<std::string> names;
    for (const Culprit* culprit : culprits) {
      for (const std::string& name : culprit->*member) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }
};

inline std::vector<CulpritGroup> by_class(std::vector<Culprit>& culprits) {
  std::vector<CulpritGroup> groups;
  for (Culprit& culprit : culprits) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const CulpritGroup& each) { return each.failure == culprit.failure; });
    if (group == groups.end()) {
      groups.emplace_back().failure = culprit.failure;
      group = groups.end() - 1;
    }
    group->culprits.push_back(&culprit);
    group->share = std::max(group->share, culprit.share);
  }
  return groups;
}

}  // namespace vernier
