#pragma once

#include <vector>

namespace vernier {

// The factors x [columns, targets] for which the product of a [rows, columns] and x comes nearest to b [rows,
// targets], all row-major; where columns of a depend on each other, one of the answers.
std::vector<double> least_squares(const std::vector<double>& a, const std::vector<double>& b, size_t rows,
                                  size_t columns, size_t targets);

}  // namespace vernier
