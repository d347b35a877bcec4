// A shared library that is opened when the program runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace vernier {

class DynamicLibrary {
 public:
  enum class Symbols : uint8_t {
    kShared,   // serve libraries that are opened later
    kPrivate,  // are found by `find` alone
  };

  // By path, or by a bare name as the loader of the system finds it. Nothing, with the loader's reason, where
  // it cannot be opened.
  static std::optional<DynamicLibrary> open(const std::filesystem::path& path, Symbols symbols,
                                            std::string& reason);

  // Null where the library has no such symbol.
  void* find(const char* symbol) const;
  // Where the file lies; the bare name where the loader does not tell.
  const std::filesystem::path& path() const { return path_; }

 private:
  DynamicLibrary(void* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}

  // Never closed: threads of a driver may outlive whoever opened it.
  void* handle_;
  std::filesystem::path path_;
};

}  // namespace vernier
