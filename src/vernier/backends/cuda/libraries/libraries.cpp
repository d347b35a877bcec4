#include "vernier/backends/cuda/libraries/libraries.h"

#include <fmt/ranges.h>

#include <functional>

#include "vernier/base/dynamic_library.h"
#include "vernier/base/error.h"

namespace vernier::cuda {

namespace {

constexpr const char* kDriver = "libcuda.so.1";

// Sets a function of a table; the name of the first that the library lacks is kept.
template <class Function>
void fill(const DynamicLibrary& library, const char* symbol, Function*& function, std::string& lacking) {
  function = reinterpret_cast<Function*>(library.find(symbol));
  if (function == nullptr && lacking.empty()) lacking = symbol;
}

std::string version_text(int major, int minor) {
  return fmt::format("{}.{}", major, minor);
}

// Opens first what NVRTC opens by name while it compiles, because the library says nothing of where it lies.
void open_builtins(const std::filesystem::path& nvrtc) {
  std::string reason;
  for (const auto& file : files_with_prefix({nvrtc.parent_path()}, "libnvrtc-builtins.so"))
    DynamicLibrary::open(file, DynamicLibrary::Symbols::kShared, reason);
}

bool fill_nvrtc(const DynamicLibrary& library, NvrtcApi& api, FoundLibrary& found) {
  std::string lacking;
#define VERNIER_CUDA_FILL(name, symbol, ...) fill(library, #symbol, api.name, lacking);
  VERNIER_CUDA_NVRTC_FUNCTIONS(VERNIER_CUDA_FILL)
#undef VERNIER_CUDA_FILL
  int major = 0, minor = 0;
  if (!lacking.empty())
    found.missing = fmt::format("{} has no function {}", library.path().string(), lacking);
  else if (api.version(&major, &minor) != 0)
    found.missing = fmt::format("{} does not tell its version", library.path().string());
  else
    found = {found.name, library.path().string(), version_text(major, minor), ""};
  return found.missing.empty();
}

std::string lacking_of(const DynamicLibrary& library, CublasLtApi& api) {
  std::string lacking;
#define VERNIER_CUDA_FILL(name, symbol, ...) fill(library, #symbol, api.name, lacking);
  VERNIER_CUDA_CUBLASLT_FUNCTIONS(VERNIER_CUDA_FILL)
#undef VERNIER_CUDA_FILL
  return lacking;
}

std::string lacking_of(const DynamicLibrary& library, CudnnApi& api) {
  std::string lacking;
#define VERNIER_CUDA_FILL(name, symbol, ...) fill(library, #symbol, api.name, lacking);
  VERNIER_CUDA_CUDNN_FUNCTIONS(VERNIER_CUDA_FILL)
#undef VERNIER_CUDA_FILL
  return lacking;
}

// A library that tells its version as a number: 91900 is 9.19.0.
template <class Api>
bool fill_numbered(const DynamicLibrary& library, Api& api, FoundLibrary& found) {
  constexpr size_t kMajor = 10000, kMinor = 100;
  if (const std::string lacking = lacking_of(library, api); !lacking.empty()) {
    found.missing = fmt::format("{} has no function {}", library.path().string(), lacking);
    return false;
  }
  const size_t version = api.version();
  found = {found.name, library.path().string(),
           fmt::format("{}.{}.{}", version / kMajor, version % kMajor / kMinor, version % kMinor), ""};
  return true;
}

// The first of these names, in the folders and then where the loader looks, that `use` takes. What is said of
// one that is nowhere begins with `what`.
FoundLibrary open_first(std::initializer_list<const char*> names, const SearchOptions& options,
                        std::string_view what,
                        const std::function<bool(const std::filesystem::path&, FoundLibrary&)>& use) {
  const auto folders = library_folders(options);
  FoundLibrary found;
  for (const char* name : names) {
    found.name = name;
    std::vector<std::filesystem::path> places = files_with_prefix(folders, name);
    places.emplace_back(name);  // as the loader finds it
    for (const auto& place : places) {
      if (use(place, found)) return found;
    }
  }
  std::vector<std::string> looked;
  looked.reserve(folders.size());
  for (const auto& folder : folders) looked.push_back(folder.string());
  return {*names.begin(), "", "",
          fmt::format("{}, is neither in {} nor where the system looks", what,
                      looked.empty() ? "a folder of CUDA (there is none)"
                                     : fmt::format("{}", fmt::join(looked, ", ")))};
}

}  // namespace

FoundLibrary open_driver(DriverApi& api) {
  FoundLibrary found{kDriver, "", "", ""};
  std::string reason, lacking;
  const auto library = DynamicLibrary::open(kDriver, DynamicLibrary::Symbols::kShared, reason);
  if (!library) {
    found.missing = fmt::format("the driver of NVIDIA, {}, is not on this machine", kDriver);
    return found;
  }
#define VERNIER_CUDA_FILL(name, symbol, ...) fill(*library, #symbol, api.name, lacking);
  VERNIER_CUDA_DRIVER_FUNCTIONS(VERNIER_CUDA_FILL)
#undef VERNIER_CUDA_FILL
  found.path = library->path().string();
  if (!lacking.empty()) {
    found.missing =
        fmt::format("the driver of NVIDIA is too old: {} has no function {}", found.path, lacking);
    return found;
  }
  int version = 0;
  if (api.driver_version(&version) == kSuccess)
    found.version = version_text(version / 1000, version % 1000 / 10);
  return found;
}

FoundLibrary open_library(const SearchOptions& options, NvrtcApi& api) {
  return open_first(
      {"libnvrtc.so.13", "libnvrtc.so.12"}, options, "NVRTC, libnvrtc.so.13, which compiles kernels",
      [&](const std::filesystem::path& place, FoundLibrary& found) {
        std::string reason;
        if (place.has_parent_path()) open_builtins(place);
        const auto library = DynamicLibrary::open(place, DynamicLibrary::Symbols::kShared, reason);
        return library && fill_nvrtc(*library, api, found);
      });
}

FoundLibrary open_library(const SearchOptions& options, CublasLtApi& api) {
  return open_first({"libcublasLt.so.13", "libcublasLt.so.12"}, options,
                    "cuBLASLt, libcublasLt.so.13, which multiplies matrices",
                    [&](const std::filesystem::path& place, FoundLibrary& found) {
                      std::string reason;
                      const auto library =
                          DynamicLibrary::open(place, DynamicLibrary::Symbols::kShared, reason);
                      return library && fill_numbered(*library, api, found);
                    });
}

FoundLibrary open_library(const SearchOptions& options, CudnnApi& api) {
  return open_first({"libcudnn.so.9"}, options, "cuDNN 9, libcudnn.so.9, which computes convolutions",
                    [&](const std::filesystem::path& place, FoundLibrary& found) {
                      // A package that only compiles engines at run time has none beside it.
                      const bool has_engines =
                          !place.has_parent_path() ||
                          !files_with_prefix({place.parent_path()}, "libcudnn_engines_precompiled").empty();
                      std::string reason;
                      const auto library =
                          has_engines ? DynamicLibrary::open(place, DynamicLibrary::Symbols::kShared, reason)
                                      : std::nullopt;
                      return library && fill_numbered(*library, api, found);
                    });
}

Libraries open_libraries(const SearchOptions& options) {
  Libraries all;
  all.driver_library = open_driver(all.driver);
  all.nvrtc_library = open_library(options, all.nvrtc);
  all.cublaslt = std::make_shared<CublasLtLibrary>(options);
  all.cudnn = std::make_shared<CudnnLibrary>(options);
  return all;
}

std::string Libraries::versions() const {
  const auto text = [](const FoundLibrary& library) {
    return library.missing.empty() ? library.version : "missing";
  };
  std::string all = fmt::format("driver {}, NVRTC {}", text(driver_library), text(nvrtc_library));
  if (cublaslt) all += fmt::format(", cuBLASLt {}", text(cublaslt->found()));
  if (cudnn) all += fmt::format(", cuDNN {}", text(cudnn->found()));
  return all;
}

void Libraries::require() const {
  std::vector<std::string> missing;
  for (const FoundLibrary* library : {&driver_library, &nvrtc_library}) {
    if (!library->missing.empty()) missing.push_back(library->missing);
  }
  if (missing.empty()) return;
  std::string advice = "--cpu needs nothing of CUDA";
  if (!nvrtc_library.missing.empty())
    advice = "install the Python package nvidia-cuda-nvrtc, or name the folder with --cuda-path; " + advice;
  if (!driver_library.missing.empty()) advice = "install the driver of NVIDIA; " + advice;
  throw unsupported("--cuda cannot run here: {}", fmt::join(missing, "; and ")).advise(advice);
}

}  // namespace vernier::cuda
