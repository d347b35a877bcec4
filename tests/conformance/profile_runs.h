// Cases run by engines with profiles, their sizes freed as far as the models allow (profiles/free_sizes.h).
#pragma once

#include "conformance/cases.h"
#include "profiles/free_sizes.h"

namespace vernier {

class ProfileRuns {
 public:
  // Two engines: one is tuned at the recorded sizes, one at others, so that the recorded ones are planned
  // when they come. Both run these once more by plans that are made of plans for neighbouring sizes. A case
  // of which no size moves is run as it is. All else is built by `options`. "" or what is wrong; throws what
  // a run throws.
  std::string run(const Model& model, const std::filesystem::path& folder, const BuildOptions& options);
  // Counts what another ran, too.
  void add(const ProfileRuns& other);
  // Prints what was run.
  void print() const;

 private:
  std::string run_with(const FreedModel& freed, const std::filesystem::path& folder,
                       const BuildOptions& options);
  std::string run_resized(const FreedModel& freed, const std::shared_ptr<const Engine>& engine,
                          const std::filesystem::path& folder);

  size_t freed_ = 0, moving_ = 0;               // cases; see FreedModel
  size_t on_demand_ = 0, resized_ = 0;          // runs by plans that were made when they came
  std::map<std::string, size_t> as_they_were_;  // cases, by the reason
};

}  // namespace vernier
