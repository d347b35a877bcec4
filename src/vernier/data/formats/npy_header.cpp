#include "vernier/data/formats/npy_header.h"

#include <charconv>

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

}  // namespace vernier
