// A model that takes a past and yields it longer, run token by token, as text is generated with it.
#pragma once

#include <functional>

#include "vernier/bench/merged_decoder.h"
#include "vernier/engine/engine.h"

namespace vernier {

// Which inputs hold what came before, and what sizes follow from how much that is. Of two decoders that are
// merged it is the one with a past.
class DecoderSizes {
 public:
  struct Cache {
    size_t input, output;  // in the order of the graph
  };
  using Sizes = std::map<std::string, Dims>;  // by input

  // Reads a graph whose types were inferred. A cache is an input […, rows, size] that the node reads which
  // makes an output of more rows. `given` are sizes of symbols. Of others, those that caches have beside
  // their rows, batches, are 1. Throws unsupported where no input is a cache, or no size tells how many rows
  // there are, or how many come.
  DecoderSizes(const Graph& graph, SymbolValues given);

  const std::vector<Cache>& caches() const { return caches_; }
  // Set where the graph holds a decoder without a past beside the one with it.
  const std::optional<MergedDecoder>& merged() const { return merged_; }
  // Inputs of integers or flags along all rows together: masks, by which every row is attended.
  const std::vector<size_t>& masks() const { return masks_; }
  // Whether a run adds one row always, a prompt's, too.
  bool takes_one_row() const { return added_.empty(); }
  // Gives the sizes of all inputs for `added` rows behind `past` ones.
  Sizes at(int64_t past, int64_t added) const;

 private:
  void find_caches();
  void find_rows();
  bool adds_by(const std::string& symbol) const;
  void settle_other_sizes();
  void find_masks();
  std::set<std::string> free_symbols() const;
  bool takes(const Sizes& sizes) const;

  const Graph& graph_;
  SymbolValues given_;
  std::optional<MergedDecoder> merged_;
  std::vector<const Value*> presents_;  // by output: what tells how many rows it has
  std::vector<Cache> caches_;
  std::vector<size_t> masks_;
  std::string past_,
      added_;  // the symbols of the rows that are there and of those that come; empty: one comes
};

struct DecodingOptions {
  int64_t prompt = 16, tokens = 96;  // rows of the prompt, and of one each that follow
};

struct DecodingTimes {
  std::vector<double> prompt, tokens;  // seconds of each run
};

struct DecodingResult {
  DecodingTimes first, again;       // with sizes that the engine has not seen, and the same once more
  size_t caches = 0, appended = 0;  // those among them behind whose rows the new ones are put, without a copy
};

// Runs a prompt and the tokens behind it, twice. `draw` gives data of these sizes, of which those of caches
// do not count. Throws what sessions throw.
DecodingResult time_decoding(const std::shared_ptr<const Engine>& engine, const DecoderSizes& sizes,
                             const DecodingOptions& options,
                             const std::function<NamedData(const DecoderSizes::Sizes&)>& draw);

}  // namespace vernier
