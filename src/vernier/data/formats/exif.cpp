#include <string_view>

#include "vernier/data/formats/images.h"

namespace vernier {

namespace {

using namespace std::string_view_literals;

// Bytes of a file; what lies behind their end is zero, so that a damaged length leads nowhere.
class View {
 public:
  explicit View(std::string_view bytes, bool little = false) : bytes_(bytes), little_(little) {}

  size_t number(size_t at, size_t size) const {
    size_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t place = at + (little_ ? size - 1 - i : i);
      const auto byte = place < bytes_.size() ? static_cast<unsigned char>(bytes_[place]) : 0;
      value = value << 8 | byte;
    }
    return value;
  }
  std::string_view part(size_t at, size_t size) const {
    return at < bytes_.size() ? bytes_.substr(at, size) : std::string_view();
  }
  size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool little_;
};

constexpr int kUpright = 1;

// EXIF data are a TIFF without an image: the first directory holds the orientation.
int orientation_of(std::string_view exif) {
  constexpr size_t kTag = 0x0112, kShort = 3, kEntry = 12;
  if (exif.starts_with("Exif\0\0"sv)) exif.remove_prefix(6);
  const bool little = exif.starts_with("II*\0"sv);
  if (!little && !exif.starts_with("MM\0*"sv)) return kUpright;
  const View tiff(exif, little);
  const size_t directory = tiff.number(4, 4), entries = tiff.number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + 2 + i * kEntry;
    if (tiff.number(at, 2) != kTag || tiff.number(at + 2, 2) != kShort) continue;
    const size_t value = tiff.number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : kUpright;
  }
  return kUpright;
}

// Segments up to the first that holds pixels.
std::string_view exif_of_jpeg(const View& file) {
  constexpr size_t kApp1 = 0xFFE1, kScan = 0xFFDA;
  for (size_t at = 2; at + 4 <= file.size();) {
    const size_t marker = file.number(at, 2), length = file.number(at + 2, 2);
    if (marker < 0xFF00 || marker == kScan || length < 2) break;
    if (marker == 0xFFFF) {  // a byte that fills up
      ++at;
      continue;
    }
    const std::string_view content = file.part(at + 4, length - 2);
    if (marker == kApp1 && content.starts_with("Exif\0\0"sv)) return content;
    at += 2 + length;
  }
  return {};
}

// Chunks of PNG: length, name, content, check sum.
std::string_view exif_of_png(const View& file) {
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length = file.number(at, 4);
    if (file.part(at + 4, 4) == "eXIf") return file.part(at + 8, length);
    at += 12 + length;
  }
  return {};
}

// Chunks of RIFF: name, length, content, filled up to an even length.
std::string_view exif_of_webp(const View& file) {
  for (size_t at = 12; at + 8 <= file.size();) {
    const size_t length = file.number(at + 4, 4);
    if (file.part(at, 4) == "EXIF") return file.part(at + 8, length);
    at += 8 + length + length % 2;
  }
  return {};
}

}  // namespace

int exif_orientation(std::span<const std::byte> file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  if (bytes.starts_with("\xff\xd8\xff"sv)) return orientation_of(exif_of_jpeg(View(bytes)));
  if (bytes.starts_with("\x89PNG"sv)) return orientation_of(exif_of_png(View(bytes)));
  if (bytes.starts_with("RIFF"sv)) return orientation_of(exif_of_webp(View(bytes, true)));
  return kUpright;
}

}  // namespace vernier
