// How the elements of a tensor lie in memory. No part of its type: a layout is given to a value by the
// engine, and what crosses the border of an engine is always plain.
#pragma once

#include <string_view>

#include "vernier/tensor/tensor_type.h"

namespace vernier {

enum class Layout : uint8_t {
  kPlain,         // row-major, as ONNX
  kChannelsLast,  // [n, c, spatial…] stored as [n, spatial…, c]
  kBlocked16,     // [n, c, spatial…] stored as [n, ceil(c/16), spatial…, 16], the tail of channels zero
  kCache,         // […, rows, size] row-major, with room for more rows behind those of each […]
};

inline std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::kChannelsLast: return "channels-last";
    case Layout::kBlocked16: return "blocked-16";
    case Layout::kCache: return "cache";
    default: return "plain";
  }
}

// Sizes in the order of memory; `capacity` of a cache is in rows.
inline Dims physical_dims(const Dims& dims, Layout layout, int64_t capacity = 0) {
  if (layout == Layout::kCache) {
    Dims whole = dims;
    whole.at(whole.size() - 2) = capacity;
    return whole;
  }
  if (layout == Layout::kPlain || dims.size() < 3) return dims;
  Dims result{dims[0]};
  if (layout == Layout::kBlocked16) result.push_back((dims[1] + 15) / 16);
  result.insert(result.end(), dims.begin() + 2, dims.end());
  result.push_back(layout == Layout::kBlocked16 ? 16 : dims[1]);
  return result;
}

}  // namespace vernier
