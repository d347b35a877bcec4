// The kernel of the recurrent operators, from a description of one.
#pragma once

#include "vernier/backends/cpu/gemm/tile_rows.h"
#include "vernier/backends/cpu/recurrent/recurrent_cells.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/backends/shared/recurrent/recurrent_layer.h"

namespace vernier::cpu {

struct RecurrentPlan : RecurrentLayer {
  std::string node = {};  // named in errors
  int64_t chunks = 1;     // of sequences, each of which walks through time together
  std::vector<std::vector<CellActivation>> cell_activations = {};                       // of each direction
  int bias = -1, lengths = -1, initial_hidden = -1, initial_cell = -1, peepholes = -1;  // inputs; -1: none
  std::array<int, 3> outputs = {-1, -1, -1};  // Y, Y_h, Y_c; -1: not wanted
  // An input whose elements say which of the `words` rows of a table each row of X is, in the order of X's
  // first two axes or the other way round; -1: X is an input.
  int ids = -1;
  ElementType ids_type = ElementType::kUndefined;
  bool ids_swapped = false;
  int64_t words = 0;
};

// Holds what is known when the kernel is made; null where it comes at run time.
struct RecurrentConstants {
  const Tensor *input_weights, *recurrent_weights, *bias;
  const Tensor* table = nullptr;  // of floats, where the plan has `ids`; all others are known then
};

// The products on tiles, one of each direction; those that are empty are computed by panels of floats.
struct RecurrentTiles {
  std::string tactic;  // what it is called
  std::vector<TileRows> input, recurrent, candidate;

  void prepare() const;
  bool are_prepared() const;
  // Gives the floats that one of these products works in.
  static int64_t area(const std::vector<TileRows>& products) {
    return products.empty() ? 0 : products[0].area() / 2;
  }
};
// So many sequences are a chunk at most.
inline constexpr int64_t kTileSequences = 16;

// Inputs 0 to 2 are X, W and R, unless all weights are known.
std::unique_ptr<Kernel> make_recurrent(RecurrentPlan plan, const RecurrentConstants& constants,
                                       RecurrentTiles tiles);

}  // namespace vernier::cpu
