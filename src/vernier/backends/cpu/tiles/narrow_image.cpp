#include "vernier/backends/cpu/tiles/narrow_image.h"

#include <cstring>

namespace vernier::cpu {

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

// A line of pixels, each `group_` of them apart.
void NarrowImage::fill_line(const std::byte* pixels, uint8_t padding, std::byte* to) const {
  const int64_t width = line_ * x_.stride, step = group_ * kPixel;
  const int64_t begin = std::min(x_.pad_begin, width), end = std::min(begin + x_.input, width);
  const auto pad = [&](int64_t first, int64_t last) {
    for (int64_t x = first; x < last; ++x) std::memset(to + x * step, padding, kPixel);
  };
  if (pixels == nullptr) return pad(0, width);
  pad(0, begin);
  pad(end, width);
  // Four bytes are read of each pixel, which the last ones may not have.
  const int64_t safe = std::max(begin, end - quotient_up(kPixel, channels_) + 1);
  for (int64_t x = begin; x < safe; ++x) std::memcpy(to + x * step, pixels + (x - begin) * channels_, kPixel);
  for (int64_t x = safe; x < end; ++x) {
    std::memset(to + x * step, 0, kPixel);
    std::memcpy(to + x * step, pixels + (x - begin) * channels_, static_cast<size_t>(channels_));
  }
}

void NarrowImage::fill(const std::byte* image, int64_t first, int64_t count, uint8_t padding,
                       std::byte* to) const {
  for (int64_t i = 0; i < (count + more_lines()) * group_; ++i) {
    const int64_t y = first * group_ + i - y_.pad_begin;
    const bool inside = y >= 0 && y < y_.input;
    fill_line(inside ? image + y * x_.input * channels_ : nullptr, padding,
              to + i / group_ * line_bytes() + i % group_ * kPixel);
  }
}

}  // namespace vernier::cpu
