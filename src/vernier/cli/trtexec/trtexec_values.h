// How trtexec writes the values of its options. All throw usage_error, naming the option.
#pragma once

#include "vernier/cli/trtexec/trtexec_command.h"

namespace vernier {

// "90,95,99", each from 0 to 100.
std::vector<double> trtexec_percentiles(const std::string& text);

// Adds "x:1x3x224x224,'y':4"; sizes of an input that has some already replace them.
void add_sizes(SizeTexts& to, const std::string& option, const std::string& text);

// "'a':fp32,*:fp16" as --layer-precisions takes it: trtexec's * stands for the layers that no other part
// names, wherever it stands; ours is overruled by what follows it.
std::string layer_types(const std::string& option, const std::string& text);

// "x:a.bin,y:b.bin" as NAME=FILE.
CommandWords input_files(const std::string& text);

// Formats of inputs or outputs, "fp32:chw,fp16:chw16". Throws unsupported for any but fp32:chw.
void require_plain_formats(const std::string& text);

// The part of --memPoolSize that is the workspace, as --workspace takes it; "" without one.
std::string workspace_of_pools(const std::string& text);

}  // namespace vernier
