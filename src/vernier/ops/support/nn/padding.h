// The pads of Pad and what its modes show there.
#pragma once

#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

// Elements added (removed where negative) at both ends of each axis.
template <class Size>
struct Pads {
  std::vector<Size> before, after;
};

template <class Size>
Pads<Size> pads_by_axis(size_t rank, const std::vector<Size>& pads,
                        const std::optional<std::vector<int64_t>>& axes) {
  const size_t count = axes ? axes->size() : rank;
  if (pads.size() != 2 * count) throw bad_input("{} pads do not fit {} axes", pads.size(), count);
  Pads<Size> result{std::vector<Size>(rank, Size(0)), std::vector<Size>(rank, Size(0))};
  for (size_t i = 0; i < count; ++i) {
    const size_t axis =
        axes ? static_cast<size_t>(normalize_axis((*axes)[i], static_cast<int64_t>(rank))) : i;
    result.before[axis] = pads[i];
    result.after[axis] = pads[count + i];
  }
  return result;
}

// Before opset 11 the pads are an attribute; com.microsoft has the operator of opset 11.
inline bool pads_are_inputs(const Node& node) {
  return node.version >= 11 || node.domain == "com.microsoft";
}
inline std::vector<int64_t> attribute_pads(const Node& node) {
  return node.attribute<std::vector<int64_t>>(node.version < 2 ? "paddings" : "pads", {});
}

inline std::string pad_mode(const Node& node) {
  return node.attribute<std::string>("mode", "constant");
}

// One axis: what is left of the input, where it starts there, and where it lies in the output.
struct PadWindow {
  int64_t length, from, to;
};

inline PadWindow pad_window(int64_t size, int64_t before, int64_t after) {
  const int64_t from = -std::clamp<int64_t>(before, -size, 0),
                removed = -std::clamp<int64_t>(after, -size, 0);
  return {size - from - removed, from, std::max<int64_t>(0, before)};
}

// The index, in [0, length), that stands for `index` outside of it.
using Outside = int64_t (*)(int64_t index, int64_t length);
// Reads the modes reflect, edge and wrap; throws bad_input for others.
Outside pad_rule(const std::string& mode);

}  // namespace vernier::ops
