// A program that runs Vernier as a child process is told of its progress: JSON objects, one a line.
//
//   {"event": "stage", "name": "sample 3: onnxruntime", "done": 6, "steps": 20}     steps: null where it is
//   not known
//   {"event": "error", "code": "bad_input", "message": "…", "file": "…", "node": "…", "advice": "…"}
#pragma once

#include <optional>
#include <string>

#include "vernier/base/error.h"

namespace vernier {

// From now on what happens is told to this open file descriptor. Throws a usage error if it is not open.
void tell_events_to(int descriptor);

// A stage begins, when `done` of `steps` have ended.
void tell_stage(const std::string& name, size_t done, std::optional<size_t> steps);
// "usage", "bad_input", "unsupported" or "internal".
const char* error_code_name(ErrorCode code);
// The command ends by this error.
void tell_error(const Error& error);

}  // namespace vernier
