// ImageDecoder: the pixels [height, width, channels] of an image file, as RGB, BGR or Grayscale. Damaged
// files are refused.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/image/image.h"

namespace vernier::ops {

namespace {

enum class PixelFormat : uint8_t { kRgb, kBgr, kGray };

PixelFormat pixel_format(const Node& node) {
  const auto format = node.attribute<std::string>("pixel_format", "RGB");
  if (format == "RGB") return PixelFormat::kRgb;
  if (format == "BGR") return PixelFormat::kBgr;
  if (format == "Grayscale") return PixelFormat::kGray;
  throw bad_input("pixel_format must be RGB, BGR or Grayscale, not '{}'", format);
}

void infer_image_decoder(InferContext& context) {
  if (context.element(0) != ElementType::kUint8) throw bad_input("an encoded image is a vector of UINT8");
  const Dim channels = pixel_format(context.node()) == PixelFormat::kGray ? 1 : 3;
  context.set_output(0, ElementType::kUint8,
                     Shape{context.fresh("height"), context.fresh("width"), channels});
}

// Luma of ITU-R BT.601 in units of 2^-16, rounded.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

void reference_image_decoder(ReferenceContext& context) {
  const PixelFormat format = pixel_format(context.node());
  Tensor image = decode_image(context.in(0).bytes());
  if (format == PixelFormat::kGray) {
    const auto rgb = image.values<uint8_t>();
    auto gray = context.allocate(0, {image.dims()[0], image.dims()[1], 1}).mutable_values<uint8_t>();
    for (size_t i = 0; i < gray.size(); ++i) gray[i] = luma(&rgb[3 * i]);
    return;
  }
  if (format == PixelFormat::kBgr) {
    const auto pixels = image.mutable_values<uint8_t>();
    for (size_t i = 0; i < pixels.size(); i += 3) std::swap(pixels[i], pixels[i + 2]);
  }
  context.emit(0, std::move(image));
}

}  // namespace

void register_image_decoder(OpRegistry& registry) {
  registry.add({.op = "ImageDecoder",
                .operands = {Role::kData},
                .attributes = {{"pixel_format", "STRING"}},
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_image_decoder,
                .reference = reference_image_decoder});
}

}  // namespace vernier::ops
