// The sum of the inputs in each receptive field of a convolution, which zero points of weights are multiplied
// by.
#pragma once

#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

// Adds up the receptive fields of images of int8 [N, spatial…, groups * channels]: partial sums [N, windows,
// groups] of (x - zero_point), with zeros beyond the image.
class WindowSums {
 public:
  explicit WindowSums(const ops::Convolution& convolution);
  int64_t size() const { return convolution_.batch * windows_ * convolution_.groups; }
  int64_t scratch_size() const { return convolution_.batch * pixels_ * convolution_.groups; }
  // `scratch` holds scratch_size() elements.
  void run(const uint8_t* images, bool is_signed, int32_t zero_point, int32_t* scratch, int32_t* sums) const;

 private:
  void sum_pixels(const uint8_t* images, bool is_signed, int32_t zero_point, int32_t* sums) const;
  void sum_window(const int32_t* image, int64_t window, int32_t* sums) const;

  ops::Convolution convolution_;
  ops::WindowAxes axes_;  // three
  int64_t pixels_ = 1, windows_ = 1;
};

}  // namespace vernier::cpu
