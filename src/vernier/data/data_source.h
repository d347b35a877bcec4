// Where samples come from: one after the other, so that memory does not grow with their number.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct Sample {
  std::string origin;  // for people: a file, a folder, or how it was drawn
  NamedData inputs;
  std::optional<NamedData> expected;         // outputs that came with the inputs
  std::map<std::string, std::string> drawn;  // of random inputs: from which values, and why
  std::vector<std::string> notes = {};       // how the inputs differ from what the model declares
};

class DataSource {
 public:
  virtual ~DataSource() = default;
  // The next sample, checked against the inputs of the model; nothing after the last one. Throws bad_input,
  // naming file and input, for data that are damaged or do not fit.
  virtual std::optional<Sample> next() = 0;
  // The number of samples, where it is known before the end.
  virtual std::optional<size_t> size() const { return std::nullopt; }
  // Says why the model refuses the sample that was just given. True if the source takes it back and gives
  // another, or none, in its place.
  virtual bool withdraw(const Error& /*why*/) { return false; }
};

}  // namespace vernier
