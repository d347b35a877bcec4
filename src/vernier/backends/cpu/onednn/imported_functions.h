// The table of functions that a shared library imports, and changing its entries.
#pragma once

#include <span>
#include <string>

namespace vernier::cpu {

struct Replacement {
  const char* function;  // the imported symbol
  void* by;
};

// Replaces imported functions of the shared library that holds the code at `inside`. All imports whose names
// begin with one of `prefixes` must be among the replacements, and each replacement among the imports. Empty
// if done; else why nothing was changed.
std::string replace_imports(const void* inside, std::span<const char* const> prefixes,
                            std::span<const Replacement> replacements);

}  // namespace vernier::cpu
