#include "vernier/cli/unloaded_runners.h"

#include <algorithm>
#include <iostream>

#include "vernier/cli/runner_roles.h"

namespace vernier {

namespace {

// Programs of others, which may be missing, and may lack what a model needs.
bool is_of_others(const RunnerSpec& spec) {
  static const std::set<std::string> kinds = {"onnxruntime", "runner", "tensorrt", "cuda", "torch"};
  return kinds.contains(spec.kind);
}

}  // namespace

std::string UnloadedRunner::text() const {
  return fmt::format("could not load: {}", error.what());
}

std::unique_ptr<Runner> UnloadedRunners::make(const RunnerSpec& spec, const RunnerModel& model, int threads) {
  try {
    return make_runner(spec, model, threads);
  } catch (const Error& error) {
    if (!keep(spec, error)) throw;
    return nullptr;
  }
}

bool UnloadedRunners::keep(const RunnerSpec& spec, const Error& error) {
  if (error.code() == ErrorCode::kUsage || !is_of_others(spec)) return false;
  all_.push_back({runner_name(spec), error});
  std::cerr << "vernier: " << all_.back().name << " " << all_.back().text() << "\n";
  return true;
}

const UnloadedRunner* UnloadedRunners::find(const std::string& name) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

int UnloadedRunners::status() const {
  const bool unsupported = std::all_of(all_.begin(), all_.end(), [](const UnloadedRunner& each) {
    return each.error.code() == ErrorCode::kUnsupported;
  });
  return static_cast<int>(unsupported ? ErrorCode::kUnsupported : ErrorCode::kBadInput);
}

}  // namespace vernier
