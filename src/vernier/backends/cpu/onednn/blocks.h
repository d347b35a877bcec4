// How a descriptor of oneDNN lays out its elements: outer blocks by strides, and within one the inner blocks.
#pragma once

#include <dnnl.hpp>

namespace vernier::cpu {

struct Blocks {
  dnnl::memory::dims strides, padded, inner_sizes, inner_axes;
  bool known = false;     // whether oneDNN tells how the elements lie
  bool elements = false;  // and nothing else is kept with them
};

Blocks blocks_of(const dnnl::memory::desc& descriptor);

}  // namespace vernier::cpu
