// Prepares an image between its file and the input of a model, as the text of `--preprocess` says.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct Preprocess {
  enum class Resize : uint8_t { kInput, kNone, kShorterSide, kExact };
  enum class Interpolation : uint8_t { kNearest, kLinear, kCubic };
  enum class Channels : uint8_t { kRgb, kBgr, kGrey };
  struct Size {
    int64_t height = 0, width = 0;
  };

  bool upright = true;  // turned as EXIF data say; otherwise as the pixels are stored
  Resize resize = Resize::kInput;
  Size resize_to;  // kShorterSide: both are the length of that side
  Interpolation interpolation = Interpolation::kLinear;
  bool antialias = true;                                    // where an image shrinks, all its pixels count
  std::optional<Size> crop;                                 // from the centre
  std::optional<Channels> channels;                         // default: by the input's number of channels
  double scale = 1;                                         // then (pixel * scale - mean) / deviation
  std::array<double, 3> mean = {0, 0, 0}, std = {1, 1, 1};  // per channel, in the order of `channels`
  std::optional<bool> channels_first;                       // default: by the input's shape
};

// Comma-separated; the first part may be a preset, and later parts overrule earlier ones. Throws usage_error
// that names the part.
Preprocess parse_preprocess(const std::string& text);
// The grammar and the presets, for --help.
std::string preprocess_help();
inline constexpr const char* kDefaultPreprocess = "zero-one";

}  // namespace vernier
