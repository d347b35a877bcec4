// Prints what free_sizes finds: find_profiles MODEL INPUT:DIMS...
//
// INPUT:DIMS are recorded sizes, as `vernier run --shapes` takes them. A line for each input with dimensions:
// name, the axes that are free, and the smallest, tuned and largest sizes of the profile, which is tuned at
// other sizes than the recorded ones; separated by tabs. Where nothing moves there is one line, "none" and
// why.
#include <iostream>

#include "profiles/free_sizes.h"
#include "vernier/onnx/import.h"

using namespace vernier;

namespace {

// An input has at most so many, because tuning with larger ones takes long.
constexpr int64_t kMostElements = int64_t{1} << 19;

std::string joined(const std::vector<DimRange>& ranges, int64_t DimRange::*size) {
  std::vector<int64_t> sizes;
  for (const DimRange& range : ranges) sizes.push_back(range.*size);
  return fmt::format("{}", fmt::join(sizes, "x"));
}

std::string dims_of(const Value& input) {
  std::vector<std::string> dims;
  for (const Dim& dim : *input.type.tensor.shape) dims.push_back(dim.text());
  return fmt::format("{}", fmt::join(dims, "|"));
}

void print(const FreedModel& freed) {
  if (!freed.why_none.empty()) return fmt::print("none\t{}\n", freed.why_none);
  for (const auto& [name, ranges] : freed.at_others.inputs)
    fmt::print("{}\t{}\t{}\t{}\t{}\n", name, dims_of(find_input(freed.model, name)),
               joined(ranges, &DimRange::min), joined(ranges, &DimRange::opt),
               joined(ranges, &DimRange::max));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: find_profiles MODEL INPUT:DIMS...\n";
    return 2;
  }
  try {
    const auto imported = import_model(argv[1]);
    print(free_sizes(imported.model, parse_shapes({argv + 2, argv + argc}), kMostElements));
    return 0;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
