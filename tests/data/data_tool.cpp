// Reads a data file and writes what it read, for data_test.py: data_tool convert IN OUT [TYPE] | inputs IN
// OUT | results IN OUT
#include <iostream>

#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/formats/polygraphy_json.h"

using namespace vernier;

namespace {

void run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) throw usage_error("three arguments are needed");
  const std::filesystem::path in = arguments[1], out = arguments[2];
  if (arguments[0] == "inputs") {
    const PolygraphyInputs inputs(in);
    std::vector<NamedData> samples;
    for (size_t i = 0; i < inputs.size(); ++i) samples.push_back(inputs.sample(i));
    write_polygraphy_inputs(out, samples);
  } else if (arguments[0] == "results") {
    write_polygraphy_results(out, read_polygraphy_results(in));
  } else if (in.extension() == ".npz") {
    write_file(out, write_npz(read_npz_file(in)));
  } else {
    const auto type = arguments.size() > 3 ? parse_element_type(arguments[3]) : std::nullopt;
    write_file(out, write_npy(read_npy_file(in, type.value_or(ElementType::kUndefined))));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
    return 0;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
