// Several tests at once.
#pragma once

#include <vector>

namespace vernier {

// The p-values as Holm (1979) adjusts them: all that are below a level may be refused together, with no more
// than that probability of refusing a single one wrongly.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace vernier
