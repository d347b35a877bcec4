#include "vernier/data/formats/zip.h"

#include <zlib.h>

#include <cstring>
#include <set>

#include "vernier/data/formats/byte_reader.h"

namespace vernier {

namespace {

// Signatures and sizes from PKWARE's APPNOTE, sections 4.3 and 4.5.
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr uint64_t kEndSize = 22, kLocatorSize = 20, kLongestComment = 0xffff;
constexpr uint16_t kZip64Extra = 1, kEncrypted = 1;
constexpr uint32_t kIn64 = 0xffffffff;  // the true value is in the ZIP64 record

struct Directory {
  uint64_t offset = 0, count = 0;
};

Directory find_directory(const ByteReader& file) {
  if (file.size() < kEndSize) throw bad_input("is no zip archive: it is too short");
  const uint64_t last = file.size() - kEndSize;
  for (uint64_t back = 0; back <= std::min(last, kLongestComment); ++back) {
    const uint64_t at = last - back;
    if (file.u32(at) != kEnd || file.u16(at + 20) != back) continue;
    Directory found{file.u32(at + 16), file.u16(at + 10)};
    const bool has_locator = at >= kLocatorSize && file.u32(at - kLocatorSize) == kEnd64Locator;
    if (has_locator) {
      const uint64_t end64 = file.u64(at - kLocatorSize + 8);
      if (file.u32(end64) != kEnd64)
        throw bad_input("the zip archive is damaged: its ZIP64 end record is missing");
      found = {file.u64(end64 + 48), file.u64(end64 + 32)};
    } else if (file.u16(at + 4) != 0) {
      throw unsupported("zip archives in several parts are not read");
    }
    return found;
  }
  throw bad_input("is no zip archive, or its end is missing");
}

// Takes sizes and offset from the ZIP64 extra field where the header says that they are there.
void read_zip64_extra(const ByteReader& extra, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    const uint16_t id = extra.u16(at), length = extra.u16(at + 2);
    if (id == kZip64Extra) {
      uint64_t from = at + 4;
      for (uint64_t* field : {&size, &packed, &offset}) {
        if (*field != kIn64) continue;
        *field = extra.u64(from);
        from += 8;
      }
      return;
    }
    at += 4 + uint64_t{length};
  }
}

// Inflates piece by piece; the destructor frees zlib's state whatever happens.
class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> from) : from_(from) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw internal_error("zlib cannot be started");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `to` as far as the stream goes and returns how far; throws bad_input if the stream is damaged.
  size_t fill(std::span<char> to) {
    size_t filled = 0;
    while (filled < to.size()) {
      const size_t made = step(to.subspan(filled));
      if (made == 0) break;
      filled += made;
    }
    return filled;
  }
  void expect_end() {
    char beyond = 0;
    if (step({&beyond, 1}) != 0) throw bad_input("a compressed member is longer than the archive declares");
    if (!ended_ || !from_.empty() || stream_.avail_in != 0)
      throw bad_input("a compressed member is damaged at its end");
  }

 private:
  // zlib counts in 32 bits, so input and output are handed over in pieces.
  size_t step(std::span<char> to) {
    constexpr size_t kPiece = size_t{1} << 30;
    const size_t wanted = std::min(to.size(), kPiece);
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(wanted);
    while (!ended_ && stream_.avail_out != 0) {
      if (stream_.avail_in == 0) {
        const size_t piece = std::min(from_.size(), kPiece);
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from_.data()));
        stream_.avail_in = static_cast<uInt>(piece);
        from_ = from_.subspan(piece);
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      if (result == Z_BUF_ERROR && from_.empty()) break;
      if (result != Z_OK && !ended_) throw bad_input("a compressed member is damaged");
    }
    return wanted - stream_.avail_out;
  }

  std::span<const std::byte> from_;
  z_stream stream_{};
  bool ended_ = false;
};

uint32_t checksum_of(std::string_view content) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

// Little-endian; fields wider than the value end in zeros.
void append(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : '\0';
}

