// Numbers as text, by the rules of Cast.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vernier/numeric/element_type.h"

namespace vernier::ops {

// "3.14", "1e-5", "INF", "-inf", "NaN", …, with blanks around it or not; throws bad_input for other text.
double parse_real(std::string_view text);
// An integer of up to 64 bits as its two's complement; another number is truncated. Throws bad_input as
// parse_real.
int64_t parse_integer(std::string_view text);

// The shortest text that reads back as the same value of `type`, as numpy prints it: "1.0", "0.1", "1e-05",
// "nan".
std::string format_real(double value, ElementType type);

}  // namespace vernier::ops
