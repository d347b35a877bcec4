// Partial results as files, and what they make together.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "vernier/evaluate/evaluation.h"

namespace vernier {

// Schema "vernier-evaluation-part", version 1. Nothing in it depends on time.
std::string part_json(const EvaluationPart& part);
// Throws bad_input for what is no such text.
EvaluationPart parse_part(std::string_view text);
EvaluationPart read_part(const std::filesystem::path& file);

struct NamedPart {
  std::string file;  // for messages
  EvaluationPart part;
};

// All samples in their order. Throws bad_input, naming the file, where a shard is missing or there twice,
// where one is of another model, data, options or build, and where a sample is missing. What is different of
// the machines is kept in the environment.
EvaluationPart merge_parts(std::vector<NamedPart> parts);

}  // namespace vernier
