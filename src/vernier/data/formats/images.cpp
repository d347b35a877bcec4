#include "vernier/data/formats/images.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "vernier/base/file.h"
#include "vernier/data/random/lower_case.h"
#include "vernier/ops/support/image/image.h"
#include "vernier/ops/support/resampling/resample.h"
#include "vernier/tensor/working_memory.h"

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

namespace {

// Where the sizes of an image stand in the shape of an input.
struct ImageShape {
  size_t channels_axis, height_axis, width_axis;
  int64_t channels;
};

std::optional<ImageShape> image_shape(const Value& input, std::optional<bool> channels_first) {
  if (!input.type.is_tensor() || !input.type.tensor.shape) return std::nullopt;
  const ElementType type = input.type.tensor.element;
  const Shape& shape = *input.type.tensor.shape;
  if ((!is_float(type) && !is_integer(type)) || shape.size() < 3 || shape.size() > 4) return std::nullopt;
  const size_t first = shape.size() - 3;
  const auto at = [&](size_t axis) -> std::optional<int64_t> {
    const auto size = shape[axis].constant();
    return size && (*size == 1 || *size == 3) ? size : std::nullopt;
  };
  if (channels_first.value_or(true) && at(first)) return ImageShape{first, first + 1, first + 2, *at(first)};
  if (!channels_first.value_or(false) && at(first + 2))
    return ImageShape{first + 2, first, first + 1, *at(first + 2)};
  return std::nullopt;
}

// An image on its way: row-major [height, width, channels].
struct Pixels {
  int64_t height, width;
  std::vector<double> values;
};

constexpr int64_t kColours = 3;

void resize(Pixels& pixels, const Preprocess& how, int64_t height, int64_t width) {
  if (height == pixels.height && width == pixels.width) return;
  ops::ResampleRule rule;
  using enum Preprocess::Interpolation;
  rule.interpolation = how.interpolation == kNearest  ? ops::Interpolation::kNearest
                       : how.interpolation == kLinear ? ops::Interpolation::kLinear
                                                      : ops::Interpolation::kCubic;
  rule.coordinates = ops::CoordinateMode::kHalfPixel;
  rule.nearest = ops::NearestMode::kFloor;
  rule.antialias = how.antialias && how.interpolation != kNearest;
  rule.cubic_coefficient = -0.5;  // as image libraries have it
  const auto axis = [](size_t at, int64_t from, int64_t to) {
    return ops::ResampleAxis{.axis = at, .input = from, .output = to, .ratio = {to, from}};
  };
  pixels.values = ops::resampled(pixels.values, {pixels.height, pixels.width, kColours}, rule,
                                 {axis(0, pixels.height, height), axis(1, pixels.width, width)});
  pixels.height = height, pixels.width = width;
  // Image libraries store bytes again, and so the models were trained.
  for (double& value : pixels.values) value = std::clamp(std::nearbyint(value), 0.0, 255.0);
}

void crop(Pixels& pixels, Preprocess::Size size) {
  if (size.height > pixels.height || size.width > pixels.width) {
    throw bad_input("the image has {}x{} pixels, from which {}x{} cannot be cropped", pixels.height,
                    pixels.width, size.height, size.width)
        .advise("resize to a larger size first, e.g. resize=256,crop=224");
  }
  const int64_t top = (pixels.height - size.height) / 2, left = (pixels.width - size.width) / 2;
  std::vector<double> values;
  for (int64_t y = top; y < top + size.height; ++y) {
    const auto row = pixels.values.begin() + (y * pixels.width + left) * kColours;
    values.insert(values.end(), row, row + size.width * kColours);
  }
  pixels = {size.height, size.width, std::move(values)};
}

// The size that the input has, where it is known.
std::optional<int64_t> wanted(const Value& input, size_t axis, const SymbolValues& symbols) {
  return (*input.type.tensor.shape)[axis].evaluate(symbols);
}

void fit(Pixels& pixels, const Preprocess& how, const Value& input, const ImageShape& shape,
         const SymbolValues& symbols) {
  using enum Preprocess::Resize;
  if (how.resize == kExact) {
    resize(pixels, how, how.resize_to.height, how.resize_to.width);
  } else if (how.resize == kShorterSide) {
    // The longer side is cut off, not rounded, as torchvision does.
    const int64_t side = how.resize_to.height, shorter = std::min(pixels.height, pixels.width);
    resize(pixels, how, pixels.height * side / shorter, pixels.width * side / shorter);
  } else if (how.resize == kInput) {
    resize(pixels, how, wanted(input, shape.height_axis, symbols).value_or(pixels.height),
           wanted(input, shape.width_axis, symbols).value_or(pixels.width));
  }
  if (how.crop) crop(pixels, *how.crop);
}

Preprocess::Channels channels_of(const Preprocess& how, const ImageShape& shape) {
  using enum Preprocess::Channels;
  const auto channels = how.channels.value_or(shape.channels == 1 ? kGrey : kRgb);
  if ((channels == kGrey) != (shape.channels == 1)) {
    throw bad_input("--preprocess makes {} channel(s), but the input has {}", channels == kGrey ? 1 : 3,
                    shape.channels)
        .advise("leave 'channels' away: the input decides");
  }
  return channels;
}

// The normalised value of one channel of a pixel; grey as ITU-R BT.601 weighs it.
double channel_value(const double* rgb, int64_t channel, Preprocess::Channels channels,
                     const Preprocess& how) {
  using enum Preprocess::Channels;
  const auto at = static_cast<size_t>(channel);
  const double pixel = channels == kGrey  ? std::nearbyint(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2])
                       : channels == kBgr ? rgb[2 - at]
                                          : rgb[at];
  return (pixel * how.scale - how.mean[at]) / how.std[at];
}

