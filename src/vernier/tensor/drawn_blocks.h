// Random numbers drawn side by side: blocks of elements, each from a seed of its own. The same seed gives the
// same numbers, however many threads draw them.
#pragma once

#include <cstdint>
#include <span>

#include "vernier/base/threads.h"

namespace vernier {

// A generator as the distributions of <random> take them: as good as noise needs, and faster than they are.
class SplitMix64 {
 public:
  using result_type = uint64_t;
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() {
    uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

 private:
  uint64_t state_;
};

// Small enough that the cores share a tensor, large enough that a seed costs nothing.
inline constexpr size_t kDrawnBlock = 1 << 13;

inline size_t block_count(size_t elements) {
  return (elements + kDrawnBlock - 1) / kDrawnBlock;
}

// Calls body(block, elements of it).
template <class T, class Body>
void for_each_block(std::span<T> values, const Body& body) {
  parallel_for(static_cast<int64_t>(block_count(values.size())), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      body(i, values.subspan(i * kDrawnBlock, std::min(kDrawnBlock, values.size() - i * kDrawnBlock)));
  });
}

// Calls body(elements, generator) block by block.
template <class T, class Body>
void draw_blocks(std::span<T> values, uint64_t seed, const Body& body) {
  for_each_block(values, [&](size_t block, std::span<T> part) {
    SplitMix64 own(seed ^ SplitMix64(block)());
    body(part, own);
  });
}

}  // namespace vernier
