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
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "conformance/profile_runs.h"
#include "vernier/backends/reference/interpreter.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/base/hash.h"
#include "vernier/base/threads.h"
#include "vernier/builder/builder.h"
#include "vernier/onnx/import.h"

namespace fs = std::filesystem;
using namespace vernier;

namespace {

enum class Runs : uint8_t { kReference, kEngine, kEveryTactic, kProfiles };

struct How {
  Runs runs = Runs::kReference;
  bool simulated = false;  // engines are of the simulated accelerator
};

BuildOptions options_for(const fs::path& folder, bool simulated) {
  BuildOptions options = build_options("");
  if (!simulated) return options;
  simulated::SimulatedOptions device;
  device.seed = hash_text(folder.filename().string());
  options.accelerators = {simulated::make_driver(device)};
  return options;
}

// What one thread runs of the cases.
class CaseRunner {
 public:
  explicit CaseRunner(How how) : how_(how) {}

  // "" or what is wrong.
  std::string run(const fs::path& folder);
  void add(const CaseRunner& other) {
    forced_runs_ += other.forced_runs_;
    profile_runs_.add(other.profile_runs_);
  }
  void print() const {
    if (how_.runs == Runs::kEveryTactic) fmt::print("runs by a forced tactic: {}\n", forced_runs_);
    if (how_.runs == Runs::kProfiles) profile_runs_.print();
  }

 private:
  std::string run_engine(const Model& model, const fs::path& folder);

  How how_;
  size_t forced_runs_ = 0;
  ProfileRuns profile_runs_;
};

std::string CaseRunner::run_engine(const Model& model, const fs::path& folder) {
  const auto own = build_on_demand(model, options_for(folder, how_.simulated));
  auto why = run_data_sets(model, run_of(model, own), folder);
  if (!why.empty() || how_.runs != Runs::kEveryTactic) return why;
  for (const std::string& tactic : own->engine()->offered_tactics()) {
    const auto forced = build_on_demand(model, build_options(tactic));
    ++forced_runs_;
    try {
      why = run_data_sets(model, run_of(model, forced), folder);
    } catch (const Error& error) {
      why = error.what();
    }
    if (!why.empty()) return fmt::format("by the tactic '{}': {}", tactic, why);
  }
  return "";
}

std::string CaseRunner::run(const fs::path& folder) {
  try {
    const auto imported = import_model(folder / "model.onnx");
    const Model& model = imported.model;
    if (how_.runs == Runs::kProfiles)
      return profile_runs_.run(model, folder, options_for(folder, how_.simulated));
    if (how_.runs != Runs::kReference) return run_engine(model, folder);
    return run_data_sets(
        model, [&model](const NamedData& inputs) { return run_reference(model, inputs).outputs; }, folder);
  } catch (const std::exception& error) {
    return error.what();
  }
}

// What is wrong with each of the cases, which as many threads run as the process has cores: most cases are
// too small to be worth a second one.
std::vector<std::string> run_all(const std::vector<fs::path>& cases, const How& how) {
  std::vector<std::string> wrong(cases.size());
  std::vector<CaseRunner> runners(std::max(1, thread_count()), CaseRunner(how));
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (CaseRunner& runner : runners)
    threads.emplace_back([&] {
      for (size_t i = next++; i < cases.size(); i = next++) wrong[i] = runner.run(cases[i]);
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 1; i < runners.size(); ++i) runners[0].add(runners[i]);
  runners[0].print();
  return wrong;
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
  const std::vector<std::string> wrong = run_all(cases, *how);
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string name = cases[i].filename();
    const std::string& why = wrong[i];
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
  fmt::print("conformance: {}/{}\n", passed, cases.size());
  return surprises == 0 && !cases.empty() ? 0 : 1;
}
