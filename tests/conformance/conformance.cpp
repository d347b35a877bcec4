// Runs the ONNX backend tests with the reference, or an engine:
// conformance FOLDER LIST [--cpu|--simulated|--force-tactics] [FILTER]
//
// Engines are tuned, as all that ship. With --force-tactics each case is run once more by each tactic that
// serves some node of it, which must hold where it is verified and where it is compared. With --simulated the
// engine is one of the simulated accelerator, whose order another seed draws for each case.
//
// FOLDER holds <category>/<case>/{model.onnx,test_data_set_*}. LIST names the cases that are known to fail,
// one "<case><tab><reason>" a line. Every case must behave as the list says: a listed case that passes is an
// error, too. The last line printed is "conformance: PASSED/ALL"; with a FILTER only cases whose name
// contains it are run.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/base/hash.h"
#include "vernier/engine/engine_on_demand.h"
#include "vernier/engine/session.h"
#include "vernier/onnx/data_file.h"
#include "vernier/onnx/import.h"

namespace fs = std::filesystem;
using namespace vernier;

namespace {

// The tolerances of ONNX's own runner (onnx.backend.test.case.test_case): |a - b| <= atol + rtol * |b|.
constexpr double kRtol = 1e-3, kAtol = 1e-7;

std::string compare(const Datum& actual, const Datum& expected) {
  if (actual.kind != expected.kind) return "another kind of value";
  if (actual.kind == Datum::Kind::kNone) return "";
  if (actual.kind == Datum::Kind::kSequence) {
    if (actual.sequence->size() != expected.sequence->size()) return "another length of sequence";
    for (size_t i = 0; i < actual.sequence->size(); ++i) {
      if (auto why = compare((*actual.sequence)[i], (*expected.sequence)[i]); !why.empty()) return why;
    }
    return "";
  }
  const Tensor &a = actual.tensor, &b = expected.tensor;
  if (a.type() != b.type())
    return fmt::format("type {} instead of {}", element_type_name(a.type()), element_type_name(b.type()));
  if (a.dims() != b.dims())
    return fmt::format("sizes {} instead of {}", dims_text(a.dims()), dims_text(b.dims()));
  if (a.type() == ElementType::kString || is_complex(a.type())) return a.identical(b) ? "" : "other values";
  const auto x = a.to_doubles(), y = b.to_doubles();
  for (size_t i = 0; i < x.size(); ++i) {
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                      std::abs(x[i] - y[i]) <= kAtol + kRtol * std::abs(y[i]);
    if (!same) return fmt::format("element {} is {} instead of {}", i, x[i], y[i]);
  }
  return "";
}

// What runs a model: outputs in the order of the graph.
using Run = std::function<std::vector<Datum>(const NamedData& inputs)>;

enum class Runs : uint8_t { kReference, kEngine, kSimulated, kEveryTactic };

BuildOptions build_options(const std::string& forced) {
  BuildOptions options;
  options.tune.level = 2;  // thousands of small models
  options.tune.forced = forced;
  return options;
}

Run run_of(const Model& model, const std::shared_ptr<EngineOnDemand>& source) {
  return [&model, source](const NamedData& inputs) {
    const auto results = Session(source->engine_for(inputs)).run(inputs);
    std::vector<Datum> outputs;
    for (const Value* output : model.graph->outputs) outputs.push_back(results.at(output->name));
    return outputs;
  };
}

std::string run_data_set(const Model& model, const Run& run, const fs::path& folder) {
  std::map<std::string, Datum> inputs;
  size_t index = 0;
  for (const Value* input : model.graph->inputs) {
    const fs::path file = folder / fmt::format("input_{}.pb", index++);
    if (!fs::exists(file)) break;
    inputs[input->name] = read_pb_file(
        file, input->type.kind == ValueType::Kind::kOptional ? ValueType::Kind::kOptional : input->type.kind);
  }
  const auto outputs = run(inputs);
  size_t compared = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path file = folder / fmt::format("output_{}.pb", i);
    if (!fs::exists(file)) return fmt::format("output {} has no expected file", i);
    const auto why = compare(outputs[i], read_pb_file(file, model.graph->outputs[i]->type.kind));
    if (!why.empty()) return fmt::format("output {}: {}", i, why);
    ++compared;
  }
  return compared == 0 ? "nothing to compare" : "";
}

std::string run_data_sets(const Model& model, const Run& run, const fs::path& folder) {
  size_t data_sets = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    ++data_sets;
    if (auto why = run_data_set(model, run, entry.path()); !why.empty()) return why;
  }
  return data_sets == 0 ? "no data set" : "";
}

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

std::string run_case(const fs::path& folder, Runs runs) {
  try {
    const auto imported = import_model(folder / "model.onnx");
    const Model& model = imported.model;
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
    std::cerr << "usage: conformance FOLDER LIST [--cpu|--simulated|--force-tactics] [FILTER]\n";
    return 2;
  }
  const std::string_view option = argc > 3 ? argv[3] : "";
  const Runs runs = option == "--cpu"             ? Runs::kEngine
                    : option == "--simulated"     ? Runs::kSimulated
                    : option == "--force-tactics" ? Runs::kEveryTactic
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
  fmt::print("conformance: {}/{}\n", passed, cases.size());
  return surprises == 0 && !cases.empty() ? 0 : 1;
}
