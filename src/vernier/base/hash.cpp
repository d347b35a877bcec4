#include "vernier/base/hash.h"

#include <fmt/format.h>
#ifdef VERNIER_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>  // the widest vectors of the processor, under the same names
#else
#include <xxhash.h>
#endif

#include "vernier/base/vector_state.h"

namespace vernier {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) {
  const uint64_t hash = XXH3_64bits_withSeed(data, size, seed);
  clear_upper_lanes();  // of longer data the library leaves its sums there
  return hash;
}

uint64_t hash_combine(uint64_t a, uint64_t b) {
  const uint64_t both[2] = {a, b};
  return hash_bytes(both, sizeof both);
}

std::string hash_to_text(uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace vernier
