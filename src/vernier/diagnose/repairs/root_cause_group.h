#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "vernier/diagnose/diagnosis.h"

namespace vernier {

// Root causes of one class are cured by the same change.
struct RootCauseGroup {
  FailureClass failure;
  std::vector<RootCause*> root_causes;
  double share = 0;

  std::vector<std::string> nodes() const { return all(&RootCause::nodes); }
  std::vector<std::string> values() const { return all(&RootCause::values); }

 private:
  std::vector<std::string> all(std::vector<std::string> RootCause::*member) const {
    std::vector<std::string> names;
    for (const RootCause* root_cause : root_causes) {
      for (const std::string& name : root_cause->*member) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }
};

inline std::vector<RootCauseGroup> by_class(std::vector<RootCause>& root_causes) {
  std::vector<RootCauseGroup> groups;
  for (RootCause& root_cause : root_causes) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const RootCauseGroup& each) { return each.failure == root_cause.failure; });
    if (group == groups.end()) {
      groups.emplace_back().failure = root_cause.failure;
      group = groups.end() - 1;
    }
    group->root_causes.push_back(&root_cause);
    group->share = std::max(group->share, root_cause.share);
  }
  return groups;
}

}  // namespace vernier
