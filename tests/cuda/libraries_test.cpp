// Where libraries of CUDA are looked for, and what is said of those that are missing.
#include "vernier/backends/cuda/libraries/libraries.h"

#include <gmock/gmock.h>

#include <fstream>

#include "vernier/base/error.h"

namespace vernier::cuda {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class LibrariesTest : public testing::Test {
 protected:
  LibrariesTest() : root_(fs::temp_directory_path() / ("cuda_libraries_" + std::to_string(getpid()))) {
    fs::create_directories(root_);
    for (const char* name : {"VERNIER_PYTHON", "CUDA_PATH", "CUDA_HOME"}) unsetenv(name);
  }
  ~LibrariesTest() override { fs::remove_all(root_); }

  fs::path folder(const std::string& name) const {
    fs::create_directories(root_ / name);
    return root_ / name;
  }
  void file(const fs::path& path, const std::string& content = "no library") const {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }

  fs::path root_;
};

TEST_F(LibrariesTest, FoldersOfAToolkitAndOfPackagesAreFoundBelowThePath) {
  const auto lib64 = folder("toolkit/lib64");
  EXPECT_EQ(library_folders({root_ / "toolkit", "/none"}).front(), lib64);
  const auto packages = folder("site/nvidia/cu13/lib");
  EXPECT_EQ(library_folders({root_ / "site", "/none"}).front(), packages);
  const auto environment = folder("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib");
  EXPECT_THAT(library_folders({root_ / "venv", "/none"}), Contains(environment));
}

TEST_F(LibrariesTest, PackagesOfThePythonAreFoundWithoutStartingIt) {
  const auto packages = folder("venv/lib/python3.11/site-packages/nvidia/cu13/lib");
  file(root_ / "venv/bin/python");  // no program: it is not run
  EXPECT_THAT(library_folders({{}, (root_ / "venv/bin/python").string()}), Contains(packages));
  EXPECT_THAT(library_folders({{}, "/none"}), Not(Contains(packages)));
  setenv("VERNIER_PYTHON", (root_ / "venv/bin/python").c_str(), 1);
  EXPECT_THAT(library_folders({}), Contains(packages));
  unsetenv("VERNIER_PYTHON");
}

TEST_F(LibrariesTest, TheEnvironmentNamesAToolkit) {
  const auto lib64 = folder("named/lib64");
  setenv("CUDA_PATH", (root_ / "named").c_str(), 1);
  EXPECT_THAT(library_folders({{}, "/none"}), Contains(lib64));
  unsetenv("CUDA_PATH");
}

TEST_F(LibrariesTest, OfSeveralFilesTheNewestIsTakenFirst) {
  const auto lib = folder("lib");
  for (const char* name : {"libnvrtc.so.12", "libnvrtc.so.13", "libcudart.so.13"}) file(lib / name);
  EXPECT_THAT(files_with_prefix({lib}, "libnvrtc"),
              ElementsAre(lib / "libnvrtc.so.13", lib / "libnvrtc.so.12"));
}

// A file that is no library is passed over; the text names the folders that were looked through.
TEST_F(LibrariesTest, AMissingCompilerIsToldWithWhereItWasLookedFor) {
  const auto lib = folder("toolkit/lib64");
  file(lib / "libnvrtc.so.13");
  NvrtcApi api;
  const FoundLibrary found = open_library({root_ / "toolkit", "/none"}, api);
  if (found.missing.empty()) GTEST_SKIP() << "SKIPPED: this system has NVRTC where the loader looks";
  EXPECT_THAT(found.missing, HasSubstr("NVRTC, libnvrtc.so.13"));
  EXPECT_THAT(found.missing, HasSubstr(lib.string()));
}

TEST_F(LibrariesTest, AMissingCublasLtIsToldAndLacksNothingThatIsNeeded) {
  const auto lib = folder("toolkit/lib64");
  file(lib / "libcublasLt.so.13");
  const CublasLtLibrary library({root_ / "toolkit", "/none"});
  if (library.found().missing.empty())
    GTEST_SKIP() << "SKIPPED: this system has cuBLASLt where the loader looks";
  EXPECT_THAT(library.found().missing, HasSubstr("cuBLASLt, libcublasLt.so.13"));
  EXPECT_THAT(library.found().missing, HasSubstr(lib.string()));
  Libraries libraries;
  libraries.cublaslt = std::make_shared<CublasLtLibrary>(SearchOptions{root_ / "toolkit", "/none"});
  EXPECT_NO_THROW(libraries.require());
  EXPECT_THAT(libraries.versions(), HasSubstr("cuBLASLt missing"));
}

TEST_F(LibrariesTest, AMissingCudnnIsToldAndLacksNothingThatIsNeeded) {
  const auto lib = folder("toolkit/lib64");
  file(lib / "libcudnn.so.9");
  const CudnnLibrary library({root_ / "toolkit", "/none"});
  if (library.found().missing.empty())
    GTEST_SKIP() << "SKIPPED: this system has cuDNN where the loader looks";
  EXPECT_THAT(library.found().missing, HasSubstr("cuDNN 9, libcudnn.so.9"));
  EXPECT_THAT(library.found().missing, HasSubstr(lib.string()));
  Libraries libraries;
  libraries.cudnn = std::make_shared<CudnnLibrary>(SearchOptions{root_ / "toolkit", "/none"});
  EXPECT_NO_THROW(libraries.require());
  EXPECT_THAT(libraries.versions(), HasSubstr("cuDNN missing"));
}

TEST_F(LibrariesTest, WhatIsMissingIsToldAtOnceWithWhatWorksWithoutIt) {
  Libraries libraries;
  libraries.driver_library = {"libcuda.so.1", "", "",
                              "the driver of NVIDIA, libcuda.so.1, is not on this machine"};
  libraries.nvrtc_library = {"libnvrtc.so.13", "", "", "NVRTC, libnvrtc.so.13, is nowhere"};
  try {
    libraries.require();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    const std::string text = error.what();
    EXPECT_THAT(text, HasSubstr("libcuda.so.1"));
    EXPECT_THAT(text, HasSubstr("libnvrtc.so.13"));
    EXPECT_THAT(text, HasSubstr("nvidia-cuda-nvrtc"));
    EXPECT_THAT(text, HasSubstr("--cpu needs nothing of CUDA"));
  }
  EXPECT_EQ(libraries.versions(), "driver missing, NVRTC missing");
  libraries.driver_library.missing = libraries.nvrtc_library.missing = "";
  libraries.driver_library.version = libraries.nvrtc_library.version = "13.0";
  EXPECT_NO_THROW(libraries.require());
  EXPECT_EQ(libraries.versions(), "driver 13.0, NVRTC 13.0");
  libraries.cublaslt = std::make_shared<CublasLtLibrary>(
      FoundLibrary{"libcublasLt.so.13", "/lib/libcublasLt.so.13", "13.1.0", ""}, CublasLtApi());
  EXPECT_EQ(libraries.versions(), "driver 13.0, NVRTC 13.0, cuBLASLt 13.1.0");
  libraries.cudnn = std::make_shared<CudnnLibrary>(
      FoundLibrary{"libcudnn.so.9", "/lib/libcudnn.so.9", "9.19.0", ""}, CudnnApi());
  EXPECT_EQ(libraries.versions(), "driver 13.0, NVRTC 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0");
}

}  // namespace
}  // namespace vernier::cuda
