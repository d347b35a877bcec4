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

}  // namespace

std::string printable(const std::string& text, size_t width) {
  std::string safe;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters too: C2 80 to C2 9F.
    const bool control = byte < 0x20 || byte == 0x7f;
    const bool high_control =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (control || high_control)
      safe += fmt::format("\\x{:02x}", byte);
    else
      safe += text[i];
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
