// Measures what the reference costs: reference_bench MODEL RUNS [INPUT:DIMS...]
//
// Prints one line of JSON: seconds to read the file, seconds of import beyond that, the median and the
// smallest seconds of a run on random inputs, bytes of weights, of the largest live set, and of the process
// at its peak.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/data/random/random_inputs.h"
#include "vernier/onnx/import.h"

using namespace vernier;

namespace {

template <class Work>
double seconds_of(Work work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

// Reads every byte of the model and of what lies beside it.
void read_folder(const std::filesystem::path& model) {
  for (const auto& entry : std::filesystem::directory_iterator(model.parent_path())) {
    if (!entry.is_regular_file()) continue;
    const auto file = MappedFile::open(entry.path());
    hash_bytes(file->bytes().data(), file->bytes().size());
  }
}

int bench(const std::filesystem::path& path, int runs, const std::vector<std::string>& shapes) {
  const double read = seconds_of([&] { read_folder(path); });
  ImportedModel imported;
  const double import = seconds_of([&] { imported = import_model(path); });
  size_t weights = 0;
  for_each_graph(static_cast<const Graph&>(*imported.model.graph), [&](const Graph& graph) {
    for (const auto& value : graph.values())
      weights += value->is_constant() ? value->constant->byte_size() : 0;
  });
  RandomOptions options;
  options.shapes = parse_shapes(shapes);
  RandomInputs inputs(imported.model, options);
  const auto sample = inputs.next();
  std::vector<double> times;
  size_t live = 0;
  for (int i = 0; i < runs; ++i) {
    times.push_back(
        seconds_of([&] { live = run_reference(imported.model, sample->inputs).peak_live_bytes; }));
  }
  std::sort(times.begin(), times.end());
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"model\": \"{}\", \"read_s\": {:.3f}, \"import_s\": {:.3f}, \"run_s\": {:.3f}, \"run_min_s\": "
      "{:.3f}, "
      "\"weights_bytes\": {}, \"live_bytes\": {}, \"peak_rss_bytes\": {}}}\n",
      path.parent_path().filename().string(), read, import, times[times.size() / 2], times.front(), weights,
      live, static_cast<size_t>(usage.ru_maxrss) * 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: reference_bench MODEL RUNS [INPUT:DIMS...]\n");
    return 2;
  }
  try {
    return bench(argv[1], std::max(1, std::atoi(argv[2])), {argv + 3, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reference_bench: %s\n", error.what());
    return 1;
  }
}
