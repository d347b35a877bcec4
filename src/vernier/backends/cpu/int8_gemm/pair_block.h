// Products of int8 on processors whose instructions do not sum four of them exactly: they are upcast to
// int16, their zero points taken off, and pairs of products are summed in int32. Vectors may have any width.
#pragma once

#include <array>
#include <cstdint>

#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

// Columns whose weights lie side by side (a panel), and those that are finished together.
inline constexpr int64_t kPanelColumns = 16, kPairColumns = 32;
// Rows of int16 may be written, and read, so far beyond their end.
inline constexpr int64_t kPairSlack = 64;

inline int64_t pairs_of(int64_t depth) {
  return (depth + 1) / 2;
}

// Bytes as they lie in memory, and what is taken off each.
struct Int8Source {
  const uint8_t* from;
  const uint8_t* end;  // of what can be read
  bool is_signed;
  int32_t zero_point;
};

// The windows of one group of channels-last images, each as a row: tap by tap its channels. Beyond an image
// lies 0. A matrix is an image of one row of pixels, whose windows are pixels.
struct PairWindows {
  std::array<ops::WindowAxis, 3> axes;
  int64_t images = 1;
  int64_t channels = 1, pixel_channels = 1;  // of the group, and of all groups

  static PairWindows of_matrix(int64_t rows, int64_t depth);
  static PairWindows of_convolution(const ops::Convolution& convolution);

  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  int64_t depth() const { return taps() * channels; }
  int64_t bytes() const { return images * axes[0].input * axes[1].input * axes[2].input * pixel_channels; }
  int64_t rows() const { return images * axes[0].output * axes[1].output * axes[2].output; }
  // Whether rows lie in memory as they are, one behind the other.
  bool is_matrix() const;
};

// A window's place among all, from one to the next without a division.
class WindowPlace {
 public:
  WindowPlace(const PairWindows& windows, int64_t row) : axes_(&windows.axes) {
    for (size_t axis = at.size(); axis-- > 0; row /= windows.axes[axis].output)
      at[axis] = row % windows.axes[axis].output;
    image = row;
  }
  void advance() {
    for (size_t axis = at.size(); axis-- > 0; at[axis] = 0) {
      if (++at[axis] < (*axes_)[axis].output) return;
    }
    ++image;
  }

  std::array<int64_t, 3> at{};
  int64_t image = 0;

 private:
  const std::array<ops::WindowAxis, 3>* axes_;
};

// Rows [first, first + count) of int16, `stride` apart, from the group that begins at channel `channel`.
void gather_windows(const PairWindows& windows, const Int8Source& images, int64_t channel, int64_t first,
                    int64_t count, int64_t stride, int16_t* to);

// A line of an image of int8 as int16, between zeros. The zeros behind it must be at least kPairSlack, for
// whole vectors are written.
struct PairLine {
  const uint8_t* from;
  int64_t before, count, after;
};
void widen_line(const PairLine& line, const Int8Source& images, int16_t* to);

// A matrix [depth, columns] of int8, or its transpose, as panels of pairs: [panel][pair][column][2]; beyond
// its last row and column lies 0. Gives what pair_panel_size() says.
void pack_pairs(const Int8Source& matrix, int64_t depth, int64_t columns, bool transposed, int16_t* to);
// int16 of all panels; their columns are whole blocks of kPairColumns.
int64_t pair_panels_size(int64_t depth, int64_t columns);

// Rows may be in segments that lie apart, of as many pairs each.
struct PairProduct {
  const int16_t* const* x;  // of each segment, where that of the first row lies
  int64_t segments;
  int64_t stride;          // int16 from a row to the next
  int64_t rows, pairs;     // pairs of a segment
  const int16_t* weights;  // of kPairColumns
  const int32_t* initial;  // the initial accumulator of each column; null: 0
  int64_t columns;         // that are asked for
  int32_t* sums;           // [rows, kPairColumns], of which those that are asked for are written
};
void multiply_pairs(const PairProduct& product);

// Depthwise convolution of up to kPairColumns channels.
struct PairDepthwise {
  const uint8_t* const* taps;  // [2 * pairs]: where the first channel of a tap of the first pixel lies
  const int64_t* steps;        // [2 * pairs]: bytes from there to that of the next pixel
  const uint8_t* padding;      // a tap beyond the image, behind whose channels kPairSlack bytes can be read
  const uint8_t* end;          // of the images
  bool reads_beyond;           // whether kPairSlack / 2 bytes can be read behind the last channel of each tap
  int64_t pixels, pairs;
  int64_t channel, channels;  // from the first on
  bool is_signed;
  const int16_t* weights;  // [2 * pairs, kPairColumns]
  const int32_t* initial;  // of each channel; null: 0
  int32_t* sums;           // [pixels, kPairColumns]
};
void sum_depthwise(const PairDepthwise& work);

}  // namespace vernier::cpu
