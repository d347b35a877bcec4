// Files: whole reads, read-only mappings, atomic writes, and paths that must stay inside a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace vernier {

// A read-only memory mapping of a whole file; an empty file gives an empty span. The file may be renamed,
// replaced by another or deleted meanwhile. If it is cut off or written to, what was read of it is worth
// nothing: whoever hands on what was made of the bytes asks require_unchanged() first. Reading what was cut
// off gives zeros (truncation_guard.h).
class MappedFile {
 public:
  // Throws bad_input when the file is missing, unreadable or no regular file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Throws bad_input, naming the file, if it has another size or time of modification than when it was
  // opened, or if bytes that were read are gone. Takes less than a microsecond.
  void require_unchanged() const;
  // The same for all files that are mapped now, and for any that lost bytes before it was unmapped.
  static void require_all_unchanged();
  // The file that these bytes are mapped from; null if they are no file's.
  static std::shared_ptr<const MappedFile> containing(const void* address);
  // Whether this file is mapped now, by whatever name.
  static bool is_mapped(const std::filesystem::path& path);

 private:
  struct State;
  explicit MappedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Gives what `read` makes of the bytes of a file, which must not refer to them. Throws as MappedFile::open
// does, and bad_input if the file was changed meanwhile, whatever `read` says of it.
template <class Read>
auto read_mapped(const std::filesystem::path& path, const Read& read) {
  const auto file = MappedFile::open(path);
  try {
    auto result = read(file->bytes());
    file->require_unchanged();
    return result;
  } catch (...) {
    file->require_unchanged();
    throw;
  }
}

// The content of a file, as a copy that later changes to the file cannot reach; throws bad_input as
// MappedFile::open does.
std::string read_file(const std::filesystem::path& path);

// Writes as FileWriter does: readers see the old content or the new, never a part. Throws usage_error when
// nothing can be created there, bad_input when the system takes no more.
void write_file(const std::filesystem::path& path, std::string_view content);
// Whether the content must have reached the disk when the new name appears, so that not even a crash of the
// machine leaves a part.
enum class Durability : uint8_t { kCached, kOnDisk };
// The same for content in parts, one after the other.
void write_file(const std::filesystem::path& path, std::span<const std::string_view> parts,
                Durability durability = Durability::kCached);

// `folder / relative`, where `relative` comes from a foreign file. Refuses absolute paths, `..`, and links
// that lead out of `folder`. What is missing there is looked for in `linked`, where links of `folder` may
// lead to, too; empty: there is no such folder.
std::filesystem::path resolve_inside(const std::filesystem::path& folder, const std::string& relative,
                                     const std::filesystem::path& linked = {});
// The folder of the file that `path` is a link to; empty if it is no link, or to a file beside it. Caches of
// model hubs hold their files in such a folder.
std::filesystem::path linked_folder(const std::filesystem::path& path);

// A new folder under the system's temporary folder, removed with all it holds when the object dies. Throws
// bad_input when there can be none.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace vernier
