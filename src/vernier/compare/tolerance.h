// How far an element may be from its reference: |actual - reference| <= atol + rtol * |reference|.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "vernier/numeric/element_type.h"

namespace vernier {

struct Tolerance {
  double atol = 0, rtol = 0;
  std::string source =
      "exact";  // where the numbers come from, for reports: "default for f32", "--atol out:0.01, …"
  // The user gave atol or rtol, so nothing but this tolerance may decide: no noise, no widening.
  bool by_user = false;

  double allowed(double reference) const;
  // False for an error that is NaN or infinite, whatever the tolerance.
  bool accepts(double error, double reference) const;
};

// Whether values of this type obey a tolerance that names no value: floats and complex numbers. A general
// tolerance is meant for these, and would let a wrong token id pass.
bool obeys_general_tolerance(ElementType type);

// Fixed numbers per type: a few tens of rounding errors for narrow floats, exact for everything that is no
// float.
Tolerance default_tolerance(ElementType type);

// Holds what the user gave with one option, --atol or --rtol.
struct ToleranceOption {
  std::optional<double> general;        // for every floating-point value
  std::map<std::string, double> named;  // for one value, by its exact name

  // Takes "1e-3" or "name:1e-3". The name ends at the last colon, so it may hold colons itself. Throws
  // usage_error unless the number is finite and not negative, or when the same thing is given twice.
  void parse(std::string_view text);
};

struct Tolerances {
  ToleranceOption atol, rtol;

  // Named before general before default, for atol and rtol each. Integers obey named tolerances only (see
  // obeys_general_tolerance); bool and strings are always exact.
  Tolerance of(const std::string& value, ElementType type) const;

  // Says which options of the user this value does not obey, and what to write instead; "" if it obeys all.
  std::string not_applied(const std::string& value, ElementType type) const;

  // Throws usage_error if a general tolerance is given and none of the outputs, by name, obeys it. An output
  // of an unknown type may obey it.
  void require_use(const std::map<std::string, ElementType>& outputs) const;
};

}  // namespace vernier
