#pragma once

#include <mutex>

#include "vernier/engine/file/engine_io.h"
#include "vernier/vernier.h"

namespace vernier::api {

struct EngineState {
  std::shared_ptr<const Engine> engine;
  std::vector<v1::TensorInfo> inputs, outputs;
  v1::BuildReport report;
};

std::shared_ptr<const EngineState> describe(std::shared_ptr<const Engine> engine, v1::BuildReport report);

// Builds the model as the options say. `notes` are those of the import.
std::shared_ptr<const EngineState> build(const Model& model, const v1::BuildOptions& options,
                                         std::vector<std::string> notes);
std::shared_ptr<const EngineState> load(const std::filesystem::path& path);

// The next declarations say what a run yields, and where its memory goes afterwards.

// Memory for the outputs of the next run, from outputs that nobody holds any more.
struct OutputPool {
  std::mutex mutex;
  std::vector<Datum> spare;
  uint64_t generation = 0;  // grows when other memory is bound: what was made before is not reused
};

struct OutputsState {
  std::shared_ptr<const EngineState> engine;
  std::shared_ptr<OutputPool> pool;
  uint64_t generation = 0;
  std::vector<Datum> data;           // in the order of the graph
  std::vector<std::string> devices;  // where each lies; empty: all on the CPU

  OutputsState(std::shared_ptr<const EngineState> of, std::shared_ptr<OutputPool> from)
      : engine(std::move(of)), pool(std::move(from)) {
    const std::lock_guard lock(pool->mutex);
    generation = pool->generation;
    data.swap(pool->spare);
  }
  ~OutputsState() {
    const std::lock_guard lock(pool->mutex);
    if (generation == pool->generation) data.swap(pool->spare);
  }
  OutputsState(const OutputsState&) = delete;
  OutputsState& operator=(const OutputsState&) = delete;
};

}  // namespace vernier::api
