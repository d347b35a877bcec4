// How a camera was held. Internal to the room.
#pragma once

#include <cstddef>
#include <span>

namespace vernier {

// The orientation that the EXIF data of a JPEG, PNG or WebP file state, 1 to 8; 1, upright, if they state
// none, or none that there is. Never throws: what else is wrong with the file its decoder says.
int exif_orientation(std::span<const std::byte> file);

}  // namespace vernier
