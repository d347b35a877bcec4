#include "vernier/reduce/repro_folder.h"

#include <array>

#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/onnx/export.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "README.md",    "actual.npz",           "actual.safetensors", "command.sh",
    "expected.npz", "expected.safetensors", "inputs.npz",         "inputs.safetensors",
    "model.onnx",   "model.onnx.data"};
constexpr std::string_view kScript = "repro.py";

bool is_name_of_repro(const std::string& name) {
  return name == kScript || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool all_tensors(const NamedData& data) {
  return std::all_of(data.begin(), data.end(), [](const auto& each) {
    return each.second.is_tensor() && each.second.tensor.is_defined();
  });
}

std::string bytes_text(size_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

// Text of others inside of Markdown: on one line, and no markup.
std::string quoted(std::string text) {
  for (char& each : text) {
    if (each == '\n' || each == '\r' || each == '`') each = ' ';
  }
  return text;
}

class ReproFolder {
 public:
  ReproFolder(const fs::path& folder, const Reduction& reduction, const ReproFiles& files)
      : folder_(folder), reduction_(reduction), files_(files) {
    tensors_only_ = all_tensors(files.inputs) && all_tensors(files.expected) && all_tensors(files.actual);
    ending_ = tensors_only_ ? ".npz" : ".safetensors";
  }

  std::vector<std::string> write() && {
    std::error_code ignored;
    for (const std::string_view name : kNames) fs::remove(folder_ / name, ignored);
    fs::remove(folder_ / kScript, ignored);
    export_model(reduction_.result.model, folder_ / "model.onnx");
    written_.emplace_back("model.onnx");
    if (fs::exists(folder_ / "model.onnx.data")) written_.emplace_back("model.onnx.data");
    write_data("inputs", files_.inputs);
    write_data("expected", files_.expected);
    if (!files_.actual.empty()) write_data("actual", files_.actual);
    write_executable("command.sh", command());
    if (tensors_only_) write_executable(std::string(kScript), repro_script(files_));
    written_.emplace_back("README.md");
    write_file(folder_ / "README.md", readme());
    return std::move(written_);
  }

 private:
  void write_data(const std::string& what, const NamedData& data) {
    const std::string name = what + ending_;
    if (tensors_only_)
      write_file(folder_ / name, write_npz(data));
    else
      write_safetensors(folder_ / name, data);
    written_.push_back(name);
  }

  void write_executable(const std::string& name, const std::string& text) {
    write_file(folder_ / name, text);
    fs::permissions(folder_ / name, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add);
    written_.push_back(name);
  }

  std::string command() const {
    std::string text = "#!/bin/sh\n# Shows it with Vernier; VERNIER may name the program.\n";
    text += "here=$(CDPATH= cd -- \"$(dirname -- \"$0\")\" && pwd) || exit\n";
    // Files that the command names are found from where it was reduced.
    if (!files_.engine.folder.empty())
      text += fmt::format("cd -- '{}' || exit\n", escaped(files_.engine.folder));
    return text +
           fmt::format(
               "exec \"${{VERNIER:-vernier}}\" run \"$here/model.onnx\" --data \"$here/inputs{}\" {}\n",
               ending_, files_.arguments);
  }

  // Inside of single quotes of a shell.
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char each : text) result += each == '\'' ? "'\\''" : std::string(1, each);
    return result;
  }

  std::string readme() const {
    const Reduction& reduction = reduction_;
    std::string text = fmt::format("# {}: {}\n\n{}\n\n", quoted(files_.engine.name),
                                   symptom_name(files_.symptom.kind), quoted(files_.symptom.sentence));
    text += how_to_run();
    text += "## What it was made from\n\n| | nodes | constants | inputs |\n|---|---|---|---|\n";
    const auto row = [](const char* name, const CaseSize& size) {
      return fmt::format("| {} | {} | {} | {} |\n", name, size.nodes, bytes_text(size.constant_bytes),
                         bytes_text(size.input_bytes));
    };
    text += row("the whole model", reduction.before) + row("this one", reduction.after);
    text += fmt::format("\nOf the whole model it was said: {}\n\n", quoted(whole_sentence()));
    text += "Inputs that the whole model does not have are what the reference of Vernier makes there.\n\n";
    if (!reduction.is_finished) text += "The time was over before nothing could be left out any more.\n\n";
    if (reduction.anonymisation) text += anonymisation(*reduction.anonymisation);
    text += "## Versions\n\n";
    for (const auto& [name, facts] : files_.versions) {
      for (const auto& [key, value] : facts)
        text += fmt::format("- {}, {}: {}\n", quoted(name), quoted(key), quoted(value));
    }
    return text;
  }

  // Without names of values, if these were to be left out.
  std::string whole_sentence() const {
    const Symptom& whole = reduction_.whole;
    return reduction_.anonymisation ? std::string(symptom_name(whole.kind)) : whole.sentence;
  }

  std::string how_to_run() const {
    std::string text = "## How to see it\n\n    ./command.sh    # with Vernier\n";
    if (tensors_only_) text += "    python repro.py # without it\n";
    text += fmt::format("\n`inputs{0}` goes in, `expected{0}` is what {1} makes of it", ending_,
                        quoted(files_.against));
    if (!files_.actual.empty())
      text += fmt::format(", and `actual{}` what {} made", ending_, quoted(files_.engine.name));
    text += ".\n";
    if (!tensors_only_)
      text += "Values that are no tensors are in safetensors files of Vernier, so there is no script.\n";
    if (files_.engine.kind == ReproEngine::Kind::kProtocol) {
      text +=
          "The engine is a program that answers JSON lines (protocol `vernier-runner/1`); it was started "
          "with\n\n    " +
          quoted(files_.engine.command) + "\n";
      if (!files_.engine.folder.empty()) text += fmt::format("\nin {}\n", quoted(files_.engine.folder));
    }
    if (files_.engine.kind == ReproEngine::Kind::kVernier)
      text += "The engine is one of Vernier's: `repro.py` shows what it made, and what ONNX Runtime makes.\n";
    return text + "\n";
  }

  static std::string anonymisation(const Anonymisation& done) {
    std::string text = fmt::format(
        "## Anonymisation\n\nThe content of {} tensors was replaced by random numbers of the same "
        "statistics; {}.\n",
        done.tensors, done.names ? "nodes and values have plain names" : "names are as they were");
    if (!done.kept.empty()) text += "Not replaced:\n\n";
    for (const std::string& each : done.kept) text += fmt::format("- {}\n", quoted(each));
    return text + "\n";
  }

  const fs::path folder_;
  const Reduction& reduction_;
  const ReproFiles& files_;
  bool tensors_only_ = true;
  std::string ending_;
  std::vector<std::string> written_;
};

}  // namespace

bool prepare_repro_folder(const fs::path& folder, const fs::path& model) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw usage_error("the output is a folder, but there is a file of that name").in_file(folder.string());
  if (fs::is_directory(folder, error)) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_name_of_repro(entry.path().filename().string())) continue;
      throw usage_error("the output folder holds '{}', which is no file of a repro",
                        entry.path().filename().string())
          .in_file(folder.string())
          .advise("name another folder");
    }
    if (fs::equivalent(folder, model.has_parent_path() ? model.parent_path() : fs::path("."), error))
      throw usage_error("the output folder is that of the model, which would be written over")
          .in_file(folder.string())
          .advise("name another folder");
    return false;
  }
  fs::create_directories(folder, error);
  if (error) throw usage_error("cannot make the folder: {}", error.message()).in_file(folder.string());
  return true;
}

std::vector<std::string> write_repro_folder(const fs::path& folder, const Reduction& reduction,
                                            const ReproFiles& files) {
  return ReproFolder(folder, reduction, files).write();
}

}  // namespace vernier
