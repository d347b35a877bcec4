// 64-bit content hashing (XXH3). Equal input gives equal hashes on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vernier {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0);
inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(text.data(), text.size(), seed);
}
// Order-dependent combination of two hashes.
uint64_t hash_combine(uint64_t a, uint64_t b);
// 16 lower-case hexadecimal digits.
std::string hash_to_text(uint64_t hash);

}  // namespace vernier
