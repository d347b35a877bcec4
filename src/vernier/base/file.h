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

// A read-only memory mapping of a whole file; an empty file gives an empty span.
class MappedFile {
 public:
  // Throws bad_input when the file is missing, unreadable or no regular file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The content of a file, as a copy that later changes to the file cannot reach; throws bad_input as
// MappedFile::open does.
std::string read_file(const std::filesystem::path& path);

// Writes to a temporary file beside `path`, then renames: readers see the old content or the new, never a
// part.
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

// A new folder under the system's temporary folder, removed with all it holds when the object dies.
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
