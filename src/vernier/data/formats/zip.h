// ZIP archives as NumPy and others write them: stored and deflated members, ZIP64, checksums. Internal to the
// room.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vernier {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t checksum = 0;            // CRC-32 of the content
  uint64_t size = 0;                // of the content, as the archive declares it
  std::span<const std::byte> data;  // as stored in the archive
};

// Lists the members; `archive` must outlive them. Throws bad_input for damaged archives and for two members
// of one name, unsupported for encryption, other compression methods and archives in several parts.
std::vector<ZipMember> list_zip(std::span<const std::byte> archive);

// Tells from the first bytes of a content (at most `kZipPrefix` of them) how long the whole must be.
using ExpectedSize = std::function<uint64_t(std::span<const std::byte> prefix)>;
inline constexpr size_t kZipPrefix = size_t{1} << 16;

// The content of a member, its size and checksum verified. A declared size that `expected_size` contradicts
// is refused before it is allocated, and never is more inflated than declared.
std::string read_zip_member(const ZipMember& member, const ExpectedSize& expected_size);

// An archive of stored members. Throws unsupported when it would need ZIP64 (4 GiB or more).
std::string write_zip(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace vernier
