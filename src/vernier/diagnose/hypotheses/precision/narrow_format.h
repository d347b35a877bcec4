// The floating-point formats that engines compute in where a graph says float, with what they do at the ends
// of their range.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct NarrowFormat {
  std::string name;      // "float16"
  int digits = 24;       // binary ones of the significand, the hidden one included
  int min_exponent = 0;  // of the smallest normal number
  double largest = 0;
  bool truncates = false;  // cut off toward zero, as a conversion that drops bits does, instead of rounded
  bool flushes = false;    // subnormal numbers become zero
  bool saturates = false;  // what is too large becomes the largest number instead of an infinity

  static NarrowFormat float16();
  static NarrowFormat bfloat16();
  static NarrowFormat tf32();
  static NarrowFormat float8e4m3();
  static NarrowFormat float8e5m2();
  static NarrowFormat float32();

  NarrowFormat truncating() const;
  NarrowFormat flushing() const;
  NarrowFormat saturating() const;

  double round(double value) const;
  double unit_roundoff() const;  // of rounding to nearest
  double smallest_normal() const;
  // Whether a finite number becomes an infinity, or is cut down to the largest one, after it was rounded: in
  // float16 65519.99 becomes 65504, and 65520 overflows.
  bool overflows(double value) const;
  std::string text() const;  // "float16 without subnormals"

 private:
  double with_fewer_digits(double value) const;  // of a normal number, whatever its exponent
};

// Floats rounded; other tensors, and undefined ones, as they are.
Tensor rounded(const Tensor& tensor, const NarrowFormat& format);
std::vector<Tensor> rounded(const std::vector<Tensor>& tensors, const NarrowFormat& format);

bool is_real(const Tensor& tensor);  // defined, with real floats
// Whether a finite number of the tensor is too large for the format.
bool overflows(const Tensor& tensor, const NarrowFormat& format);
// Whether subnormal numbers of the format, or zeros in their place, cost a part of the tensor more than its
// rounding does: a channel (along the first or the last axis) of weights, or the tensor as a whole.
bool underflows(const Tensor& tensor, const NarrowFormat& format, bool by_channel);

}  // namespace vernier
