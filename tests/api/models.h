// Small models as ONNX files. Tests see the library through its public interface only; what makes the files
// is in models.cpp.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "source_dir.h"

namespace vernier::test {

// Deleted with all copies.
class ModelFile {
 public:
  // A graph in the text form of the IR, of opset 24.
  explicit ModelFile(const std::string& graph);
  ModelFile(std::shared_ptr<void> folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

 private:
  std::shared_ptr<void> folder_;
  std::filesystem::path path_;
};

inline const std::filesystem::path kDigits = source_dir() / "examples/digits/digits.onnx";

// y = relu(x w), x of [N, 3], w of [3, 2].
ModelFile dense_model();
// A depthwise convolution, for which there is a tactic at every instruction set.
ModelFile depthwise_model();
// A loop that runs `trips` times over 4x4 matrix products.
ModelFile loop_model();
// Reads on for `trips` steps from what came before, `keys` of [N, 4], to which each step adds a row; a branch
// that the data choose says how. `where` are the positions of what is above zero in all rows.
ModelFile reading_model();
// `y` is a running sum over MatMuls: `steps` steps on [64, 64].
ModelFile long_model(int steps);
// The positions of what is not zero in x, of [N]: sizes that only running tells.
ModelFile where_model();
// Inputs and outputs that are no tensors, strings, views, inputs given on, and an input with a default.
ModelFile sequence_model();
ModelFile strings_model();
ModelFile views_model();
ModelFile default_model();

// dense_model() as an engine file with a plan for two rows, made for one thread.
ModelFile dense_engine();

// Gives what dense_model() yields for x.
std::vector<float> dense_result(const std::vector<float>& x);

}  // namespace vernier::test
