#include "vernier/data/preprocess.h"

#include <charconv>
#include <cmath>
#include <vector>

namespace vernier {

namespace {

struct Preset {
  std::string_view name, text;
};

// Each as the models that bear the name were trained.
constexpr Preset kPresets[] = {
    {"none", "scale=1"},
    {"zero-one", "scale=1/255"},
    {"minus-one-one", "scale=1/255,mean=0.5/0.5/0.5,std=0.5/0.5/0.5"},
    {"imagenet", "resize=256,crop=224,scale=1/255,mean=0.485/0.456/0.406,std=0.229/0.224/0.225"},
    {"clip",
     "resize=224,interpolation=cubic,crop=224,scale=1/255,mean=0.48145466/0.4578275/0.40821073,"
     "std=0.26862954/0.26130258/0.27577711"}};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

class Parser {
 public:
  Preprocess parse(std::string_view text) {
    const auto parts = split(text, ',');
    for (size_t i = 0; i < parts.size(); ++i) {
      part_ = parts[i];
      if (part_.find('=') == std::string_view::npos && i == 0)
        take_preset();
      else
        take(part_);
    }
    return result_;
  }

 private:
  Error refuse(const std::string& why) const {
    return usage_error("--preprocess: '{}' {}", part_, why)
        .advise("see `vernier run --help` for the grammar and the presets");
  }

  void take_preset() {
    for (const Preset& preset : kPresets) {
      if (preset.name != part_) continue;
      for (const std::string_view part : split(preset.text, ',')) take(part);
      return;
    }
    throw refuse("is no preset");
  }

  void take(std::string_view part) {
    const size_t sign = part.find('=');
    if (sign == std::string_view::npos)
      throw refuse("is neither KEY=VALUE nor, in the first place, a preset");
    const std::string_view key = part.substr(0, sign), value = part.substr(sign + 1);
    if (key == "resize") {
      take_resize(value);
    } else if (key == "crop") {
      result_.crop = value == "none" ? std::nullopt : std::optional(size(value));
    } else if (key == "interpolation") {
      using enum Preprocess::Interpolation;
      result_.interpolation = choose<Preprocess::Interpolation>(
          value, {{"linear", kLinear}, {"cubic", kCubic}, {"nearest", kNearest}});
    } else if (key == "orientation") {
      result_.upright = choose<bool>(value, {{"exif", true}, {"stored", false}});
    } else if (key == "antialias") {
      result_.antialias = choose<bool>(value, {{"yes", true}, {"no", false}});
    } else if (key == "channels") {
      using enum Preprocess::Channels;
      result_.channels = choose<Preprocess::Channels>(value, {{"rgb", kRgb}, {"bgr", kBgr}, {"grey", kGrey}});
    } else if (key == "layout") {
      result_.channels_first = choose<bool>(value, {{"nchw", true}, {"nhwc", false}});
    } else if (key == "scale") {
      result_.scale = fraction(value);
    } else if (key == "mean") {
      result_.mean = per_channel(value);
    } else if (key == "std") {
      result_.std = per_channel(value);
      for (const double each : result_.std) {
        if (each == 0) throw refuse("would divide by zero");
      }
    } else {
      throw refuse("has an unknown key");
    }
  }

  void take_resize(std::string_view value) {
    using enum Preprocess::Resize;
    result_.resize = value == "input" ? kInput : value == "none" ? kNone : kExact;
    if (result_.resize != kExact) return;
    result_.resize_to = size(value);
    if (value.find('x') == std::string_view::npos) result_.resize = kShorterSide;
  }

  template <class T>
  T choose(std::string_view value, std::initializer_list<std::pair<std::string_view, T>> choices) const {
    std::string names;
    for (const auto& [name, choice] : choices) {
      if (name == value) return choice;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    throw refuse("is none of " + names);
  }

  double number(std::string_view text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      throw refuse("holds no number where one must be");
    return value;
  }
  double fraction(std::string_view text) const {
    const auto parts = split(text, '/');
    if (parts.size() > 2) throw refuse("is no fraction");
    const double below = parts.size() == 2 ? number(parts[1]) : 1;
    if (below == 0) throw refuse("divides by zero");
    return number(parts[0]) / below;
  }
  // One number for all channels, or three.
  std::array<double, 3> per_channel(std::string_view text) const {
    const auto parts = split(text, '/');
    if (parts.size() != 1 && parts.size() != 3) throw refuse("needs one number, or three with '/' between");
    std::array<double, 3> values;
    for (size_t i = 0; i < 3; ++i) values[i] = number(parts[parts.size() == 1 ? 0 : i]);
    return values;
  }
  // "224" or "HEIGHTxWIDTH".
  Preprocess::Size size(std::string_view text) const {
    constexpr double kLargest = 1 << 14;
    const auto parts = split(text, 'x');
    if (parts.size() > 2) throw refuse("is no size");
    const double height = number(parts.front()), width = number(parts.back());
    for (const double each : {height, width}) {
      if (each < 1 || each > kLargest || each != std::floor(each)) throw refuse("is no size");
    }
    return {static_cast<int64_t>(height), static_cast<int64_t>(width)};
  }

  std::string_view part_;
  Preprocess result_;
};

}  // namespace

Preprocess parse_preprocess(const std::string& text) {
  return Parser().parse(text);
}

std::string preprocess_help() {
  std::string text =
      "Images (--preprocess): [PRESET,]KEY=VALUE,… in any order; what they say is done in this order:\n"
      "  orientation=exif|stored          turned upright as EXIF data say (default), or as the pixels are "
      "stored\n"
      "  resize=input|none|SIDE|HxW       to the input's size (default), not, the shorter side to SIDE, "
      "exactly\n"
      "  interpolation=linear|cubic|nearest   antialias=yes|no\n"
      "  crop=none|SIDE|HxW               from the centre\n"
      "  channels=rgb|bgr|grey            default: by the input's channels\n"
      "  scale=A|A/B  mean=M|R/G/B  std=S|R/G/B   (pixel * scale - mean) / std, of pixels 0 … 255\n"
      "  layout=nchw|nhwc                 default: by the input's shape\n"
      "presets:\n";
  for (const Preset& preset : kPresets) text += fmt::format("  {:<14} {}\n", preset.name, preset.text);
  return text;
}

}  // namespace vernier
