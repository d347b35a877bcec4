// Where libraries of the CUDA toolkit are looked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vernier::cuda {

struct SearchOptions {
  // --cuda-path: a toolkit, a folder of Python packages, or the folder of the libraries itself. What is there
  // comes first.
  std::filesystem::path cuda_path = {};
  // The program whose packages are looked at, as a name or path; empty: VERNIER_PYTHON, else the first
  // python3.
  std::string python = {};
};

// The folders that exist, in the order in which they are looked through: those of the options, of the
// packages of Python (site-packages/nvidia/cu13/lib), of CUDA_PATH and CUDA_HOME, of /usr/local/cuda. No
// program is started.
std::vector<std::filesystem::path> library_folders(const SearchOptions& options);

// Files of these folders whose names begin so, folder by folder, in each the last name first: the newest.
std::vector<std::filesystem::path> files_with_prefix(const std::vector<std::filesystem::path>& folders,
                                                     const std::string& prefix);

}  // namespace vernier::cuda
