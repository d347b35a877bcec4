// Winograd's convolutions with own vectors, for channels-last images; oneDNN has those for blocks of
// channels.
#pragma once

namespace vernier::cpu {

// The tactics: tiles of 2 by 2 and of 4 by 4 outputs.
inline constexpr const char *kWinogradOfTwo = "winograd-2x2", *kWinogradOfFour = "winograd-4x4";

}  // namespace vernier::cpu
