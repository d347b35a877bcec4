#include "vernier/search/step_times.h"

namespace vernier {

std::vector<double> unit_times(const Profile& profile, const std::map<std::string, size_t>& owners,
                               size_t units) {
  std::vector<double> times(units, 0);
  for (const StepTime& step : profile.steps) {
    std::set<size_t> found;
    for (const std::string& node : step.nodes) {
      if (const auto owner = owners.find(node); owner != owners.end()) found.insert(owner->second);
    }
    for (const size_t unit : found) times.at(unit) += step.milliseconds / static_cast<double>(found.size());
  }
  return times;
}

}  // namespace vernier
