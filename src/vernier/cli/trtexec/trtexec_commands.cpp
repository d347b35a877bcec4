#include <fmt/format.h>

#include "vernier/base/error.h"
#include "vernier/cli/trtexec/trtexec_command.h"

namespace vernier {

namespace {

std::string sizes_text(const SizeTexts& sizes) {
  std::string text;
  for (const auto& [name, dims] : sizes) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, dims);
  return text;
}

void add(CommandWords& words, const char* option, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(option);
  words.push_back(value);
}

// trtexec's rule: what is not given is as what is given and comes next, from max over opt to min.
TrtexecProfile completed(TrtexecProfile profile) {
  profile.opt.insert(profile.max.begin(), profile.max.end());
  profile.opt.insert(profile.min.begin(), profile.min.end());
  profile.min.insert(profile.opt.begin(), profile.opt.end());
  profile.max.insert(profile.opt.begin(), profile.opt.end());
  return profile;
}

// Without profiles, --shapes says at which sizes the engine is built, and at no others does it run.
std::vector<TrtexecProfile> profiles_of(const TrtexecCommand& command) {
  std::vector<TrtexecProfile> profiles;
  for (const TrtexecProfile& profile : command.profiles) {
    profiles.push_back(completed(profile));
    if (profiles.back().opt.empty())
      throw usage_error("--profile: no sizes are given for profile {}", profiles.size() - 1);
  }
  if (profiles.empty() && !command.shapes.empty()) profiles.push_back({{}, command.shapes, {}});
  return profiles;
}

void add_precision(CommandWords& words, const TrtexecCommand& command) {
  const bool both = command.fp16 && command.bf16;
  if (both && !command.best)
    throw unsupported("--fp16 and --bf16: an engine is lowered to one of the two")
        .advise("give one of them, or --best for what this machine computes fast");
  const size_t before = words.size();
  if (command.best) words.emplace_back("--best");
  if (command.fp16 && !command.best) words.emplace_back("--fp16");
  if (command.bf16 && !command.best) words.emplace_back("--bf16");
  if (command.int8 && !command.best && !command.calibration.empty()) words.emplace_back("--int8");
  add(words, "--calibration", command.calibration);
  add(words, "--layer-precisions", command.layer_precisions);
  add(words, "--layer-output-types", command.layer_output_types);
  // TensorRT falls back without a word; to say so is the least.
  if (words.size() > before)
    add(words, "--precision-constraints", command.constraints.empty() ? "prefer" : command.constraints);
}

CommandWords engine_words(const TrtexecCommand& command) {
  CommandWords words;
  for (const TrtexecProfile& profile : profiles_of(command)) {
    add(words, "--min-shapes", sizes_text(profile.min));
    add(words, "--opt-shapes", sizes_text(profile.opt));
    add(words, "--max-shapes", sizes_text(profile.max));
  }
  add(words, "--workspace", command.workspace);
  add(words, "--timing-cache", command.timing_cache);
  add(words, "--opt-level", command.level);
  words.emplace_back("--cpu");
  add_precision(words, command);
  return words;
}

CommandWords measuring_words(const TrtexecCommand& command) {
  CommandWords words;
  const std::vector<TrtexecProfile> profiles = profiles_of(command);
  if (!command.shapes.empty()) {
    add(words, "--shapes", sizes_text(command.shapes));
  } else if (!profiles.empty()) {
    if (command.used_profile >= profiles.size())
      throw usage_error("--useProfile: there is no profile {}", command.used_profile);
    add(words, "--shapes", sizes_text(profiles[command.used_profile].opt));
  }
  for (const std::string& file : command.data) add(words, "--data", file);
  add(words, "--warmup", fmt::format("{}", command.warm_up / 1e3));
  add(words, "--duration", fmt::format("{}", command.duration));
  add(words, "--runs", std::to_string(std::max<size_t>(command.iterations, 1)));
  if (command.streams > 1) add(words, "--sessions", std::to_string(command.streams));
  if (command.needs_profile()) words.emplace_back("--profile");
  return words;
}

CommandWords joined(CommandWords words, const CommandWords& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

std::vector<std::string> notes_of(const TrtexecCommand& command) {
  std::vector<std::string> notes;
  if (!command.load_engine.empty() && command.changes_types())
    notes.emplace_back("an engine file computes in the types that it was built with");
  else if (command.int8 && command.calibration.empty())
    notes.emplace_back(kNoRanges);
  return notes;
}

std::vector<CommandWords> vernier_commands(const TrtexecCommand& command, const CommandWords& own) {
  std::vector<CommandWords> commands;
  const auto finished = [&] {
    commands.back() = joined(std::move(commands.back()), own);
    return commands;
  };
  if (!command.load_engine.empty()) {
    // An engine file knows how it was built.
    CommandWords bench = {"bench"};
    if (command.onnx.empty())
      bench.push_back(command.load_engine);
    else
      bench = {"bench", command.onnx, "--engine", command.load_engine};
    commands.push_back(joined(std::move(bench), measuring_words(command)));
    return finished();
  }
  if (command.onnx.empty())
    throw usage_error("no model is given")
        .advise("write --onnx=FILE, or --loadEngine=FILE for an engine file");
  if (command.save_engine.empty() && !command.skip_inference) {
    commands.push_back(
        joined(joined({"bench", command.onnx}, measuring_words(command)), engine_words(command)));
    return finished();
  }
  CommandWords build = {"build", command.onnx};
  add(build, "-o", command.save_engine);
  if (command.strip_weights) build.emplace_back("--strip-weights");
  commands.push_back(joined(std::move(build), engine_words(command)));
  if (!command.skip_inference)
    commands.push_back(joined({"bench", command.save_engine}, measuring_words(command)));
  return finished();
}

}  // namespace vernier
