#include "vernier/page/packing.h"

#include <zlib.h>

#include "vernier/base/error.h"

namespace vernier {

std::string gzip(std::string_view text) {
  constexpr int kGzipFormat = 16, kMemoryLevel = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipFormat, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw internal_error("zlib cannot be started");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  // zlib counts in 32 bits, so input and output are handed over in pieces.
  const auto piece = [](size_t bytes) { return static_cast<uInt>(std::min<size_t>(bytes, 1U << 30)); };
  int state = Z_OK;
  size_t read = 0, written = 0;
  while (state == Z_OK) {
    const uInt offered = piece(text.size() - read);
    const uInt room = piece(packed.size() - written);
    stream.avail_in = offered;
    stream.avail_out = room;
    state = deflate(&stream, read + offered == text.size() ? Z_FINISH : Z_NO_FLUSH);
    read += offered - stream.avail_in;
    written += room - stream.avail_out;
  }
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw internal_error("zlib cannot compress a report");
  packed.resize(written);
  return packed;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

}  // namespace vernier
