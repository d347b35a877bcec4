// Numbers in so few bits that engines give them scales: the largest number that shares a scale becomes the
// largest code.
#pragma once

#include "vernier/diagnose/hypotheses/precision/narrow_format.h"

namespace vernier {

struct Codes {
  NarrowFormat format;      // of what is left when a number is divided by its scale
  bool from_least = false;  // codes begin at the least number, as unsigned ones do, and not in the middle

  static Codes integers(int bits);
  static Codes unsigned_integers(int bits);
  static Codes float4();
  std::string text() const;
};

// Which elements share a scale: all, those of one index of an axis, or so many neighbours along it.
struct ScaleReach {
  std::optional<size_t> axis;
  int64_t block = 0;  // 0: no blocks

  std::string text() const;  // "one scale", "a scale for each index of axis 0"
};

// Floats as an engine gets them back from such codes. Throws std::out_of_range where there is no such axis.
Tensor in_codes(const Tensor& tensor, const Codes& codes, const ScaleReach& reach);

// Lists the codes that engines know, and how far their scales may reach in a tensor of these sizes, most
// usual first.
std::vector<Codes> usual_codes();
std::vector<ScaleReach> usual_reaches(const Dims& dims);

}  // namespace vernier
