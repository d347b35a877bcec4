// The libraries of NVIDIA that the backend opens when the program runs.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "vernier/backends/cuda/libraries/cublaslt_api.h"
#include "vernier/backends/cuda/libraries/cudnn_api.h"
#include "vernier/backends/cuda/libraries/nvrtc_api.h"
#include "vernier/backends/cuda/libraries/search_path.h"

namespace vernier::cuda {

// A library that was opened, or why it was not.
struct FoundLibrary {
  std::string name;     // "libcuda.so.1"
  std::string path;     // of the file; empty: it was not found
  std::string version;  // "13.0"
  std::string missing;  // why it cannot be used; empty if it can
};

// The driver alone cannot run programs, and NVRTC alone can only compile them.
FoundLibrary open_driver(DriverApi& api);
FoundLibrary open_library(const SearchOptions& options, NvrtcApi& api);
FoundLibrary open_library(const SearchOptions& options, CublasLtApi& api);
FoundLibrary open_library(const SearchOptions& options, CudnnApi& api);

// A library that is opened when it is first asked for: engines that do not use it, and machines without it,
// do not need it. Thread-safe.
template <class Api>
class LibraryOnDemand {
 public:
  explicit LibraryOnDemand(SearchOptions options) : options_(std::move(options)) {}
  // As if it had been opened: for tests.
  LibraryOnDemand(FoundLibrary found, const Api& api) : opened_(true), found_(std::move(found)), api_(api) {}

  const FoundLibrary& found() const { return open(), found_; }
  const Api& api() const { return open(), api_; }  // usable if found().missing is empty

 private:
  void open() const {
    const std::lock_guard lock(mutex_);
    if (!opened_) found_ = open_library(options_, api_);
    opened_ = true;
  }

  SearchOptions options_;
  mutable std::mutex mutex_;
  mutable bool opened_ = false;
  mutable FoundLibrary found_;
  mutable Api api_;
};
using CublasLtLibrary = LibraryOnDemand<CublasLtApi>;
using CudnnLibrary = LibraryOnDemand<CudnnApi>;

struct Libraries {
  DriverApi driver;  // usable if driver_library.missing is empty
  NvrtcApi nvrtc;    // likewise
  FoundLibrary driver_library, nvrtc_library;
  std::shared_ptr<const CublasLtLibrary> cublaslt = nullptr;  // null: products are computed without it
  std::shared_ptr<const CudnnLibrary> cudnn = nullptr;        // null: so are convolutions

  bool complete() const { return driver_library.missing.empty() && nvrtc_library.missing.empty(); }
  // "driver 13.0, NVRTC 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0", as reports and fingerprints have it. Opens
  // both.
  std::string versions() const;
  // Throws unsupported where one is missing: which, where it was looked for, and what works without it.
  void require() const;
};

// Opens what there is; nothing is thrown for what is missing. Safe where there is no GPU and no driver.
Libraries open_libraries(const SearchOptions& options);

}  // namespace vernier::cuda
