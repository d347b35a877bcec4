// Random samples that suit a model: indices inside their tables, masks of zeros and ones, lengths within the
// sequences, positive numbers under Log and Sqrt. What the graph does with an input decides; see
// value_rule.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/data/data_source.h"
#include "vernier/data/input_shapes.h"

namespace vernier {

struct ValueRange {
  double low = 0, high = 0;  // both included for integers
};

// `--val-range` arguments: "x:[-1,1]" for one input, "[-1,1]" for all others (kept under ""). Throws
// usage_error.
std::map<std::string, ValueRange> parse_value_ranges(const std::vector<std::string>& arguments);

struct RandomOptions {
  uint64_t seed = 1;
  size_t samples = 1;  // of each set of shapes
  std::map<std::string, ValueRange> ranges;
  std::vector<InputShapes> shapes;  // none: shape_choices() decides
};

// Draws `samples` samples of each set of shapes. Equal options give equal bits on every machine, and every
// input has a stream of its own, so that adding an input changes no other. `model` must outlive the source.
// Throws bad_input or usage_error for shapes and ranges that do not fit the model.
class RandomInputs : public DataSource {
 public:
  RandomInputs(const Model& model, RandomOptions options);
  ~RandomInputs() override;
  std::optional<Sample> next() override;
  std::optional<size_t> size() const override { return sample_count(); }
  // Sizes that nobody gave may be other ones: the next attempt of the same choice, or none of it.
  bool withdraw(const Error& why) override;
  size_t sample_count() const;
  // The sizes that the tensors of the next sample will have, by input; nothing behind the last sample. Throws
  // bad_input for inputs of unknown sizes.
  InputShapes next_shapes() const;
  // Instead of next(), where it is known why the model refuses these sizes: withdraws the sample without
  // drawing it. There must be a next sample.
  void skip(const Error& why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
