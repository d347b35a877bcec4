// B31: elements of a result that lie in memory otherwise than who reads them takes them to.
#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/operators/memory_orders.h"

namespace vernier {

namespace {

// Does to images whose channels lie last in memory what happens there to the last two axes.
Tensor misread_channels_last(const Tensor& tensor) {
  const Tensor memory = permuted(tensor, {0, 2, 3, 1});
  return permuted(misread(memory, {0, 1, 3, 2}), {0, 3, 1, 2});
}

void propose_result(const Member& member, size_t result, std::vector<Proposal>& proposals) {
  const auto add = [&](std::string what, const std::function<Tensor(const Tensor&)>& change) {
    proposals.push_back({FailureClass(31),
                         std::move(what),
                         [&member, result, change] {
                           Tensors results = member.outputs();
                           results[result] = change(results[result]);
                           return results;
                         },
                         {},
                         0,
                         true});
  };
  for (const MemoryOrder& order : usual_orders(member.out(result).dims().size()))
    add("in its result " + order.what,
        [axes = order.axes](const Tensor& right) { return misread(right, axes); });
  if (member.out(result).dims().size() == 4)
    add("in its result columns and channels, which lie last in memory, lie the other way round",
        misread_channels_last);
}

}  // namespace

void propose_layouts(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                     std::vector<Proposal>& proposals) {
  for (size_t result = 0; result < member.outputs().size(); ++result) {
    const Tensor& right = member.out(result);
    if (!right.is_defined() || right.type() == ElementType::kString ||
        !stored_output(member, result, flagged))
      continue;
    propose_result(member, result, proposals);
  }
}

}  // namespace vernier
