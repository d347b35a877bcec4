// Polygraphy's JSON files (0.53): inputs (`polygraphy run --save-inputs`, `--load-inputs`) are a list of
// objects, name to array, one per iteration; results (`--save-outputs`, `--load-outputs`) are a RunResults
// object. Arrays are .npy files in base64.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/data/formats/npy.h"

namespace vernier {

// The samples of one input file; each is decoded when asked for.
class PolygraphyInputs {
 public:
  // Throws bad_input, naming the file, if it is no such file.
  explicit PolygraphyInputs(const std::filesystem::path& path);
  ~PolygraphyInputs();
  PolygraphyInputs(PolygraphyInputs&&) noexcept;
  PolygraphyInputs& operator=(PolygraphyInputs&&) noexcept;

  size_t size() const;
  NamedData sample(size_t index, const ElementTypes& wanted = {}) const;

 private:
  struct Content;
  std::unique_ptr<const Content> content_;
};

void write_polygraphy_inputs(const std::filesystem::path& path, const std::vector<NamedData>& samples);

struct PolygraphyIteration {
  NamedData outputs;
  std::optional<double> runtime;  // seconds
  std::string runner;
};

// Runner by runner, in the order of the file; a name may occur twice.
using PolygraphyResults = std::vector<std::pair<std::string, std::vector<PolygraphyIteration>>>;

PolygraphyResults read_polygraphy_results(const std::filesystem::path& path, const ElementTypes& wanted = {});
void write_polygraphy_results(const std::filesystem::path& path, const PolygraphyResults& results);

}  // namespace vernier
