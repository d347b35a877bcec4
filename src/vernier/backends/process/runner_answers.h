// The answers of a runner, parsed strictly: docs/runner-protocol.md. Internal to the room.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/base/error.h"
#include "vernier/ir/graph.h"

namespace vernier {

inline constexpr const char* kRunnerProtocol = "vernier-runner/1";

struct HelloAnswer {
  std::string engine, version;
  std::vector<std::string> capabilities;
  std::map<std::string, std::string> description;
};

struct LoadAnswer {
  std::map<std::string, std::string> description;
  std::vector<std::string> notes;
};

struct RunAnswer {
  std::vector<std::string> outputs;  // the names in the file
  std::vector<std::string> notes;
  double seconds = 0;         // of the engine alone; 0: not measured
  std::vector<double> times;  // of each run of a request with "repeat"
};

// The line as an answer to request `id`. This and what follows throw bad_input, with messages that begin with
// a verb.
nlohmann::json parse_answer(std::string_view line, int64_t id);
// Throws unsupported when the runner speaks another version.
HelloAnswer hello_answer(const nlohmann::json& answer);
LoadAnswer load_answer(const nlohmann::json& answer);
RunAnswer run_answer(const nlohmann::json& answer);
// The error that an answer reports, if it is one, its message behind `prefix`.
std::optional<Error> error_in(const nlohmann::json& answer, const std::string& prefix);

// The beginning of what a process sent, quoted and fit for a message.
std::string excerpt(std::string_view line);

// These functions compare what a foreign runner returned with what it was asked for. Internal to the room.

// Throws bad_input unless `answered` and `stored` name the same values, every output of the model among them
// and nothing that is neither an output nor in `taps`. Without a model only the first is checked.
void check_names(const std::vector<std::string>& answered, const std::vector<std::string>& stored,
                 const Model* model, const std::vector<std::string>& taps);

// Throws bad_input unless `datum` is of the declared kind, element type, rank and constant sizes, as far as
// they are known.
void check_type(const std::string& name, const Datum& datum, const ValueType& declared);

}  // namespace vernier
