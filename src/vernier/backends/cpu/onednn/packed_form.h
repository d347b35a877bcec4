// How oneDNN packed a constant, as text: the name of the form in PackedConstants, and enough to undo it.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <span>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier::cpu {

// How a descriptor of oneDNN lays out its elements: outer blocks by strides, and within one the inner blocks.
struct Blocks {
  dnnl::memory::dims strides, padded, inner_sizes, inner_axes;
  bool known = false;     // whether oneDNN tells how the elements lie
  bool elements = false;  // and nothing else is kept with them
};

Blocks blocks_of(const dnnl::memory::desc& descriptor);

// `as_is` says how the elements of the constant lie, `packed` how they are to. Nothing for formats whose
// inside oneDNN does not tell (Winograd weights).
std::string packed_form(const dnnl::memory::desc& as_is, const dnnl::memory::desc& packed);

// The same for a layout of our own. An element lies at the sum, over the axes, of what its block has to go
// (`strides`) and of its place in the block: inner blocks, outer ones first, are of `inner_sizes` elements of
// `inner_axes`.
struct BlockedLayout {
  ElementType type;
  Dims sizes, source_strides, padded, strides, inner_sizes, inner_axes;
  size_t bytes;
};
std::string packed_form(const BlockedLayout& layout);

// Whether the form holds every bit of the constant, in places that are known.
bool holds_constant(const std::string& form);

// The constant again. Nothing if the form does not hold every bit of it. Throws bad_input if the text is no
// form, or not one of these bytes.
std::optional<Tensor> unpack_form(const std::string& form, std::span<const std::byte> packed,
                                  ElementType element, const Dims& dims);

}  // namespace vernier::cpu