Tensor to_tensor(const Pixels& pixels, const Preprocess& how, const ImageShape& shape, const Value& input) {
  const auto channels = channels_of(how, shape);
  const int64_t height = pixels.height, width = pixels.width, count = shape.channels;
  const bool first = shape.channels_axis < shape.height_axis;
  Dims dims = first ? Dims{count, height, width} : Dims{height, width, count};
  if (input.type.tensor.shape->size() == 4) dims.insert(dims.begin(), 1);
  std::vector<double> values(static_cast<size_t>(count * height * width));
  for (int64_t i = 0; i < height * width; ++i) {
    for (int64_t c = 0; c < count; ++c) {
      values[static_cast<size_t>(first ? c * height * width + i : i * count + c)] =
          channel_value(pixels.values.data() + i * kColours, c, channels, how);
    }
  }
  const ElementType type = input.type.tensor.element;
  if (is_integer(type)) {
    const auto low = static_cast<double>(integer_min(type)), high = static_cast<double>(integer_max(type));
    for (double& value : values) value = std::clamp(std::nearbyint(value), low, high);
  }
  return Tensor::from_doubles(type, std::move(dims), values);
}

}  // namespace

bool is_image_file(const std::filesystem::path& path) {
  constexpr std::string_view kExtensions[] = {".bmp", ".jpg", ".jpeg", ".jp2", ".j2k",  ".png", ".pbm",
                                              ".pgm", ".ppm", ".pnm",  ".tif", ".tiff", ".webp"};
  const std::string extension = lower_case(path.extension().string());
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) != std::end(kExtensions);
}

const Value& image_input(const Model& model) {
  std::vector<const Value*> found;
  for (const Value* input : required_inputs(model)) {
    if (image_shape(*input, std::nullopt)) found.push_back(input);
  }
  if (found.size() == 1) return *found[0];
  throw usage_error("the model has {} inputs that an image could be (rank 3 or 4, one or three channels)",
                    found.size())
      .advise("say which input it is: NAME=PATH");
}

ImageInput read_image(const std::filesystem::path& file, const Value& input, const Preprocess& preprocess,
                      const SymbolValues& symbols) {
  try {
    const auto shape = image_shape(input, preprocess.channels_first);
    if (!shape) {
      throw bad_input("input '{}' is {}, which is no image of one or three channels", input.name,
                      input.type.text())
          .advise("give this input as .npy, or another layout in --preprocess");
    }
    int orientation = 1;
    const Tensor decoded = read_mapped(file, [&](auto bytes) {
      if (preprocess.upright) orientation = exif_orientation(bytes);
      return ops::turned_upright(ops::decode_image(bytes), orientation);
    });
    require_workable("an image", decoded.dims());
    Pixels pixels{decoded.dims()[0], decoded.dims()[1], decoded.to_doubles()};
    fit(pixels, preprocess, input, *shape, symbols);
    return {to_tensor(pixels, preprocess, *shape, input),
            orientation == 1 ? "" : fmt::format("turned upright (EXIF orientation {})", orientation)};
  } catch (Error& error) {
    throw error.in_file(file.string());
  }
}

}  // namespace vernier
