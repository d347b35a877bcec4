// Weights in pieces of bfloat16 (split_bf16.h), written straight into the blocks that a product reads.
#pragma once

#include <dnnl.hpp>
#include <span>

namespace vernier::cpu {

// `from` lies as `as_is` says. `wanted` has, along `axis`, as many times its size as there are `pieces`; each
// names one of the results of split_rows. False, and nothing is written, where `wanted` has no blocks of
// pairs along `axis`, or the weights do not fill its blocks.
bool pack_pieces(const float* from, const dnnl::memory::desc& as_is, int axis,
                 const dnnl::memory::desc& wanted, std::span<const int64_t> pieces, std::byte* to);

}  // namespace vernier::cpu
