#include "vernier/cli/options/comparison_options.h"

namespace vernier {

void ComparisonOptions::declare(CLI::App& app) {
  data.declare(app);
  app.add_option("--atol", atol,
                 "absolute tolerance, for all outputs of floats or complex numbers, or for one: 1e-3, "
                 "out:1e-3; integers obey it by name only (default: derived)")
      ->type_name("[OUT:]A");
  app.add_option("--rtol", rtol,
                 "relative tolerance, |a-b| <= atol + rtol*|ref|; given as --atol is (default: derived)")
      ->type_name("[OUT:]R");
  app.add_option("--constant-output", constant_values,
                 "a value that is constant by nature, which is no reason for mistrust")
      ->type_name("VALUE");
}

CompareOptions ComparisonOptions::compare() const {
  CompareOptions compare;
  for (const auto& text : atol) compare.tolerances.atol.parse(text);
  for (const auto& text : rtol) compare.tolerances.rtol.parse(text);
  compare.constant_values.insert(constant_values.begin(), constant_values.end());
  compare.random_data = data.is_random();
  return compare;
}

}  // namespace vernier