ZipMember read_central_header(const ByteReader& file, uint64_t at) {
  if (file.u32(at) != kCentralHeader)
    throw bad_input("the zip archive is damaged: a directory entry is missing");
  const uint16_t flags = file.u16(at + 8), method = file.u16(at + 10);
  uint64_t packed = file.u32(at + 20), size = file.u32(at + 24), offset = file.u32(at + 42);
  const uint16_t name_length = file.u16(at + 28), extra_length = file.u16(at + 30);
  const auto name = file.slice(at + 46, name_length);
  ZipMember member;
  member.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  read_zip64_extra(ByteReader(file.slice(at + 46 + name_length, extra_length)), size, packed, offset);
  if ((flags & kEncrypted) != 0) throw unsupported("'{}' is encrypted", member.name);
  if (method != 0 && method != Z_DEFLATED)
    throw unsupported("'{}' is compressed by method {}", member.name, method);
  member.deflated = method == Z_DEFLATED;
  member.checksum = file.u32(at + 16);
  member.size = size;
  if (file.u32(offset) != kLocalHeader)
    throw bad_input("the zip archive is damaged: '{}' is missing", member.name);
  const uint64_t data = offset + 30 + file.u16(offset + 26) + file.u16(offset + 28);
  member.data = file.slice(data, packed);
  if (!member.deflated && packed != size)
    throw bad_input("'{}' is stored, but its two sizes differ", member.name);
  return member;
}

}  // namespace

std::vector<ZipMember> list_zip(std::span<const std::byte> archive) {
  const ByteReader file(archive);
  const Directory directory = find_directory(file);
  std::vector<ZipMember> members;
  std::set<std::string> names;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    members.push_back(read_central_header(file, at));
    if (!names.insert(members.back().name).second) {
      throw bad_input("the zip archive holds '{}' twice", members.back().name);
    }
    at += 46 + uint64_t{file.u16(at + 28)} + file.u16(at + 30) + file.u16(at + 32);
  }
  return members;
}

std::string read_zip_member(const ZipMember& member, const ExpectedSize& expected_size) {
  const auto require_size = [&](std::span<const std::byte> prefix) {
    if (const uint64_t expected = expected_size(prefix); expected != member.size) {
      throw bad_input("'{}' needs {} bytes, but has {}", member.name, expected, member.size);
    }
  };
  std::string content;
  if (member.deflated) {
    Inflater inflater(member.data);
    content.resize(std::min<uint64_t>(member.size, kZipPrefix));
    content.resize(inflater.fill(content));
    require_size(std::as_bytes(std::span(content)));
    const size_t done = content.size();
    // Deflate packs at most 1032 to 1, so a size that cannot be true is refused before it is allocated.
    const bool possible = member.size / 1032 <= member.data.size();
    content.resize(possible ? member.size : done);
    if (done + inflater.fill(std::span(content).subspan(done)) < member.size) {
      throw bad_input("'{}' is shorter than the archive declares", member.name);
    }
    inflater.expect_end();
  } else {
    require_size(member.data.first(std::min(member.data.size(), kZipPrefix)));
    content.assign(reinterpret_cast<const char*>(member.data.data()), member.data.size());
  }
  if (checksum_of(content) != member.checksum)
    throw bad_input("'{}' is damaged: its checksum differs", member.name);
  return content;
}

std::string write_zip(const std::vector<std::pair<std::string, std::string>>& members) {
  constexpr uint16_t kVersion = 20, kUtf8Names = 1 << 11, kFirstOfJanuary1980 = 0x21;
  std::string file, directory;
  for (const auto& [name, content] : members) {
    if (file.size() + content.size() + name.size() >= kIn64 || name.size() > 0xffff ||
        members.size() > 0xfffe) {
      throw unsupported("an npz file of 4 GiB or more").advise("use safetensors");
    }
    // Local and central header share this: version, flags, method (stored), time, date, checksum, sizes,
    // lengths.
    std::string common;
    for (const uint64_t field : {kVersion, kUtf8Names, uint16_t{0}, uint16_t{0}, kFirstOfJanuary1980})
      append(common, field, 2);
    for (const uint64_t field : {uint64_t{checksum_of(content)}, content.size(), content.size()})
      append(common, field, 4);
    append(common, name.size(), 2);
    append(common, 0, 2);
    append(directory, kCentralHeader, 4);
    append(directory, kVersion, 2);
    directory += common;
    append(directory, 0, 10);  // no comment, disk 0, no attributes
    append(directory, file.size(), 4);
    directory += name;
    append(file, kLocalHeader, 4);
    file += common + name + content;
  }
  if (file.size() + directory.size() >= kIn64)
    throw unsupported("an npz file of 4 GiB or more").advise("use safetensors");
  const uint64_t offset = file.size();
  file += directory;
  append(file, kEnd, 4);
  append(file, 0, 4);
  append(file, members.size(), 2);
  append(file, members.size(), 2);
  append(file, directory.size(), 4);
  append(file, offset, 4);
  append(file, 0, 2);
  return file;
}

}  // namespace vernier
