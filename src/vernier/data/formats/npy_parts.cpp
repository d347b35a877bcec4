#include "vernier/data/formats/npy_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "vernier/base/error.h"
#include "vernier/data/formats/byte_reader.h"

namespace vernier {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Reads the few kinds of Python literals that a header may hold.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  bool accept(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted))
      throw bad_input("the npy header is damaged: '{}' expected at character {}", wanted, at_);
  }
  std::string quoted() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) throw bad_input("the npy header is damaged: a text does not end");
    std::string result(text_.substr(at_, end - at_));
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    throw bad_input("the npy header is damaged: True or False expected at character {}", at_);
  }
  Dims tuple() {
    Dims dims;
    expect('(');
    while (!accept(')')) {
      dims.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }
  void expect_end() {
    skip_space();
    if (at_ != text_.size()) throw bad_input("the npy header is damaged: text after its end");
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }

  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0)
      throw bad_input("the npy header is damaged: a size expected at character {}", at_);
    at_ = static_cast<size_t>(end - text_.data());
    accept('L');  // Python 2 wrote long integers so
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

void parse_descr(NpyHeader& header) {
  const std::string_view descr = header.descr;
  const auto refuse = [&](const char* why) { return bad_input("the npy element type '{}' {}", descr, why); };
  std::string_view rest = descr;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    header.big_endian = rest[0] == '>';
    rest.remove_prefix(1);
  }
  if (rest.starts_with('O')) throw refuse("is for pickled Python objects, which are not loaded");
  if (rest.empty() || std::string_view("biufcSUV").find(rest[0]) == std::string_view::npos)
    throw refuse("is not known");
  header.kind = rest[0];
  rest.remove_prefix(1);
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  if (error != std::errc() || end != rest.data() + rest.size()) throw refuse("is not known");
  header.item_size = size_t{count} * (header.kind == 'U' ? 4 : 1);
  if (header.item_size == 0) throw refuse("has no bytes");
}

NpyHeader parse_dictionary(std::string_view text) {
  NpyHeader header;
  LiteralReader reader(text);
  std::set<std::string> keys;
  reader.expect('{');
  while (!reader.accept('}')) {
    const std::string key = reader.quoted();
    if (!keys.insert(key).second) throw bad_input("the npy header has the key '{}' twice", key);
    reader.expect(':');
    if (key == "descr") {
      if (reader.accept('[')) throw bad_input("the npy file holds records (a structured type), not a tensor");
      header.descr = reader.quoted();
    } else if (key == "fortran_order") {
      header.fortran_order = reader.boolean();
    } else if (key == "shape") {
      header.dims = reader.tuple();
    } else {
      throw bad_input("the npy header has the unknown key '{}'", key);
    }
    if (!reader.accept(',')) {
      reader.expect('}');
      break;
    }
  }
  reader.expect_end();
  if (keys.size() != 3) throw bad_input("the npy header lacks 'descr', 'fortran_order' or 'shape'");
  parse_descr(header);
  return header;
}

}  // namespace

size_t NpyHeader::file_size() const {
  size_t total = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(element_count(dims)), item_size, &total) ||
      __builtin_add_overflow(total, size, &total)) {
    throw bad_input("an array {} of '{}' has too many elements", dims_text(dims), descr);
  }
  return total;
}

NpyHeader parse_npy_header(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) throw bad_input("is no npy file: it does not begin with '\\x93NUMPY'");
  const ByteReader reader(file);
  const int version = reader.u16(kMagic.size()) & 0xff;  // the high byte is the minor version
  if (version < 1 || version > 3) throw unsupported("npy version {} is not known (1 to 3 are)", version);
  const size_t start = version == 1 ? 10 : 12;
  const size_t length = version == 1 ? reader.u16(8) : reader.u32(8);
  if (length > kMaxNpyHeader - start) throw bad_input("the npy header of {} bytes is too long", length);
  if (text.size() < start + length) throw bad_input("the npy file ends inside its header");
  NpyHeader header = parse_dictionary(text.substr(start, length));
  header.size = start + length;
  return header;
}

std::string write_npy_header(const std::string& descr, const Dims& dims) {
  std::string sizes;
  for (const int64_t dim : dims) sizes += fmt::format("{}, ", dim);
  if (dims.size() > 1) sizes.resize(sizes.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  const size_t unpadded = kMagic.size() + 4 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

namespace {

bool is_code_point(char32_t code) {
  return code < 0xD800 || (code > 0xDFFF && code <= 0x10FFFF);
}

void append_utf8(std::string& text, char32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

// Nothing if the text is no valid UTF-8.
std::optional<std::u32string> utf8_code_points(const std::string& text) {
  std::u32string codes;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<uint8_t>(text[at]);
    const size_t length = first < 0x80       ? 1
                          : first >> 5 == 6  ? 2
                          : first >> 4 == 14 ? 3
                          : first >> 3 == 30 ? 4
                                             : 0;
    if (length == 0 || at + length > text.size()) return std::nullopt;
    char32_t code = length == 1 ? first : first & (0x7F >> length);
    for (size_t i = 1; i < length; ++i) {
      const auto next = static_cast<uint8_t>(text[at + i]);
      if (next >> 6 != 2) return std::nullopt;
      code = code << 6 | (next & 0x3F);
    }
    constexpr char32_t kShortest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kShortest[length] || !is_code_point(code)) return std::nullopt;
    codes += code;
    at += length;
  }
  return codes;
}

}  // namespace

std::string decode_utf32(std::span<const std::byte> bytes) {
  std::u32string codes(bytes.size() / sizeof(char32_t), U'\0');
  std::memcpy(codes.data(), bytes.data(), codes.size() * sizeof(char32_t));
  codes.resize(codes.find_last_not_of(U'\0') + 1);
  std::string text;
  for (const char32_t code : codes) {
    if (!is_code_point(code))
      throw bad_input("a text holds {:#x}, which is no unicode code point", static_cast<uint32_t>(code));
    append_utf8(text, code);
  }
  return text;
}

std::string decode_bytes(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

FixedWidthStrings encode_strings(std::span<const std::string> strings) {
  std::vector<std::u32string> codes;
  size_t longest_bytes = 1, longest_codes = 1;
  for (const std::string& text : strings) {
    longest_bytes = std::max(longest_bytes, text.size());
    if (auto decoded = utf8_code_points(text)) codes.push_back(std::move(*decoded));
    if (!codes.empty()) longest_codes = std::max(longest_codes, codes.back().size());
  }
  const bool unicode = codes.size() == strings.size();
  const size_t width = unicode ? longest_codes * sizeof(char32_t) : longest_bytes;
  FixedWidthStrings result;
  result.descr = unicode ? fmt::format("<U{}", longest_codes) : fmt::format("|S{}", longest_bytes);
  result.bytes.assign(width * strings.size(), '\0');
  for (size_t i = 0; i < strings.size(); ++i) {
    char* to = result.bytes.data() + i * width;
    if (unicode)
      std::memcpy(to, codes[i].data(), codes[i].size() * sizeof(char32_t));
    else
      std::memcpy(to, strings[i].data(), strings[i].size());
  }
  return result;
}

}  // namespace vernier
