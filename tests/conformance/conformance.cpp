// Runs the ONNX backend tests with the reference, or an engine:
// conformance FOLDER LIST [--cpu | --force-tactics | [--simulated] [--profiles]] [FILTER]
//
// Engines are tuned, as all that ship. With --force-tactics each case is run once more by each tactic that
// serves some node of it, which must hold where it is verified and where it is compared. With --simulated the
// engine is one of the simulated accelerator, whose order another seed draws for each case. With --profiles
// the sizes of the inputs are free as far as the model allows (profiles/free_sizes.h), and two engines are
// built with a profile each: one is tuned at the recorded sizes, one at others; the lines before the last say
// how many. Both together are engines of the simulated accelerator with profiles.
//
// FOLDER holds <category>/<case>/{model.onnx,test_data_set_*}. LIST names the cases that are known to fail,
// one "<case><tab><reason>" a line. Every case must behave as the list says: a listed case that passes is an
// error, too. The last line printed is "conformance: PASSED/ALL"; with a FILTER only cases whose name
// contains it are run.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "conformance/profile_runs.h"
#include "vernier/backends/reference/interpreter.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/base/hash.h"
#include "vernier/onnx/import.h"

namespace fs = std::filesystem;
using namespace vernier;

namespace {

enum class Runs : uint8_t { kReference, kEngine, kEveryTactic, kProfiles };

struct How {
  Runs runs = Runs::kReference;
  bool simulated = false;  // engines are of the simulated accelerator
};

size_t forced_runs = 0;

BuildOptions options_for(const fs::path& folder, bool simulated) {
  BuildOptions options = build_options("");
  if (!simulated) return options;
  simulated::SimulatedOptions device;
  device.seed = hash_text(folder.filename().string());
  options.accelerators = {simulated::make_driver(device)};
  return options;
}

std::string run_engine(const Model& model, const fs::path& folder, const How& how) {
  const auto own = std::make_shared<EngineOnDemand>(model, options_for(folder, how.simulated));
  auto why = run_data_sets(model, run_of(model, own), folder);
  if (!why.empty() || how.runs != Runs::kEveryTactic) return why;
  for (const std::string& tactic : own->engine()->offered_tactics()) {
    const auto forced = std::make_shared<EngineOnDemand>(model, build_options(tactic));
    ++forced_runs;
    try {
      why = run_data_sets(model, run_of(model, forced), folder);
    } catch (const Error& error) {
      why = error.what();
    }
    if (!why.empty()) return fmt::format("by the tactic '{}': {}", tactic, why);
  }
  return "";
}

ProfileRuns profile_runs;

std::string run_case(const fs::path& folder, const How& how) {
  try {
    const auto imported = import_model(folder / "model.onnx");
    const Model& model = imported.model;
    if (how.runs == Runs::kProfiles)
      return profile_runs.run(model, folder, options_for(folder, how.simulated));
    if (how.runs != Runs::kReference) return run_engine(model, folder, how);
    return run_data_sets(
        model, [&model](const NamedData& inputs) { return run_reference(model, inputs).outputs; }, folder);
  } catch (const std::exception& error) {
    return error.what();
  }
}

// How the options say; nothing if they do not go together.
std::optional<How> how_of(const std::set<std::string>& options) {
  using Options = std::set<std::string>;
  if (options == Options{}) return How{};
  if (options == Options{"--cpu"}) return How{Runs::kEngine};
  if (options == Options{"--simulated"}) return How{Runs::kEngine, true};
  if (options == Options{"--force-tactics"}) return How{Runs::kEveryTactic};
  if (options == Options{"--profiles"}) return How{Runs::kProfiles};
  if (options == Options{"--profiles", "--simulated"}) return How{Runs::kProfiles, true};
  return std::nullopt;
}

std::map<std::string, std::string> read_list(const fs::path& path) {
  std::map<std::string, std::string> listed;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto tab = line.find('\t');
    listed[line.substr(0, tab)] = tab == std::string::npos ? "" : line.substr(tab + 1);
  }
  return listed;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::set<std::string> options;
  std::erase_if(words, [&](const std::string& word) {
    if (word.starts_with("--")) options.insert(word);
    return word.starts_with("--");
  });
  const auto how = how_of(options);
  if (!how || words.size() < 2 || words.size() > 3) {
    std::cerr
        << "usage: conformance FOLDER LIST [--cpu | --force-tactics | [--simulated] [--profiles]] [FILTER]\n";
    return 2;
  }
  const std::string filter = words.size() > 2 ? words[2] : "";
  auto listed = read_list(words[1]);
  std::vector<fs::path> cases;
  for (const auto& category : fs::directory_iterator(words[0])) {
    if (!category.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(category)) {
      if (fs::exists(entry.path() / "model.onnx") &&
          entry.path().filename().string().find(filter) != std::string::npos)
        cases.push_back(entry.path());
    }
  }
  std::sort(cases.begin(), cases.end());
  size_t passed = 0, surprises = 0;
  for (const auto& folder : cases) {
    const std::string name = folder.filename();
    const std::string why = run_case(folder, *how);
    const bool expected_to_fail = listed.erase(name) > 0;
    passed += why.empty();
    if (why.empty() == expected_to_fail) {
      ++surprises;
      fmt::print("{}: {}\n", name, why.empty() ? "passes, but is listed as failing" : why);
    }
  }
  if (filter.empty()) {
    for (const auto& [name, reason] : listed) fmt::print("{}: is listed, but there is no such case\n", name);
    surprises += listed.size();
  }
  if (how->runs == Runs::kEveryTactic) fmt::print("runs by a forced tactic: {}\n", forced_runs);
  if (how->runs == Runs::kProfiles) profile_runs.print();
  fmt::print("conformance: {}/{}\n", passed, cases.size());
  return surprises == 0 && !cases.empty() ? 0 : 1;
}
