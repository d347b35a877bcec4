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

namespace {

// The pixels of a file, and how it was turned.
std::pair<Tensor, int> decoded(const std::filesystem::path& file, const Preprocess& preprocess) {
  int orientation = 1;
  Tensor pixels = read_mapped(file, [&](auto bytes) {
    if (preprocess.upright) orientation = exif_orientation(bytes);
    return ops::turned_upright(ops::decode_image(bytes), orientation);
  });
  require_workable("an image", pixels.dims());
  return {std::move(pixels), orientation};
}

ImageShape require_image_shape(const Value& input, const Preprocess& preprocess) {
  if (const auto shape = image_shape(input, preprocess.channels_first)) return *shape;
  throw bad_input("input '{}' is {}, which is no image of one or three channels", input.name,
                  input.type.text())
      .advise("give this input as .npy, or another layout in --preprocess");
}

Pixels fitted(const Tensor& image, const Value& input, const ImageShape& shape, const Preprocess& preprocess,
              const SymbolValues& symbols) {
  Pixels pixels{image.dims()[0], image.dims()[1], image.to_doubles()};
  fit(pixels, preprocess, input, shape, symbols);
  return pixels;
}

}  // namespace

Tensor prepared_image(const Tensor& image, const Value& input, const Preprocess& preprocess,
                      const SymbolValues& symbols) {
  const ImageShape shape = require_image_shape(input, preprocess);
  return to_tensor(fitted(image, input, shape, preprocess, symbols), preprocess, shape, input);
}

ImageInput read_image(const std::filesystem::path& file, const Value& input, const Preprocess& preprocess,
                      const SymbolValues& symbols) {
  try {
    require_image_shape(input, preprocess);
    const auto [image, orientation] = decoded(file, preprocess);
    return {prepared_image(image, input, preprocess, symbols),
            orientation == 1 ? "" : fmt::format("turned upright (EXIF orientation {})", orientation)};
  } catch (Error& error) {
    throw error.in_file(file.string());
  }
}

Tensor read_mask(const std::filesystem::path& file, const Value& input, const Preprocess& preprocess,
                 const SymbolValues& symbols) {
  try {
    const ImageShape shape = require_image_shape(input, preprocess);
    Preprocess how = preprocess;
    how.interpolation = Preprocess::Interpolation::kNearest;
    const Pixels pixels = fitted(decoded(file, how).first, input, shape, how, symbols);
    std::vector<int64_t> classes;
    for (size_t at = 0; at < pixels.values.size(); at += kColours) {
      const double* rgb = pixels.values.data() + at;
      if (rgb[0] != rgb[1] || rgb[0] != rgb[2])
        throw bad_input("has colours, and a mask has the number of a class in each pixel")
            .advise("save it as a grey image of numbers; colours of a palette are not read as numbers");
      classes.push_back(static_cast<int64_t>(rgb[0]));
    }
    return Tensor::from_ints(ElementType::kInt64, {1, pixels.height, pixels.width}, classes);
  } catch (Error& error) {
    throw error.in_file(file.string());
  }
}

}  // namespace vernier
