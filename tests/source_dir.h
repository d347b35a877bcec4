#pragma once

#include <filesystem>

namespace vernier::test {

// The checkout that the tests were built from: what they read of it, and of the folders beside it.
std::filesystem::path source_dir();

}  // namespace vernier::test
