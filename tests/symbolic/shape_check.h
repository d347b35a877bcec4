// One run of a model, held against what inference said of every value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/backends/reference/interpreter.h"

namespace vernier {

// Sums up what runs found.
struct ShapeFindings {
  size_t runs = 0, values = 0;
  // Values with a size that only running can tell, by the operators that made it so.
  std::map<std::string, int> fresh;
  std::map<std::string, int> unknown_rank;  // by operator
  std::vector<std::string> mismatches;

  void add(const ShapeFindings& other);
  bool is_exact() const { return fresh.empty() && unknown_rank.empty() && mismatches.empty(); }
};

// Runs the model and compares type and sizes of all values of its main graph. Throws what the run throws.
ShapeFindings check_shapes(const Model& model, const std::map<std::string, Datum>& inputs);

}  // namespace vernier
