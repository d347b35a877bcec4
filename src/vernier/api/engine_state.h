#pragma once

#include "vernier/engine/file/engine_io.h"
#include "vernier/vernier.h"

namespace vernier::api {

struct EngineState {
  std::shared_ptr<Engine> engine;
  std::vector<v1::TensorInfo> inputs, outputs;
  v1::BuildReport report;
};

std::shared_ptr<const EngineState> describe(std::shared_ptr<Engine> engine, v1::BuildReport report);

// Builds the model as the options say. `notes` are those of the import.
std::shared_ptr<const EngineState> build(const Model& model, const v1::BuildOptions& options,
                                         std::vector<std::string> notes);
std::shared_ptr<const EngineState> load(const std::filesystem::path& path);

}  // namespace vernier::api
