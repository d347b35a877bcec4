// Runs the ONNX backend tests with the reference, or an engine:
// conformance FOLDER LIST [--cpu | --force-tactics | [--simulated | --cuda] [--profiles]] [--part=I/N]
// [FILTER]
//
// Engines are tuned, as all that ship. With --force-tactics each case is run once more by each tactic that
// serves some node of it, which must hold where it is verified and where it is compared. With --simulated the
// engine is one of the simulated accelerator, whose order another seed draws for each case, with --cuda one
// of the first GPU. With --profiles the sizes of the inputs are free as far as the model allows
// (profiles/free_sizes.h), and two engines are built with a profile each: one is tuned at the recorded sizes,
// one at others; the lines before the last say how many. Both together are engines of the simulated
// accelerator with profiles.
//
// FOLDER holds <category>/<case>/{model.onnx,test_data_set_*}. LIST names the cases that are known to fail,
// one "<case><tab><reason>" a line. Every case must behave as the list says: a listed case that passes is an
// error, too. The last line printed is "conformance: PASSED/ALL"; with a FILTER only cases whose name
// contains it are run. With --part=I/N only every N-th case is, from the I-th on, so that several processes
// share them.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "conformance/profile_runs.h"
#include "vernier/backends/cuda/driver.h"
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
  enum class On : uint8_t { kCpu, kSimulated, kCuda };
  On on = On::kCpu;  // which accelerator engines are for
};

BuildOptions options_for(const fs::path& folder, How::On on) {
  BuildOptions options = build_options("");
  if (on == How::On::kCuda) options.accelerators = {cuda::make_driver()};
  if (on != How::On::kSimulated) return options;
  simulated::SimulatedOptions device;
  device.seed = hash_text(folder.filename().string());
  options.accelerators = {simulated::make_driver(device)};
  return options;
}

// Each thread runs some of the cases by one of these.
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
  const auto own = build_on_demand(model, options_for(folder, how_.on));
  auto why = run_data_sets(model, run_of(model, own), folder);
  if (!why.empty() || how_.runs != Runs::kEveryTactic) return why;
  for (const std::string& tactic : own->engine()->tuning().offered) {
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
    if (how_.runs == Runs::kProfiles) return profile_runs_.run(model, folder, options_for(folder, how_.on));
    if (how_.runs != Runs::kReference) return run_engine(model, folder);
    return run_data_sets(
        model, [&model](const NamedData& inputs) { return run_reference(model, inputs).outputs; }, folder);
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Says what is wrong with each of the cases, which as many threads run as the process has cores: most cases
// are too small to be worth a second one.
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
  if (options == Options{"--simulated"}) return How{Runs::kEngine, How::On::kSimulated};
  if (options == Options{"--cuda"}) return How{Runs::kEngine, How::On::kCuda};
  if (options == Options{"--cuda", "--profiles"}) return How{Runs::kProfiles, How::On::kCuda};
  if (options == Options{"--force-tactics"}) return How{Runs::kEveryTactic};
  if (options == Options{"--profiles"}) return How{Runs::kProfiles};
  if (options == Options{"--profiles", "--simulated"}) return How{Runs::kProfiles, How::On::kSimulated};
  return std::nullopt;
}

// Which of the cases a process takes, by their places in the sorted list.
struct Part {
  size_t index = 0, count = 1;

  bool has(size_t place) const { return place % count == index; }
};

// From "--part=I/N", which is taken out of the options; nothing if it is none.
std::optional<Part> take_part(std::set<std::string>& options) {
  const std::string_view name = "--part=";
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const std::string& option) { return option.starts_with(name); });
  if (found == options.end()) return Part{};
  Part part;
  char slash = 0;
  std::istringstream text(found->substr(name.size()));
  if (!(text >> part.index >> slash >> part.count) || slash != '/' || part.index >= part.count)
    return std::nullopt;
  options.erase(found);
  return part;
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
  const auto part = take_part(options);
  const auto how = how_of(options);
  if (!how || !part || words.size() < 2 || words.size() > 3) {
    std::cerr
        << "usage: conformance FOLDER LIST [--cpu | --force-tactics | [--simulated | --cuda] [--profiles]] "
           "[--part=I/N] [FILTER]\n";
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
  size_t place = 0;
  std::erase_if(cases, [&](const fs::path&) { return !part->has(place++); });
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
  if (filter.empty() && part->count == 1) {
    for (const auto& [name, reason] : listed) fmt::print("{}: is listed, but there is no such case\n", name);
    surprises += listed.size();
  }
  fmt::print("conformance: {}/{}\n", passed, cases.size());
  return surprises == 0 && !cases.empty() ? 0 : 1;
}
