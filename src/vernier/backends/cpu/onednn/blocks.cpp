#include "vernier/backends/cpu/onednn/blocks.h"

namespace vernier::cpu {

#if DNNL_VERSION_MAJOR >= 3

Blocks blocks_of(const dnnl::memory::desc& descriptor) {
  Blocks blocks;
  blocks.padded = descriptor.get_padded_dims();
  if (descriptor.get_format_kind() != dnnl::memory::format_kind::blocked) return blocks;
  blocks.strides = descriptor.get_strides();
  blocks.inner_sizes = descriptor.get_inner_blks();
  blocks.inner_axes = descriptor.get_inner_idxs();
  blocks.known = blocks.elements = true;
  return blocks;
}

#else

Blocks blocks_of(const dnnl::memory::desc& descriptor) {
  const auto& data = descriptor.data;
  const auto list = [](const dnnl_dim_t* first, int count) {
    return dnnl::memory::dims(first, first + count);
  };
  Blocks blocks;
  blocks.padded = list(data.padded_dims, data.ndims);
  if (data.format_kind != dnnl_blocked) return blocks;
  const auto& from = data.format_desc.blocking;
  blocks.strides = list(from.strides, data.ndims);
  blocks.inner_sizes = list(from.inner_blks, from.inner_nblks);
  blocks.inner_axes = list(from.inner_idxs, from.inner_nblks);
  blocks.known = true;
  blocks.elements = data.extra.flags == 0;
  return blocks;
}

#endif

}  // namespace vernier::cpu
