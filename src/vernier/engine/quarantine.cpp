#include "vernier/engine/quarantine.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace vernier {

std::string QuarantinedTactic::text() const {
  return fmt::format("{} for '{}': {}", tactic.empty() ? "the backend's own choice" : tactic,
                     fmt::join(nodes, "', '"), reason);
}

std::vector<QuarantinedTactic> quarantined_tactics(const Engine& engine) {
  std::vector<QuarantinedTactic> all;
  for (const TuneResult& result : engine.tuning().results) {
    for (const auto& [tactic, record] : result.records) {
      if (record.quarantine.empty()) continue;
      QuarantinedTactic found{tactic, result.request, {}, record.quarantine};
      const auto same = std::find_if(all.begin(), all.end(), [&](const QuarantinedTactic& each) {
        return each.tactic == found.tactic && each.request == found.request && each.reason == found.reason;
      });
      auto& entry = same != all.end() ? *same : all.emplace_back(std::move(found));
      entry.nodes.insert(result.nodes.begin(), result.nodes.end());
    }
  }
  return all;
}

}  // namespace vernier
