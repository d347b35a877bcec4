#include <png.h>

#include "vernier/ops/support/image/image.h"

namespace vernier::ops {

Tensor decode_png(Bytes file) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> guard(&header, png_image_free);
  if (png_image_begin_read_from_memory(&header, file.data(), file.size()) == 0)
    throw bad_input("damaged PNG: {}", header.message);
  Tensor image = make_image(header.height, header.width);
  // Read with opacity, which is then dropped; read without, the library would blend with a background.
  header.format = PNG_FORMAT_RGBA;
  std::vector<uint8_t> rgba(PNG_IMAGE_SIZE(header));
  if (png_image_finish_read(&header, nullptr, rgba.data(), 0, nullptr) == 0)
    throw bad_input("damaged PNG: {}", header.message);
  uint8_t* to = pixels_of(image);
  for (size_t i = 0; i < rgba.size(); i += 4) to = std::copy_n(rgba.data() + i, 3, to);
  return image;
}

}  // namespace vernier::ops
