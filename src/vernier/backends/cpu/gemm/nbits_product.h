// Products with weights of 4 or 8 bits, which are read as they are packed here: few rows are bound by the
// memory that the weights come from.
//
// A panel holds kPanelColumns columns. It has, block by block along the depth, the scales of its columns,
// their zero points, and the codes: words of 32 bits, one of each column, with the codes of successive depths
// from the lowest bits on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier::cpu {

inline constexpr int64_t kPanelColumns = 16;

struct NbitsShape {
  int64_t columns, depth;
  int64_t bits, block;  // `block` depths share a scale and a zero point; a multiple of 16
  bool has_zeros;       // zero points that are not `zero`
  float zero;

  int64_t panels() const { return (columns + kPanelColumns - 1) / kPanelColumns; }
  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t padded_depth() const { return blocks() * block; }
  int64_t codes() const { return 32 / bits; }  // of a word
  // In words.
  int64_t block_size() const { return kPanelColumns * ((has_zeros ? 2 : 1) + block / codes()); }
  int64_t panel_size() const { return blocks() * block_size(); }
};

// The weights [columns, blocks, block * bits / 8] as MatMulNBits has them, and scales and zero points (null:
// none) [columns, blocks].
void pack_nbits(const NbitsShape& shape, const uint8_t* weights, const float* scales, const float* zeros,
                uint32_t* panels);

// Rows are first made into this: elements divided by the place of the code that they meet, zeros behind, and
// the sums of the elements of each block.
struct NbitsRows {
  float* scaled;  // [rows, padded_depth]
  float* sums;    // [rows, blocks]
};
void prepare_nbits_row(const NbitsShape& shape, const float* x, float* scaled, float* sums);

// y = x * weights + bias (null: none) in panels [first, last).
void multiply_nbits(const NbitsShape& shape, const uint32_t* panels, const NbitsRows& x, int64_t rows,
                    const float* bias, float* y, int64_t first, int64_t last);

// The weights of a panel, depth by depth, in rows that lie `stride` apart.
void dequantize_nbits(const NbitsShape& shape, const uint32_t* panel, float* to, int64_t stride);

}  // namespace vernier::cpu
