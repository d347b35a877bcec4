// The data of a search: a part that plans are chosen on, and a part that they are confirmed on.
#pragma once

#include "vernier/data/data_source.h"
#include "vernier/ir/graph.h"
#include "vernier/search/prober.h"

namespace vernier {

struct TuningData {
  std::vector<Sample> samples;              // in the order of the data, as the rows of labels are
  std::vector<size_t> selection, held_out;  // indices, in the order in which they are run
  NamedData timed;                          // inputs of the first sample as it was given: what is timed
  std::vector<std::string> notes;
  bool random = false;  // all of it was drawn

  std::vector<size_t> part(DataPart part) const;
};

struct SplitOptions {
  double held_out = 0.5;  // the share of the samples
  uint64_t seed = 1;      // of which
};

// Reads all samples. Few samples whose rows the model treats each for itself, as the reference shows, are cut
// into up to 16 each. Throws bad_input where there are not two samples then.
TuningData read_tuning_data(const Model& model, DataSource& source, const SplitOptions& options);

// Rows [first, last) of every input, where the first dimension of all inputs and outputs is one name; nothing
// where it is not.
std::optional<NamedData> rows_of(const Model& model, const NamedData& inputs, int64_t first, int64_t last);

// Hash of all inputs.
uint64_t hash_of(const TuningData& data);

}  // namespace vernier
