// A folder that shows what is wrong with an engine, with Vernier or without it.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/reduce/reduce.h"

namespace vernier {

// How the engine is run without Vernier.
struct ReproEngine {
  enum class Kind : uint8_t {
    kVernier,      // it is an engine of Vernier's: nobody else can run it, but what it made is recorded
    kOnnxRuntime,  // in the process of the script
    kProtocol,     // a program that speaks docs/runner-protocol.md
  };
  Kind kind = Kind::kVernier;
  std::string name;
  std::string command;  // kProtocol
  std::map<std::string, std::string>
      options;           // kProtocol: of the runner; kOnnxRuntime: provider, optimisation
  double timeout = 600;  // seconds
  int threads = 0;
  std::string folder;  // in which the command makes sense; empty: wherever the script is started
};

struct ReproFiles {
  Symptom symptom;
  NamedData inputs, expected, actual;
  std::map<std::string, Tolerance> tolerances;
  std::string against;  // the runner that made what is expected
  ReproEngine engine;
  // Arguments of `vernier run` behind the model and the data, as a shell reads them.
  std::string arguments;
  std::map<std::string, std::map<std::string, std::string>> versions;  // by runner, and "vernier"
};

// Makes the folder, and says whether it was not there. Throws usage_error unless it can be made, or is there
// and holds files of a repro only. `model` is read by the command and must lie elsewhere.
bool prepare_repro_folder(const std::filesystem::path& folder, const std::filesystem::path& model);

// Writes model.onnx, inputs, expected and actual outputs, README.md, command.sh and repro.py. Gives the names
// of what was written. Tensors go into .npz files; where a value is no tensor, all go into .safetensors
// files, and there is no repro.py.
std::vector<std::string> write_repro_folder(const std::filesystem::path& folder, const Reduction& reduction,
                                            const ReproFiles& files);

// repro.py: a script that shows the symptom without Vernier. Internal to the room.

// Its text. It needs Python and numpy, and what the engine needs. Exit status 1: the symptom is there; 0: it
// is not.
std::string repro_script(const ReproFiles& files);

}  // namespace vernier
