// B33: pools of other windows, of fewer axes, and indices that are counted from elsewhere.
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {

namespace {

constexpr int kClass = 33;

using Integers = std::vector<int64_t>;

// Windows that are an element longer or shorter, along all axes or one; they begin or end where they should,
// and there are as many.
void propose_kernels(const Variations& variations) {
  const Member& member = variations.member();
  const auto kernel = member.node().attribute<Integers>("kernel_shape", {});
  const size_t rank = kernel.size();
  auto pads = member.node().attribute<Integers>("pads", {});
  if (member.node().find_attribute("auto_pad") != nullptr) return;
  pads.resize(2 * rank, 0);
  const auto add = [&](int64_t by, size_t only, bool at_begin) {
    Integers other = kernel, padding = pads;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (only != 0 && only != axis + 1) continue;
      other[axis] += by;
      int64_t& pad = padding[at_begin ? axis : rank + axis];
      if (at_begin && pad + by < 0) return;  // the last windows would be others
      pad = std::max<int64_t>(0, pad + by);
    }
    if (std::any_of(other.begin(), other.end(), [](int64_t size) { return size < 1; })) return;
    variations.add_node(
        fmt::format("its windows have the sizes {} instead of {}, and {} where they should",
                    fmt::join(other, " x "), fmt::join(kernel, " x "), at_begin ? "end" : "begin"),
        [other, padding](Node& node) {
          node.attributes["kernel_shape"] = other;
          node.attributes["pads"] = padding;
        });
  };
  for (const int64_t by : {-1, 1}) {
    for (size_t only = 0; only <= rank && (only == 0 || rank > 1); ++only) {
      for (const bool at_begin : {false, true}) add(by, only, at_begin);
    }
  }
}

// A pool of whole images that reduces all axes but one, of which it reads the first place.
void propose_missed_axes(const Variations& variations) {
  const Member& member = variations.member();
  const Dims& dims = member.in(0).dims();
  for (size_t axis = 2; axis < dims.size(); ++axis) {
    if (dims[axis] < 2) continue;
    const auto first = [axis](const Tensor& x) { return taken(x, axis, {0}); };
    variations.add_operand(fmt::format("it reads the first place alone along axis {}", axis), 0, first);
    if (!member.is("GlobalAveragePool")) continue;
    const auto length = static_cast<double>(dims[axis]);
    variations.add(
        fmt::format("it reads the first place alone along axis {}, and divides by the count of all", axis),
        [&member, first, length] {
          Tensors results = member.with_input(0, first(member.in(0)));
          results[0] = mapped(results[0], [length](double mean) { return mean / length; });
          return results;
        });
  }
}

// Indices of the largest elements count from the begin of the tensor.
void propose_local_indices(const Variations& variations) {
  const Member& member = variations.member();
  if (member.outputs().size() < 2 || !member.out(1).is_defined()) return;
  const Dims& dims = member.in(0).dims();
  int64_t places = 1;
  for (size_t i = 2; i < dims.size(); ++i) places *= dims[i];
  for (const auto& [what, length] : {std::pair("channel", places), {"sample", places * dims.at(1)}})
    variations.add(fmt::format("its indices count from the begin of each {}", what),
                   [&member, length = length] {
                     Tensors results = member.outputs();
                     auto indices = results[1].to_ints();
                     for (int64_t& index : indices) index %= length;
                     results[1] = Tensor::from_ints(results[1].type(), results[1].dims(), indices);
                     return results;
                   });
}

}  // namespace

void propose_pools(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                   std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (member.is("GlobalAveragePool") || member.is("GlobalMaxPool") || member.is("GlobalLpPool"))
    return propose_missed_axes(variations);
  if (!member.is("MaxPool") && !member.is("AveragePool") && !member.is("LpPool")) return;
  propose_kernels(variations);
  if (member.is("MaxPool")) propose_local_indices(variations);
}

}  // namespace vernier
