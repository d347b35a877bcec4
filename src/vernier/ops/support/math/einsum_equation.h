// The equation of Einsum, as one label per axis.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace vernier::ops {

struct EinsumEquation {
  // A letter is its character code; an axis of the ellipsis is kEllipsis plus its distance from the last of
  // them.
  using Labels = std::vector<int>;
  static constexpr int kEllipsis = 256;

  std::vector<Labels> inputs;
  Labels output;
};

// `ranks` are those of the inputs. Without "->" the output has the axes of the ellipsis and then, in the
// order of their codes, the letters that occur once. Throws bad_input for an equation that is damaged or does
// not fit.
EinsumEquation parse_einsum(std::string_view equation, const std::vector<size_t>& ranks);

}  // namespace vernier::ops
