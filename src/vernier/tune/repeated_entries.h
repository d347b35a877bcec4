// A large batch is tried on a few entries that repeat: whatever a kernel makes of one of them, it must make
// of each that is the same.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

// How many entries are drawn; nothing where all are, because they are few, or not known to be independent.
std::optional<int64_t> drawn_entries(const KernelRequest& request);

// The request at so many entries.
KernelRequest with_entries(const KernelRequest& request, int64_t entries);

// So many entries of a tensor as it lies in memory, the first one again after its last.
Tensor repeated(const Tensor& tensor, int64_t entries);

// Part `chunk` of a tensor that is made of chunks of so many entries; what the last chunk lacks is that of
// the first.
Tensor chunk_of(const Tensor& tensor, int64_t entries, int64_t chunk);
// The chunks that are not the first one again, and the first.
std::vector<int64_t> different_chunks(const std::vector<Tensor>& tensors, int64_t entries);

}  // namespace vernier
