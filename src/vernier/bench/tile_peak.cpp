#include "vernier/bench/tile_peak.h"

#include <random>

#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/bench/shortest.h"
#include "vernier/exec/scratch.h"

namespace vernier {

namespace {

// Rows stay in the first cache; weights come from the second, which is fast enough for tiles.
constexpr int64_t kSteps = 64, kRounds = 64, kRowSteps = 4, kPair = 2 * cpu::kTileSize;

// Of bfloat16, those from 1 to 2, of both signs; of bytes any.
void draw(uint16_t* to, int64_t count, bool narrow_floats) {
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<uint16_t>(random());
    to[i] = narrow_floats ? static_cast<uint16_t>((bits & 0x807F) | 0x3F80) : bits;
  }
}

}  // namespace

std::optional<double> tile_flops(ElementType type) {
  const bool bytes = type == ElementType::kUint8 || type == ElementType::kInt8;
  if (!cpu::has_bf16_tiles() || (!bytes && type != ElementType::kBFloat16)) return std::nullopt;
  const auto numbers = type == ElementType::kBFloat16 ? cpu::TileNumbers::kBFloat16
                       : type == ElementType::kUint8  ? cpu::TileNumbers::kUint8
                                                      : cpu::TileNumbers::kInt8;
  Scratch scratch;
  auto* rows = reinterpret_cast<uint16_t*>(scratch.at_least((kRowSteps + kSteps) * kPair * sizeof(uint16_t)));
  uint16_t* weights = rows + kRowSteps * kPair;
  draw(rows, (kRowSteps + kSteps) * kPair, !bytes);
  std::array<int64_t, kSteps> steps;
  for (int64_t i = 0; i < kSteps; ++i) steps[static_cast<size_t>(i)] = i % kRowSteps * kPair;
  const int64_t threads = thread_count();
  const double seconds = shortest([&] {
    cpu::parallel(threads, 1, [&](int64_t first, int64_t last) {
      const cpu::TileScope tiles;
      alignas(64) std::array<float, cpu::kBlockRows * cpu::kBlockColumns> sums;
      for (int64_t round = 0; round < (last - first) * kRounds; ++round)
        cpu::multiply_block({1, true, true, numbers},
                            {rows, cpu::kChunk * 2, steps.data(), kSteps, 0, weights, sums.data()});
    });
  });
  const double depth = bytes ? 64 : 32;
  return 2 * cpu::kBlockRows * cpu::kBlockColumns * depth * kSteps * kRounds * static_cast<double>(threads) /
         seconds;
}

}  // namespace vernier
