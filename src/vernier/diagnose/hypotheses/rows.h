// Parts of a result of which an engine may have taken one for another: rows of a batch, channels.
#pragma once

#include <cstddef>
#include <vector>

namespace vernier {

// Holds what is right, and what was made, row after row.
struct Rows {
  std::vector<double> right, made;
  size_t count = 0, size = 0;

  double distance(size_t made_row, size_t right_row) const;
  // Gives the right row that stands in each place.
  std::vector<size_t> order() const;
  // The right rows in that order.
  std::vector<double> taken(const std::vector<size_t>& order) const;

 private:
  // Where equal rows are as near, one that is not taken yet.
  size_t nearest(size_t made_row, const std::vector<bool>& taken) const;
};

bool is_in_place(const std::vector<size_t>& order);
bool is_permutation(const std::vector<size_t>& order);

}  // namespace vernier
