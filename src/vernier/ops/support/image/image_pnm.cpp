// Portable bitmaps, graymaps and pixmaps: P1 to P3 hold numbers as text, P4 to P6 as bytes.
#include "vernier/ops/support/image/image.h"

namespace vernier::ops {

namespace {

class Reader {
 public:
  explicit Reader(Bytes file) : data_(data_of(file)), size_(file.size()) {}

  // Characters between numbers: white space, and comments from # to the end of the line.
  void skip_space() {
    for (bool comment = false; at_ < size_; ++at_) {
      const uint8_t c = data_[at_];
      if (c == '#')
        comment = true;
      else if (c == '\n')
        comment = false;
      else if (!comment && c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f')
        return;
    }
  }
  int64_t number(int64_t largest) {
    skip_space();
    if (at_ >= size_ || !is_digit()) throw damaged();
    int64_t value = 0;
    for (; at_ < size_ && is_digit(); ++at_) {
      value = value * 10 + (data_[at_] - '0');
      if (value > largest) throw damaged();
    }
    return value;
  }
  // P1 may leave out the space between digits.
  int64_t bit() {
    skip_space();
    const uint8_t digit = byte();
    if (digit != '0' && digit != '1') throw damaged();
    return digit - '0';
  }
  uint8_t byte() {
    if (at_ >= size_) throw damaged();
    return data_[at_++];
  }

 private:
  bool is_digit() const { return data_[at_] >= '0' && data_[at_] <= '9'; }
  static Error damaged() { return bad_input("damaged PNM"); }

  const uint8_t* data_;
  size_t size_;
  size_t at_ = 2;  // behind "P1" ... "P6"
};

// Samples one after the other.
class Samples {
 public:
  Samples(Reader& reader, char kind, int64_t largest) : reader_(reader), kind_(kind), largest_(largest) {}
  uint8_t next() {
    const int64_t value = raw();
    return static_cast<uint8_t>((std::min(value, largest_) * 255 + largest_ / 2) / largest_);
  }
  // Bits fill whole bytes in each row.
  void end_row() { left_ = 0; }

 private:
  int64_t raw() {
    switch (kind_) {
      case '1': return 1 - reader_.bit();  // 1 is black
      case '4': return 1 - packed_bit();
      case '2':
      case '3': return reader_.number(largest_);
      default: break;
    }
    const int64_t high = reader_.byte();
    return largest_ < 256 ? high : high * 256 + reader_.byte();
  }
  int64_t packed_bit() {
    if (left_ == 0) {
      bits_ = reader_.byte();
      left_ = 8;
    }
    return (bits_ >> --left_) & 1;
  }

  Reader& reader_;
  char kind_;
  int64_t largest_;
  int bits_ = 0, left_ = 0;
};

}  // namespace

Tensor decode_pnm(Bytes file) {
  Reader reader(file);
  const char kind = static_cast<char>(file[1]);
  constexpr int64_t kLargestNumber = 1 << 24;
  const int64_t width = reader.number(kLargestNumber), height = reader.number(kLargestNumber);
  const bool bitmap = kind == '1' || kind == '4', color = kind == '3' || kind == '6';
  const int64_t largest = bitmap ? 1 : std::max<int64_t>(1, reader.number(65535));
  if (kind >= '4') reader.byte();  // one white space ends the header
  Tensor image = make_image(height, width);
  uint8_t* to = pixels_of(image);
  Samples samples(reader, kind, largest);
  for (int64_t y = 0; y < height; ++y, samples.end_row()) {
    for (int64_t x = 0; x < width; ++x, to += 3) {
      to[0] = samples.next();
      to[1] = color ? samples.next() : to[0];
      to[2] = color ? samples.next() : to[0];
    }
  }
  return image;
}

}  // namespace vernier::ops
