// A part of the samples: those whose place, counted in rounds, is this one.
#pragma once

#include <cstddef>
#include <string>

namespace vernier {

struct Shard {
  size_t index = 1, count = 1;  // from 1 to count

  bool holds(size_t sample) const { return sample % count == index - 1; }
  bool is_whole() const { return count == 1; }
};

// "2/7", or "slurm" for the task of an array that SLURM started (SLURM_ARRAY_TASK_ID, _MIN and _COUNT).
// Throws usage_error.
Shard parse_shard(const std::string& text);

}  // namespace vernier
