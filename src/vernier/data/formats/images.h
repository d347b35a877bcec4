// Image files as inputs. Internal to the room.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "vernier/data/input_shapes.h"
#include "vernier/data/preprocess.h"

namespace vernier {

// True for the extensions of image files.
bool is_image_file(const std::filesystem::path& path);

// The one input of the model that an image can be: a tensor of rank 3 or 4 with one or three channels. Throws
// usage_error if there is none or if there are several.
const Value& image_input(const Model& model);

struct ImageInput {
  Tensor tensor;
  std::string note;  // what was done to it that nobody asked for; mostly empty
};

// The image as a sample of `input`. `symbols` may give its symbolic sizes; where they do not, and
// --preprocess says nothing, the image keeps its own. Throws bad_input, naming the file, for what is no image
// and for inputs that take none.
ImageInput read_image(const std::filesystem::path& file, const Value& input, const Preprocess& preprocess,
                      const SymbolValues& symbols);

// The same of pixels [height, width, 3] that are read already.
Tensor prepared_image(const Tensor& image, const Value& input, const Preprocess& preprocess,
                      const SymbolValues& symbols);
// The numbers of a grey image [1, height, width] that shows what belongs to which class in an image of
// `input`: sizes as read_image makes them, by the nearest pixel. Throws bad_input for an image of colours.
Tensor read_mask(const std::filesystem::path& file, const Value& input, const Preprocess& preprocess,
                 const SymbolValues& symbols);

// How a camera was held. Internal to the room.

// The orientation that the EXIF data of a JPEG, PNG or WebP file state, 1 to 8; 1, upright, if they state
// none, or none that there is. Never throws: what else is wrong with the file its decoder says.
int exif_orientation(std::span<const std::byte> file);

}  // namespace vernier
