// Writes what `check` shows.
#pragma once

#include <string>
#include <vector>

#include "vernier/check/check.h"

namespace vernier {

std::string check_text(const std::string& file, const std::vector<Finding>& findings);
// Schema "vernier-check", version 1.
std::string check_json(const std::string& file, const std::vector<Finding>& findings);

}  // namespace vernier
