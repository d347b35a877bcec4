#include "vernier/report/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace vernier {

namespace {

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Characters of UTF-8 text; good enough as columns for the names that models use.
size_t columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

// Byte at which character `count` starts.
size_t byte_of_character(const std::string& text, size_t count) {
  size_t byte = 0;
  for (; byte < text.size(); ++byte) {
    if (!continues_character(text[byte]) && count-- == 0) break;
  }
  return byte;
}

// Bytes of the well-formed, harmless character that starts at `at`; 0 for a control character or damaged
// UTF-8.
size_t harmless_bytes(const std::string& text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return 0;
  for (size_t i = at + 1; i < at + length; ++i) {
    if (!continues_character(text[i])) return 0;
  }
  const bool control = lead == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;  // U+0080 to U+009F
  return control ? 0 : length;
}

}  // namespace

std::string printable(const std::string& text, size_t width) {
  std::string safe;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = harmless_bytes(text, i);
    if (bytes == 0)
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    else
      safe.append(text, i, bytes);
    i += std::max<size_t>(bytes, 1);
  }
  const size_t length = columns(safe);
  if (length <= width || width < 5) return safe;
  const size_t head = (width - 1) / 2, tail = width - 1 - head;
  return safe.substr(0, byte_of_character(safe, head)) + "…" +
         safe.substr(byte_of_character(safe, length - tail));
}

TextTable::TextTable(std::vector<std::string> header, size_t left_aligned) : left_aligned_(left_aligned) {
  rows_.push_back(std::move(header));
}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(rows_.front().size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(size_t indent) const {
  std::vector<size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - columns(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i < left_aligned_ ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace vernier
