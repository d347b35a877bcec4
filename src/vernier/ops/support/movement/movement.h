// Moves elements without looking at them. The kernels are compiled once per storage size, not per element
// type, and serve tensors and the integer content that inference follows alike.
#pragma once

#include <span>
#include <vector>

#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/tensor/tensor.h"

namespace vernier::ops {

// Sixteen bytes that are only ever copied.
struct Bits128 {
  uint64_t low = 0, high = 0;
};

// Calls f(TypeTag<T>{}) with a type as wide as an element of `stored` in memory.
template <class F>
decltype(auto) visit_storage(ElementType stored, F&& f) {
  if (stored == ElementType::kString) return f(TypeTag<std::string>{});
  switch (element_size(stored)) {
    case 1: return f(TypeTag<uint8_t>{});
    case 2: return f(TypeTag<uint16_t>{});
    case 4: return f(TypeTag<uint32_t>{});
    case 8: return f(TypeTag<uint64_t>{});
    case 16: return f(TypeTag<Bits128>{});
  }
  throw internal_error("element type {} has no storage", element_type_name(stored));
}

// Where the elements of an index space lie in a buffer: (i, j, …) at offset + i * strides[0] + j * strides[1]
// + …
struct Placement {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};
inline Placement dense(const Dims& dims) {
  return {0, strides_of(dims)};
}

// Copies an index space of these sizes from one placement to another. Both buffers are of one type; the
// caller guarantees that every placed element is inside.
void copy_placed(const Tensor& from, const Placement& source, Tensor& to, const Placement& target,
                 const Dims& sizes);
void copy_placed(const std::vector<Dim>& from, const Placement& source, std::vector<Dim>& to,
                 const Placement& target, const Dims& sizes);

// to[i * block …] = from[offsets[i] …], `block` elements each.
void gather_blocks(const Tensor& from, std::span<const int64_t> offsets, int64_t block, Tensor& to);
void gather_blocks(const std::vector<Dim>& from, std::span<const int64_t> offsets, int64_t block,
                   std::vector<Dim>& to);

// to[offsets[i] …] = from[i * block …], in order: of equal offsets the last wins.
void scatter_blocks(const Tensor& from, std::span<const int64_t> offsets, int64_t block, Tensor& to);
void scatter_blocks(const std::vector<Dim>& from, std::span<const int64_t> offsets, int64_t block,
                    std::vector<Dim>& to);

// Every element of `to` becomes the one element of `value`, which is of the same type.
void fill(Tensor& to, const Tensor& value);

// The tensor in another storage type. In ideal mode an operator may meet rounded and unrounded inputs side by
// side.
Tensor stored_as(const Tensor& tensor, ElementType type);

// `index` in [-size, size) made non-negative; throws bad_input otherwise.
inline int64_t normalize_index(int64_t index, int64_t size) {
  if (index < -size || index >= size) throw bad_input("index {} is outside of an axis of {}", index, size);
  return index < 0 ? index + size : index;
}

// OpDef::flops of operators that only move elements.
inline double no_flops(const Node&, const std::vector<Dims>&, const std::vector<Dims>&) {
  return 0;
}

}  // namespace vernier::ops
