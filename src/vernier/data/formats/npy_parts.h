// Parts of NumPy's .npy files: headers and strings. Internal to the room.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor_type.h"

namespace vernier {

// The header of NumPy's .npy files, versions 1 to 3: magic, version, and a Python dictionary literal with the
// keys 'descr', 'fortran_order' and 'shape'. Internal to the room.
struct NpyHeader {
  std::string descr;  // as in the file, e.g. "<f4"
  char kind = 0;      // NumPy's letter: b i u f c S U V
  bool big_endian = false;
  size_t item_size = 0;        // bytes of one element
  bool fortran_order = false;  // the first axis varies fastest
  Dims dims;
  size_t size = 0;  // bytes before the data

  // Bytes that a file with this header must have.
  size_t file_size() const;
};

// No header is longer, so these many bytes from the start of a file are enough to parse one.
inline constexpr size_t kMaxNpyHeader = size_t{1} << 16;

// Throws bad_input for anything but a well-formed header of a plain (not structured, not pickled) array.
NpyHeader parse_npy_header(std::span<const std::byte> file);
// A version 1 header, padded so that the data is aligned to 64 bytes.
std::string write_npy_header(const std::string& descr, const Dims& dims);

// Strings in NumPy arrays: fixed width, padded with zeros; UTF-32 (U) or bytes (S). Internal to the room.

// `bytes` holds native UTF-32 code points. Throws bad_input for code points that do not exist.
std::string decode_utf32(std::span<const std::byte> bytes);
std::string decode_bytes(std::span<const std::byte> bytes);

struct FixedWidthStrings {
  std::string descr;  // "<U5" or "|S5"
  std::string bytes;
};
FixedWidthStrings encode_strings(std::span<const std::string> strings);

}  // namespace vernier
