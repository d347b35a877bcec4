#include "vernier/backends/cpu/convolution/narrow_image.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/convolution/narrow_image.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Pixels of three bytes of two lines, each filled up to four, pixel by pixel; gives how many there are now.
int64_t interleave_colours([[maybe_unused]] const uint8_t* a, [[maybe_unused]] const uint8_t* b,
                           [[maybe_unused]] int64_t count, [[maybe_unused]] uint8_t* to) {
  int64_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<uint8_t, 16> d;
  const hn::FixedTag<uint32_t, 4> pixels;
  HWY_ALIGN static constexpr uint8_t kPlaces[16] = {0, 1, 2, 0x80, 3, 4,  5,  0x80,
                                                    6, 7, 8, 0x80, 9, 10, 11, 0x80};
  const auto places = hn::Load(d, kPlaces);
  for (; 3 * x + 16 <= 3 * count; x += 4) {
    const auto of = [&](const uint8_t* line) HWY_ATTR {
      return hn::BitCast(pixels, hn::TableLookupBytesOr0(hn::LoadU(d, line + 3 * x), places));
    };
    const auto upper = of(a), lower = of(b);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pixels, upper, lower)), d, to + 8 * x);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pixels, upper, lower)), d, to + 8 * x + 16);
  }
#endif
  return x;
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(interleave_colours);

namespace {

int64_t quotient_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit;
}

}  // namespace

std::optional<NarrowImage> NarrowImage::of(const ops::Convolution& convolution) {
  NarrowImage image;
  image.channels_ = convolution.in_channels;
  image.columns_ = convolution.out_channels;
  image.x_ = convolution.axes.back();
  if (convolution.axes.size() > 1) image.y_ = convolution.axes.front();
  if (image.channels_ > kPixel || image.x_.dilation != 1 || image.y_.dilation != 1) return std::nullopt;
  image.group_ = std::min(image.y_.stride, image.y_.kernel);
  if (image.group_ != image.y_.stride) return std::nullopt;  // lines that no window meets
  image.window_groups_ = quotient_up(image.y_.kernel, image.group_);
  image.line_ =
      image.x_.output + quotient_up(std::max<int64_t>(0, image.x_.kernel - image.x_.stride), image.x_.stride);
  const int64_t taps = image.x_.kernel * image.y_.kernel;
  if (image.order().steps(kUnsignedTiles) >= taps) return std::nullopt;
  return image;
}

WeightOrder NarrowImage::order() const {
  const int64_t row = depth();
  return {columns_, row, window_groups_, row * window_groups_, 1, row};
}

Tensor NarrowImage::arrange(const Tensor& weights) const {
  Tensor result(weights.type(), {columns_, window_groups_, x_.kernel, group_, kPixel});
  auto* to = static_cast<int8_t*>(result.mutable_raw());
  std::memset(to, 0, result.byte_size());
  const auto* from = static_cast<const int8_t*>(weights.raw());
  for (int64_t i = 0; i < weights.size(); ++i) {
    const int64_t kx = i % x_.kernel, ky = i / x_.kernel % y_.kernel,
                  channel = i / (x_.kernel * y_.kernel) % channels_,
                  column = i / (x_.kernel * y_.kernel * channels_);
    const int64_t group = column * window_groups_ + ky / group_;
    to[((group * x_.kernel + kx) * group_ + ky % group_) * kPixel + channel] = from[i];
  }
  return result;
}

// Pixels of a line are `group_` of them apart.
void NarrowImage::fill_line(const std::byte* pixels, int64_t first, uint8_t padding, std::byte* to) const {
  const int64_t width = line_ * x_.stride, step = group_ * kPixel;
  const int64_t begin = std::min(x_.pad_begin, width), end = std::min(begin + x_.input, width);
  const auto pad = [&](int64_t from, int64_t last) {
    for (int64_t x = from; x < last; ++x) std::memset(to + x * step, padding, kPixel);
  };
  if (pixels == nullptr) return pad(0, width);
  pad(0, begin);
  pad(end, width);
  // Four bytes are read of each pixel, which the last ones may not have.
  const int64_t safe = std::max(begin + first, end - quotient_up(kPixel, channels_) + 1);
  for (int64_t x = begin + first; x < safe; ++x)
    std::memcpy(to + x * step, pixels + (x - begin) * channels_, kPixel);
  for (int64_t x = safe; x < end; ++x) {
    std::memset(to + x * step, 0, kPixel);
    std::memcpy(to + x * step, pixels + (x - begin) * channels_, static_cast<size_t>(channels_));
  }
}

void NarrowImage::fill(const std::byte* image, int64_t first, int64_t count, uint8_t padding,
                       std::byte* to) const {
  const auto line = [&](int64_t i) {
    const int64_t y = first * group_ + i - y_.pad_begin;
    return y >= 0 && y < y_.input ? image + y * x_.input * channels_ : nullptr;
  };
  const int64_t begin = x_.pad_begin, pixels = std::min(x_.input, line_ * x_.stride - begin);
  for (int64_t i = 0; i < (count + more_lines()) * group_; i += group_, to += line_bytes()) {
    int64_t done = 0;
    if (group_ == 2 && channels_ == 3 && line(i) != nullptr && line(i + 1) != nullptr)
      done = HWY_DYNAMIC_DISPATCH(interleave_colours)(
          reinterpret_cast<const uint8_t*>(line(i)), reinterpret_cast<const uint8_t*>(line(i + 1)), pixels,
          reinterpret_cast<uint8_t*>(to + begin * group_ * kPixel));
    for (int64_t k = 0; k < group_; ++k) fill_line(line(i + k), done, padding, to + k * kPixel);
  }
}

}  // namespace vernier::cpu
#endif
