// Runs the ONNX backend tests with the reference, or an engine:
// conformance FOLDER LIST [--cpu|--simulated|--force-tactics|--profiles] [FILTER]
//
// Engines are tuned, as all that ship. With --force-tactics each case is run once more by each tactic that
// serves some node of it, which must hold where it is verified and where it is compared. With --simulated the
// engine is one of the simulated accelerator, whose order another seed draws for each case. With --profiles
// the sizes of the inputs are free as far as the model allows (profiles/free_sizes.h), and two engines are
// built with a profile each: one is tuned at the recorded sizes, one at others; the lines before the last say
// how many.
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

#include "conformance/profile_runs.h"
#include "vernier/backends/reference/interpreter.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/base/hash.h"
#include "vernier/onnx/import.h"

namespace fs = std::filesystem;
using namespace vernier;

namespace {

enum class Runs : uint8_t { kReference, kEngine, kSimulated, kEveryTactic, kProfiles };

size_t forced_runs = 0;

std::string run_engine(const Model& model, const fs::path& folder, bool every_tactic) {
  const auto own = std::make_shared<EngineOnDemand>(model, build_options(""));
  if (auto why = run_data_sets(model, run_of(model, own), folder); !why.empty() || !every_tactic) return why;
  for (const std::string& tactic : own->engine()->offered_tactics()) {
    const auto forced = std::make_shared<EngineOnDemand>(model, build_options(tactic));
    ++forced_runs;
    std::string why;
    try {
      why = run_data_sets(model, run_of(model, forced), folder);
    } catch (const Error& error) {
      why = error.what();
    }
    if (!why.empty()) return fmt::format("by the tactic '{}': {}", tactic, why);
  }
  return "";
}

std::string run_simulated(const Model& model, const fs::path& folder) {
  simulated::SimulatedOptions device;
  device.seed = hash_text(folder.filename().string());
  BuildOptions options = build_options("");
  options.accelerators = {simulated::make_driver(device)};
  return run_data_sets(model, run_of(model, std::make_shared<EngineOnDemand>(model, options)), folder);
}

ProfileRuns profile_runs;

std::string run_case(const fs::path& folder, Runs runs) {
  try {
    const auto imported = import_model(folder / "model.onnx");
    const Model& model = imported.model;
    if (runs == Runs::kProfiles) return profile_runs.run(model, folder);
    if (runs == Runs::kSimulated) return run_simulated(model, folder);
    if (runs != Runs::kReference) return run_engine(model, folder, runs == Runs::kEveryTactic);
    return run_data_sets(
        model, [&model](const NamedData& inputs) { return run_reference(model, inputs).outputs; }, folder);
  } catch (const std::exception& error) {
    return error.what();
  }
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
  if (argc < 3) {
    std::cerr << "usage: conformance FOLDER LIST [--cpu|--simulated|--force-tactics|--profiles] [FILTER]\n";
    return 2;
  }
  const std::string_view option = argc > 3 ? argv[3] : "";
  const Runs runs = option == "--cpu"             ? Runs::kEngine
                    : option == "--simulated"     ? Runs::kSimulated
                    : option == "--force-tactics" ? Runs::kEveryTactic
                    : option == "--profiles"      ? Runs::kProfiles
                                                  : Runs::kReference;
  const int filter_at = runs == Runs::kReference ? 3 : 4;
  const std::string filter = argc > filter_at ? argv[filter_at] : "";
  auto listed = read_list(argv[2]);
  std::vector<fs::path> cases;
  for (const auto& category : fs::directory_iterator(argv[1])) {
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
    const std::string why = run_case(folder, runs);
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
  if (runs == Runs::kEveryTactic) fmt::print("runs by a forced tactic: {}\n", forced_runs);
  if (runs == Runs::kProfiles) profile_runs.print();
  fmt::print("conformance: {}/{}\n", passed, cases.size());
  return surprises == 0 && !cases.empty() ? 0 : 1;
}
