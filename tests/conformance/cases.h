// The cases of the ONNX backend tests: their data, and runs of models on them.
#pragma once

#include <filesystem>
#include <functional>

#include "vernier/engine/engine_on_demand.h"

namespace vernier {

// Runs a model: outputs in the order of the graph.
using Run = std::function<std::vector<Datum>(const NamedData& inputs)>;

// "" or what differs by more than ONNX's own runner allows.
std::string compare(const Datum& actual, const Datum& expected);

std::vector<Datum> outputs_of(const Model& model, const NamedData& results);
// By the engine, which is finished for the first inputs.
Run run_of(const Model& model, const std::shared_ptr<EngineOnDemand>& source);

// As engines are built for the cases; `forced` is a tactic, or "".
BuildOptions build_options(const std::string& forced);

// The folders of a case's data.
std::vector<std::filesystem::path> data_sets_of(const std::filesystem::path& folder);
NamedData read_inputs(const Model& model, const std::filesystem::path& data_set);
// Runs all data sets of a case and compares with what it expects: "" or what is wrong. Throws what a run
// throws.
std::string run_data_sets(const Model& model, const Run& run, const std::filesystem::path& folder);

}  // namespace vernier
