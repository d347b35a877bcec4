#include "vernier/backends/cuda/libraries/search_path.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace vernier::cuda {

namespace fs = std::filesystem;

namespace {

// Folders of `parent` whose names begin so, the last name first.
std::vector<fs::path> folders_with_prefix(const fs::path& parent, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix) && entry->is_directory(error))
      found.push_back(entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

void add(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error) && std::find(folders.begin(), folders.end(), folder) == folders.end())
    folders.push_back(folder);
}

// Wheels have them in site-packages/nvidia/cu13/lib, or before that in nvidia/cuda_nvrtc/lib and the like.
void add_packages(std::vector<fs::path>& folders, const fs::path& packages) {
  for (const fs::path& package : folders_with_prefix(packages / "nvidia", "cu"))
    add(folders, package / "lib");
}

void add_toolkit(std::vector<fs::path>& folders, const fs::path& toolkit) {
  for (const char* name : {"lib64", "lib", "targets/x86_64-linux/lib"}) add(folders, toolkit / name);
}

// Adds the folders of an environment of Python, or of the system's.
void add_environment(std::vector<fs::path>& folders, const fs::path& prefix) {
  for (const char* library : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& version : folders_with_prefix(prefix / library, "python3")) {
      for (const char* packages : {"site-packages", "dist-packages"})
        add_packages(folders, version / packages);
    }
  }
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The program of this name on PATH; empty if there is none.
fs::path program_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::istringstream path(environment("PATH"));
  std::error_code error;
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty() && fs::exists(fs::path(folder) / name, error)) return fs::path(folder) / name;
  }
  return {};
}

void add_python(std::vector<fs::path>& folders, const std::string& asked) {
  const std::string from_environment = environment("VERNIER_PYTHON");
  const std::string name = !asked.empty() ? asked : from_environment.empty() ? "python3" : from_environment;
  const fs::path program = program_of(name);
  if (program.empty()) return;
  // As it is called: the program of an environment is a link to that of the system.
  add_environment(folders, program.parent_path().parent_path());
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  if (!error) add_environment(folders, real.parent_path().parent_path());
}

}  // namespace

std::vector<fs::path> library_folders(const SearchOptions& options) {
  std::vector<fs::path> folders;
  if (!options.cuda_path.empty()) {
    add_toolkit(folders, options.cuda_path);
    add_packages(folders, options.cuda_path);
    add_environment(folders, options.cuda_path);
    add(folders, options.cuda_path);
  }
  add_python(folders, options.python);
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const std::string toolkit = environment(name); !toolkit.empty()) add_toolkit(folders, toolkit);
  }
  add_toolkit(folders, "/usr/local/cuda");
  return folders;
}

std::vector<fs::path> files_with_prefix(const std::vector<fs::path>& folders, const std::string& prefix) {
  std::vector<fs::path> found;
  for (const fs::path& folder : folders) {
    std::vector<fs::path> here;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().filename().string().starts_with(prefix)) here.push_back(entry->path());
    }
    std::sort(here.rbegin(), here.rend());
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

}  // namespace vernier::cuda
