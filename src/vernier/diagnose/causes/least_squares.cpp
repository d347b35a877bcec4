#include "vernier/diagnose/causes/least_squares.h"

#include <Eigen/Cholesky>

namespace vernier {

std::vector<double> least_squares(const std::vector<double>& a, const std::vector<double>& b, size_t rows,
                                  size_t columns, size_t targets) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto index = [](size_t size) { return static_cast<Eigen::Index>(size); };
  const Eigen::Map<const Matrix> left(a.data(), index(rows), index(columns)),
      right(b.data(), index(rows), index(targets));
  Matrix squares = left.transpose() * left;
  // So little that it moves nothing but what is not determined.
  constexpr double kRidge = 1e-12;
  const double trace = squares.trace();
  squares.diagonal().array() += kRidge * (trace > 0 ? trace / static_cast<double>(columns) : 1);
  std::vector<double> factors(columns * targets);
  Eigen::Map<Matrix>(factors.data(), index(columns), index(targets)) =
      squares.ldlt().solve(left.transpose() * right);
  return factors;
}

}  // namespace vernier
