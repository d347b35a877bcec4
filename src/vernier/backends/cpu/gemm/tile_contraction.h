// Products and convolutions of floats, bfloat16 or int8 by constant weights as blocks of tiles.
#pragma once

#include <optional>

#include "vernier/backends/cpu/convolution/tile_image.h"
#include "vernier/backends/cpu/epilogue/block_epilogue.h"
#include "vernier/backends/cpu/gemm/packed_tiles.h"
#include "vernier/backends/cpu/gemm/tile_walk.h"

namespace vernier::cpu {

// The tactics: floats in two and in three terms, of which the second is as exact as accumulating floats; and
// bfloat16 and int8 as they are.
inline constexpr const char *kTwoTerms = "bf16x3", *kThreeTerms = "bf16x6", *kOneTerm = "tiles",
                            *kInt8Tiles = "int8-tiles";

// How the request's tactic has numbers of this type in tiles; nothing if it is another one.
std::optional<TileFormat> tile_format(const KernelRequest& request, ElementType element);
// The tactics of this processor for so many rows of such weights; none where tiles would be mostly empty.
std::vector<std::string> tile_tactics(ElementType element, int64_t rows, const WeightOrder& order);

// Says what splitting floats into the numbers of the tiles does to products.
void split_operands(const TileFormat& format, NumericsContract& contract);

struct TileWork {
  TileImage image;
  WeightOrder order;
  int input = 0, weights = 1, bias = -1;  // of the request; the last two are constants
  double flops = 0;
  std::optional<Tensor> own_weights = {};  // instead of the request's, in another order
};

std::unique_ptr<Kernel> make_tile_kernel(const TileWork& work, std::shared_ptr<const PackedForm> weights,
                                         std::unique_ptr<const BlockEpilogue> epilogue,
                                         const NumericsContract& contract);
// Multiplies floats and bfloat16. Gives nothing, with `reason`, for an epilogue that rows cannot be finished
// with. Axis `columns_axis` of the output is the columns'.
std::unique_ptr<Kernel> make_tile_contraction(const KernelRequest& request, const Fused& fused,
                                              const TileWork& work, size_t columns_axis, std::string& reason);

}  // namespace vernier::cpu
