// Engine files: what was built, so that loading it builds nothing. docs/engine-file.md describes them.
#pragma once

#include <filesystem>

#include "vernier/engine/engine.h"
#include "vernier/engine/file/manifest.h"

namespace vernier {

struct SaveOptions {
  std::string model_name, model_hash;
  std::map<std::string, std::string> options;  // of the build, for those who read the file
  std::optional<Certificate> certificate;      // see Manifest
  bool strip_weights = false;                  // leave out what can be had from the model again
};

// Writes the engine with all plans it has prepared. Atomic: a reader sees the old file or the new. Throws
// usage_error for an engine with a fault in it.
void save_engine(const Engine& engine, const std::filesystem::path& path, const SaveOptions& options);

struct LoadedEngine {
  std::shared_ptr<const Engine> engine;
  Manifest manifest;
};

// Maps the file; nothing is packed or copied, and no plan is made: the first run at its sizes does, and
// throws unsupported if it is not the one that was built. What a processor computes by machine code of its
// own, and the forms of constants that the file does not have, are made by that run, too. Throws bad_input
// for a file that is damaged or no engine, unsupported for one that was built for another processor, by other
// libraries, for accelerators that this build has no drivers for or others, or that has no weights.
LoadedEngine load_engine(const std::filesystem::path& path);

// Reads what the file says, without making an engine of it: works for files of other machines, too.
Manifest read_manifest(const std::filesystem::path& path);

}  // namespace vernier
