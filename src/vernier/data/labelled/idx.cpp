#include <zlib.h>

#include "vernier/base/file.h"
#include "vernier/data/labelled/label_list.h"
#include "vernier/tensor/packing.h"

namespace vernier {

namespace {

// The whole of a file, unpacked where it is gzip. Never more than a tensor may be.
std::string read_unpacked(const std::filesystem::path& file) {
  gzFile from = gzopen(file.c_str(), "rb");
  if (from == nullptr) throw bad_input("cannot be read").in_file(file);
  std::string content, part(size_t{1} << 16, '\0');
  int got = 0;
  while ((got = gzread(from, part.data(), static_cast<unsigned>(part.size()))) > 0 &&
         content.size() <= allocation_limit())
    content.append(part.data(), static_cast<size_t>(got));
  const bool is_whole = got == 0 && gzclose_r(from) == Z_OK;
  if (got != 0) gzclose_r(from);
  if (!is_whole) throw bad_input("is damaged, cut off, or too large to unpack").in_file(file);
  return content;
}

constexpr size_t kMostRank = 4;

// The third byte of the file.
ElementType type_of(unsigned code) {
  switch (code) {
    case 0x08: return ElementType::kUint8;
    case 0x09: return ElementType::kInt8;
    default:
      throw unsupported("is IDX of type {:#04x}; bytes (0x08, 0x09) are read", code)
          .advise("convert it to .npy");
  }
}

}  // namespace

bool is_idx_file(const std::filesystem::path& file) {
  const std::string name = file.filename();
  return name.find("-ubyte") != std::string::npos || name.ends_with(".idx") || name.ends_with(".idx.gz");
}

Tensor read_idx(std::span<const std::byte> bytes) {
  const auto at = [&](size_t i) {
    if (i >= bytes.size()) throw bad_input("ends inside its header");
    return static_cast<unsigned>(bytes[i]);
  };
  if (at(0) != 0 || at(1) != 0) throw bad_input("is no IDX file: it does not begin with two zeros");
  const ElementType type = type_of(at(2));
  const size_t rank = at(3);
  if (rank == 0 || rank > kMostRank) throw bad_input("has {} dimensions; 1 to {} are read", rank, kMostRank);
  Dims dims;
  for (size_t i = 0; i < rank; ++i) {
    const size_t from = 4 + 4 * i;
    dims.push_back(
        static_cast<int64_t>(at(from) << 24 | at(from + 1) << 16 | at(from + 2) << 8 | at(from + 3)));
  }
  const auto content = bytes.subspan(4 + 4 * rank);
  if (static_cast<size_t>(element_count(dims)) != content.size())
    throw bad_input("says that it holds {}, but has {} bytes", dims_text(dims), content.size());
  return unpack(type, dims, content);
}

Tensor read_idx(const std::filesystem::path& file) {
  try {
    const std::string content = read_unpacked(file);
    return read_idx(std::as_bytes(std::span(content)));
  } catch (Error& error) {
    throw error.in_file(file);
  }
}

}  // namespace vernier
