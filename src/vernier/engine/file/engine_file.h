// The container of an engine file: a header, a table of sections, and the sections, each at a multiple of
// 256 bytes and with its XXH3; padding is zero. No bit of the file can change unnoticed. docs/engine-file.md
// has the bytes.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vernier/base/file.h"

namespace vernier {

enum class SectionKind : uint32_t {
  kManifest = 1,  // JSON
  kGraph,         // IR text: the model after the passes that hold for all sizes
  kPlan,          // IR text: what one plan runs
  kConstant,      // the elements of a constant, row-major
  kPacked,        // a constant in a form of a kernel
  kPayload,       // what a kernel of a device runs by: machine code, the plan of a library
};

struct Section {
  SectionKind kind;
  std::span<const std::byte> bytes;
};

class EngineFile {
 public:
  static constexpr uint32_t kFormat = 1;
  // When the hashes of constants, which are nearly all of a file, are compared. Everything else is compared
  // before a file is given.
  enum class Constants : uint8_t {
    kCompared,
    kComparedMeanwhile,  // by other threads, until compare_all()
  };

  // Maps the file. Throws bad_input, with the file and what differs, for what is no engine file, one of
  // another format, truncated or damaged.
  static EngineFile open(const std::filesystem::path& path, Constants constants = Constants::kCompared);
  // The same for content in memory.
  static EngineFile read(std::span<const std::byte> content, std::shared_ptr<const void> owner,
                         Constants constants = Constants::kCompared);

  // Waits until all is compared. Throws bad_input for a file that is damaged.
  void compare_all() const;

  // The section of this kind with this number, from 0 in the order of writing. Throws bad_input if there is
  // none.
  std::span<const std::byte> section(SectionKind kind, size_t index = 0) const;
  std::string_view text(SectionKind kind, size_t index = 0) const;
  const std::vector<Section>& sections() const { return sections_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // Gives the mapped file; null for content in memory.
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  class Comparison;

  std::vector<Section> sections_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<Comparison> comparison_;  // ends before what it reads
};

// Writes beside `path` and renames, once everything is on the disk: a reader sees the old file or the new.
void write_engine_file(const std::filesystem::path& path, std::span<const Section> sections);
// The first bytes of an engine file.
bool is_engine_file(const std::filesystem::path& path);

}  // namespace vernier
