// Aligned columns for a terminal. Internal to report.
#pragma once

#include <string>
#include <vector>

namespace vernier {

// Foreign text made harmless for a terminal: control characters and damaged UTF-8 escaped, and cut in the
// middle beyond `width` columns.
std::string printable(const std::string& text, size_t width);

class TextTable {
 public:
  // The columns named first are left-aligned, the rest right-aligned.
  TextTable(std::vector<std::string> header, size_t left_aligned);
  void add(std::vector<std::string> cells);  // as many as the header has
  std::string text(size_t indent) const;
  size_t rows() const { return rows_.size() - 1; }  // without the header

 private:
  std::vector<std::vector<std::string>> rows_;
  size_t left_aligned_;
};

}  // namespace vernier
