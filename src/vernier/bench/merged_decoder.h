// A decoder in whose file there are two, as Optimum merges them: the branches of an If, one for the first
// run, without a past, and one with it. An input chooses. Internal to the room.
#pragma once

#include <optional>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

struct MergedDecoder {
  struct Handed {
    size_t input, output;  // in the order of the graph
  };

  size_t chooses = 0;                       // the input of one bool
  bool with_past = true;                    // what it holds where there is a past
  std::vector<const Value*> presents = {};  // by output of the graph: what the branch with the past makes
  // Of what an encoder made: the first run makes it, and later ones read it as it is.
  std::vector<Handed> handed = {};
};

// Nothing where no input of one bool chooses a branch that puts rows behind those of another input.
std::optional<MergedDecoder> find_merged_decoder(const Graph& graph);

}  // namespace vernier
