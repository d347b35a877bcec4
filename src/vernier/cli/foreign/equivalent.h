// The commands of Vernier that a command line of another tool stands for.
#pragma once

#include "vernier/cli/foreign/foreign_options.h"
#include "vernier/cli/verb.h"

namespace vernier {

// As a shell reads it: "vernier build m.onnx -o m.engine && vernier bench m.engine".
std::string shell_text(const std::vector<CommandWords>& commands);
// One line "equivalent: …" unless there are no commands, and one for each note.
std::string equivalent_text(const std::vector<CommandWords>& commands, const std::vector<std::string>& notes);

// Runs them one after the other inside this process, up to the first whose exit status is not 0; gives its
// status. Throws what they throw.
int run_commands(std::vector<CommandWords> commands, const CommandObserver* observer = nullptr);

// "x:1x3x224x224,y:4" as trtexec and Vernier write sizes; names may stand in quotes, which are taken off.
// Throws usage_error.
std::vector<std::pair<std::string, std::string>> split_sizes(const std::string& text);

}  // namespace vernier
