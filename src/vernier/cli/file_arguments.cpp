#include "vernier/cli/file_arguments.h"

#include <filesystem>

#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/data/data_set.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

// Options whose argument is a file; those that are not here name none.
constexpr std::string_view kWritten[] = {"cache",    "html",   "json",  "node-data",    "output", "save-plan",
                                         "save-run", "scores", "state", "timing-cache", "trace"};
constexpr std::string_view kRead[] = {"calibration", "classes",  "data", "diff", "engine",
                                      "labels",      "load-run", "plan", "refit"};

struct NamedFile {
  std::string option;  // as messages call it
  fs::path path;
};

struct Files {
  std::vector<NamedFile> read, written;

  void add(const std::string& option, const std::string& argument) {
    const auto is_one_of = [&](const auto& options) {
      return std::find(std::begin(options), std::end(options), option) != std::end(options);
    };
    if (argument.empty()) return;
    if (is_one_of(kWritten)) written.push_back({"--" + option, argument});
    if (is_one_of(kRead)) read.push_back({"--" + option, argument});
    // NAME=FILE; the name may hold '=' itself.
    for (size_t at = argument.find('='); option == "data" && at != std::string::npos;
         at = argument.find('=', at + 1))
      read.push_back({"--data", argument.substr(at + 1)});
  }
};

Files files_of(const CLI::App& verb) {
  Files files;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& argument : option->results()) {
      if (option->get_positional() && option->get_lnames().empty())
        files.read.push_back({option->get_name(true), argument});
      else if (!option->get_lnames().empty())
        files.add(option->get_lnames().front(), argument);
    }
  }
  for (const RunnerSpec& spec : runner_specs()) {
    files.add(spec.kind, spec.argument);
    for (const auto& [name, value] : spec.options) files.add(name, value);
  }
  return files;
}

// Devices and pipes may be read and written at the same time.
bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool are_one_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (is_file(a) && is_file(b)) return fs::equivalent(a, b, error);
  if (fs::exists(a, error) || fs::exists(b, error)) return false;
  const fs::path one = fs::weakly_canonical(a, error), other = fs::weakly_canonical(b, error);
  return one == other;
}

// Whether `folder`, which is given as data, holds `file` as data.
bool is_sample_of(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  if (!fs::is_directory(folder, error) || !is_file(file) || !is_data_of_folder(file)) return false;
  const fs::path inside = fs::canonical(file, error).lexically_relative(fs::canonical(folder, error));
  return !inside.empty() && *inside.begin() != "..";
}

Error refuse(const NamedFile& written, const std::string& reason) {
  return usage_error("{} would overwrite {}", written.option, reason)
      .in_file(written.path)
      .advise("write to another file");
}

Files& files_of_command() {
  static Files files;
  return files;
}

}  // namespace

void require_files_apart(const CLI::App& verb) {
  files_of_command() = files_of(verb);
  const Files& files = files_of_command();
  for (size_t i = 0; i < files.written.size(); ++i) {
    const NamedFile& written = files.written[i];
    for (const NamedFile& read : files.read) {
      const bool is_read = is_file(written.path) && are_one_file(written.path, read.path);
      if (is_read || is_sample_of(read.path, written.path))
        throw refuse(written, "what the command reads as " + read.option);
    }
    for (size_t j = 0; j < i; ++j) {
      if (are_one_file(written.path, files.written[j].path))
        throw refuse(written, "what the command writes as " + files.written[j].option);
    }
  }
}

ImportedModel open_model(const std::string& path, UnknownOperators unknown) {
  ImportedModel model = import_model(path, unknown);
  for (const NamedFile& written : files_of_command().written) {
    if (MappedFile::is_mapped(written.path)) throw refuse(written, "what weights of the model are read from");
  }
  return model;
}

}  // namespace vernier
