// Finds the repair of what a diagnosis found: tries candidates from cheap to dear, and takes the first that
// holds on samples that it was not chosen on.
#pragma once

#include "vernier/compare/compare.h"
#include "vernier/data/data_source.h"
#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/repairs/repair_builder.h"

namespace vernier {

// How a diagnosis looks for repairs.
struct RepairOptions {
  // For the engine that was looked into.
  std::function<std::unique_ptr<RepairBuilder>(const Runner& engine)> repair_builder;
  std::filesystem::path folder;  // of the plans and models that hold
  // Random samples of another seed, where the data of the diagnosis are random; null otherwise.
  std::function<std::unique_ptr<DataSource>(uint64_t seed)> draw = nullptr;
  double budget = 60;  // seconds, after which no further candidate is tried
};

struct RepairJob {
  const Model& model;
  Runner& engine;
  Runner& against;                     // what makes what is right
  const std::vector<Sample>& samples;  // of the diagnosis
  size_t chosen = 0;                   // that candidates are chosen on
  CompareOptions compare;
  uint64_t seed = 1;
  std::function<void(const std::string& stage)> progress;
};

// Fills in the repairs of the root causes, class by class: what holds stays for those that follow. A class
// none of whose candidates holds has the repair `none`, with what was tried.
void find_repairs(const RepairJob& job, const RepairOptions& options, Diagnosis& diagnosis);

}  // namespace vernier
