// Operands that lie in caches (Layout::kCache).
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

// The inputs that lie in caches now.
std::vector<size_t> caches_of(const KernelRequest& request);

// Whether the output is made in the memory of the input, behind its rows: they are there and need no copy.
bool lies_behind(const KernelRequest& request, size_t output, size_t input);

// Lets the result of a Concat lie behind its first input, where that is one of `caches`.
void lay_out_concat_caches(KernelRequest& request, std::span<const size_t> caches);

}  // namespace vernier
