// Windows of an image as the columns of a matrix, which turns a convolution into a matrix product.
#pragma once

#include "vernier/ops/support/nn/window.h"

namespace vernier::ops {

// columns[channel * taps + tap, i] = the tap of window first + i; 0 where it lies in the padding. `columns`
// has `count` columns. Conversion to double happens here, so that an image of float is never converted as a
// whole.
template <class T>
void im2col(const T* image, int64_t channels, const WindowAxes& axes, int64_t first, int64_t count,
            double* columns);

// The transpose: adds every column element to the element of the image that it was taken from. `columns`
// holds all windows.
void col2im(const double* columns, int64_t channels, const WindowAxes& axes, double* image);

}  // namespace vernier::ops
