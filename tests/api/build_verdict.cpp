// Tells what a build concludes: api_build_verdict cpp|c MODEL.onnx [NAME=VALUE...], with the build options of
// the C interface. Prints the verdict as the C interface numbers it, then a line for each reason, and for
// each note that a tactic is in quarantine.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "vernier/vernier.h"
#include "vernier/vernier_c.h"

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Told {
  int verdict = VERNIER_VERDICT_NOT_VERIFIED;
  std::vector<std::string> reasons, notes;
};

void require(vernier_status status) {
  if (status != VERNIER_OK) throw vernier::Error(vernier::ErrorCode::kUsage, vernier_last_error());
}

Told told_in_c(const std::string& model, const Settings& settings) {
  vernier_build_options* options = nullptr;
  require(vernier_build_options_create(&options));
  for (const auto& [name, value] : settings)
    require(vernier_build_options_set(options, name.c_str(), value.c_str()));
  vernier_engine* engine = nullptr;
  require(vernier_engine_build_with(model.c_str(), options, &engine));
  vernier_build_report report;
  require(vernier_engine_report(engine, &report));
  Told told{report.verdict,
            {report.reasons, report.reasons + report.reason_count},
            {report.notes, report.notes + report.note_count}};
  vernier_engine_release(engine);
  vernier_build_options_release(options);
  return told;
}

Told told_in_cpp(const std::string& model, const Settings& settings) {
  vernier::BuildOptions options;
  for (const auto& [name, value] : settings) {
    if (name == "inject_fault") options.inject_fault = value;
    if (name == "optimization_level") options.optimization_level = std::stoi(value);
    if (name == "isolate_trials") options.isolate_trials = value == "1";
  }
  const vernier::Engine engine = vernier::Engine::build(model, options);
  return {static_cast<int>(engine.report().verdict), engine.report().reasons, engine.report().notes};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string language = argv[1];
  Settings settings;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    settings.emplace_back(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  try {
    const Told told = language == "c" ? told_in_c(argv[2], settings) : told_in_cpp(argv[2], settings);
    std::printf("%d\n", told.verdict);
    for (const std::string& reason : told.reasons) std::printf("%s\n", reason.c_str());
    for (const std::string& note : told.notes) {
      if (note.starts_with("in quarantine: ")) std::printf("%s\n", note.c_str());
    }
  } catch (const vernier::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
