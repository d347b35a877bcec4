// Kernels that multiply int8 as pairs of int16 (pair_block.h): matrices and convolutions by constant
// weights, and matrices that are all known only when they run.
#pragma once

#include "vernier/backends/cpu/epilogue/block_epilogue.h"
#include "vernier/backends/cpu/int8_gemm/pair_block.h"
#include "vernier/backends/cpu/onednn/integer_matmul_kernel.h"
#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Constant int8 weights that every row is multiplied with: for each group, a matrix [depth, columns] by taps,
// then channels. The taps are in segments, behind each of which lies a 0 if its depth is odd.
struct PairWeights {
  int64_t groups = 1, columns = 0, channels = 0, taps = 1;  // of a group
  // Elements of the tensor from a group, column, channel and tap to the next.
  int64_t group_stride = 0, column_stride = 0, channel_stride = 0, tap_stride = 0;
  int64_t segments = 1;
  bool in_lines = false;  // whether a segment is what a window has of a line of the image (pair_lines.h)
  // Taken off each weight: one, or one for each column of all groups; empty: 0.
  std::vector<int32_t> zero_points = {};

  static PairWeights of_matrix(int64_t depth, int64_t columns, bool transposed);
  static PairWeights of_convolution(const ops::Convolution& convolution);

  int64_t depth() const { return taps * channels; }
  int64_t segment_depth() const { return depth() / segments; }
  int64_t pairs() const { return segments * pairs_of(segment_depth()); }
  int64_t group_size() const { return pair_panels_size(2 * pairs(), columns); }  // int16
  // One less its zero point, by its group, its column of that, and its place in the depth.
  int32_t weight(const Tensor& weights, int64_t group, int64_t column, int64_t k) const;
  // Says all that weights packed so depend on, but their content.
  std::string form(std::string_view kind) const;
};

// Shared with all kernels of the engine that want the same.
std::shared_ptr<const PackedForm> pack_pair_weights(const KernelRequest& request, const Tensor& weights,
                                                    const PairWeights& order);

// Describes what the rows of a product are made of. The zero point is known, or an int32 that input
// `zero_input` has.
struct PairRows {
  int input = 0;
  bool is_signed = false;
  int32_t zero_point = 0;
  int zero_input = -1;

  // Describes a source of so many bytes.
  Int8Source source(const KernelArguments& arguments, int64_t bytes) const;
};

struct PairRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
  // About equal parts of it.
  PairRange part(int64_t index, int64_t count) const {
    return {begin + size() * index / count, begin + size() * (index + 1) / count};
  }
};

// The output has the columns of all groups, row by row. What a row comes to depends on nothing else.
std::unique_ptr<Kernel> make_pair_contraction(const PairRows& rows, const PairWindows& windows,
                                              const PairWeights& order,
                                              std::shared_ptr<const PackedForm> weights,
                                              std::unique_ptr<const BlockEpilogue> epilogue,
                                              const NumericsContract& contract);

// Matrices of inputs a and b; those of b may be transposed.
struct PairBatches {
  Matrices matrices;
  PairRows a, b;
  bool transposed = false;
};
std::unique_ptr<Kernel> make_pair_batches(PairBatches work, std::unique_ptr<const BlockEpilogue> epilogue,
                                          const NumericsContract& contract);

}  // namespace vernier::cpu
