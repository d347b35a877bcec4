// The files that a command line names: what is read, and what is written.
#pragma once

#include <CLI/CLI.hpp>

#include "vernier/onnx/import.h"

namespace vernier {

// Throws usage_error, naming both options, where a file that the command writes is one that it reads, also by
// way of links, or another one that it writes. To be asked once all options are parsed, before anything is
// done.
void require_files_apart(const CLI::App& verb);

// Imports a model that the command line names. Throws usage_error, too, where the command writes a file that
// weights of the model are read from.
ImportedModel open_model(const std::string& path, UnknownOperators unknown = UnknownOperators::kRefuse);

}  // namespace vernier
