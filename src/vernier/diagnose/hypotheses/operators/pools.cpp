// B33: pools of other windows, and indices that are counted from elsewhere.
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {

namespace {

constexpr int kClass = 33;

using Integers = std::vector<int64_t>;

// Windows that are an element longer or shorter, along all axes or one; they begin where they should, and
// there are as many.
void propose_kernels(const Variations& variations) {
  const Member& member = variations.member();
  const auto kernel = member.node().attribute<Integers>("kernel_shape", {});
  const size_t rank = kernel.size();
  auto pads = member.node().attribute<Integers>("pads", {});
  if (member.node().find_attribute("auto_pad") != nullptr) return;
  pads.resize(2 * rank, 0);
  for (const int64_t by : {-1, 1}) {
    for (size_t only = 0; only <= rank && (only == 0 || rank > 1); ++only) {
      Integers other = kernel, padding = pads;
      for (size_t axis = 0; axis < rank; ++axis) {
        if (only != 0 && only != axis + 1) continue;
        other[axis] += by;
        padding[rank + axis] = std::max<int64_t>(0, padding[rank + axis] + by);
      }
      if (std::any_of(other.begin(), other.end(), [](int64_t size) { return size < 1; })) continue;
      variations.add_node(fmt::format("its windows have the sizes {} instead of {}", fmt::join(other, " x "),
                                      fmt::join(kernel, " x ")),
                          [other, padding](Node& node) {
                            node.attributes["kernel_shape"] = other;
                            node.attributes["pads"] = padding;
                          });
    }
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
  if (!member.is("MaxPool") && !member.is("AveragePool") && !member.is("LpPool")) return;
  const Variations variations(member, flagged, kClass, proposals);
  propose_kernels(variations);
  if (member.is("MaxPool")) propose_local_indices(variations);
}

}  // namespace vernier
