// Writing a file so that nobody ever sees a part of it.
#pragma once

#include <filesystem>
#include <string_view>

#include "vernier/base/error.h"
#include "vernier/base/file.h"

namespace vernier {

// Writes to a temporary file beside `path`, and renames it when all is written. Of a link the file that it
// leads to is replaced. What is no file (a device, a pipe), and what is our standard output or error, is
// written to as the content comes.
class FileWriter {
 public:
  // Throws usage_error when nothing can be created there.
  explicit FileWriter(const std::filesystem::path& path);
  // Without commit(), what was written is removed and `path` is as before.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Throws bad_input when the system takes no more: the disk is full, or a limit is reached.
  void write(std::string_view bytes);
  size_t size() const { return size_; }  // bytes written
  void commit(Durability durability = Durability::kCached);

 private:
  void create();
  Error failure(ErrorCode code, const char* what) const;

  std::filesystem::path path_;                // as it was given
  std::filesystem::path target_, temporary_;  // empty temporary: written through
  int fd_ = -1;
  size_t size_ = 0;
};

}  // namespace vernier
