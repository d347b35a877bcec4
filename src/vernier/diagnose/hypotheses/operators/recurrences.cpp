// B31: recurrences whose gates lie in another order, whose states are lost or that run the other way; B38:
// lengths that are not read, so that padding is counted.
#include <algorithm>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

using Order = std::vector<int64_t>;

constexpr size_t kWeights = 1, kRecurrent = 2, kBias = 3, kLengths = 4, kHidden = 5, kCell = 6;

// Axis 1 is gates, one block behind the other; those of the bias are there twice.
Tensor with_gates(const Tensor& tensor, const Order& order, int64_t repeats) {
  const auto gates = static_cast<int64_t>(order.size());
  const int64_t length = tensor.dims().at(1), block = length / (gates * repeats);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t gate = i / block;
    indices.push_back((gate / gates * gates + order[static_cast<size_t>(gate % gates)]) * block + i % block);
  }
  return taken(tensor, 1, indices);
}

void propose_gates(const Variations& variations, const std::vector<Order>& orders) {
  const Member& member = variations.member();
  for (const Order& order : orders) {
    variations.add(fmt::format("its gates lie in the order {}", fmt::join(order, ", ")), [&member, order] {
      Tensors inputs = member.inputs();
      inputs[kWeights] = with_gates(inputs[kWeights], order, 1);
      inputs[kRecurrent] = with_gates(inputs[kRecurrent], order, 1);
      if (member.has(kBias)) inputs[kBias] = with_gates(inputs[kBias], order, 2);
      return member.with_inputs(std::move(inputs));
    });
  }
}

void propose_lost(const Variations& variations, size_t operand, const char* what) {
  const Member& member = variations.member();
  if (!member.has(operand)) return;
  variations.add(what, [&member, operand] { return member.with_input(operand, {}); });
}

// Half of the bias belongs to what comes in, half to what comes back.
void propose_half_bias(const Variations& variations, bool first, const char* what) {
  variations.add_operand(what, kBias, [first](const Tensor& bias) {
    const int64_t length = bias.dims().at(1);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < length; ++i) indices.push_back((i < length / 2) == first ? -1 : i);
    return taken(bias, 1, indices);
  });
}

}  // namespace

void propose_recurrences(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                         std::vector<Proposal>& proposals) {
  const bool lstm = member.is("LSTM"), gru = member.is("GRU");
  if (!lstm && !gru && !member.is("RNN")) return;
  const Variations variations(member, flagged, 31, proposals);
  if (lstm) propose_gates(variations, {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 2, 1, 3}, {1, 0, 2, 3}, {0, 1, 3, 2}});
  if (gru) {
    propose_gates(variations, {{1, 0, 2}, {0, 2, 1}, {2, 1, 0}});
    variations.add_node("linear_before_reset is read the other way", [](Node& node) {
      const int64_t other = ops::integer_attribute(node, "linear_before_reset") == 0 ? 1 : 0;
      node.attributes["linear_before_reset"] = other;
    });
  }
  propose_lost(variations, kBias, "the bias is lost");
  propose_half_bias(variations, true, "the bias of what comes in is lost");
  propose_half_bias(variations, false, "the bias of what comes back is lost");
  propose_lost(variations, kHidden, "it begins with zeros instead of its first state");
  if (lstm) propose_lost(variations, kCell, "it begins with zeros instead of its first cell state");
  for (const char* direction : {"forward", "reverse"}) {
    if (member.in(kWeights).dims().at(0) == 1)
      variations.add_node(fmt::format("it runs {}", direction),
                          [direction](Node& node) { node.attributes["direction"] = std::string(direction); });
  }
  propose_lost(variations.of(38), kLengths, "lengths are not read, and padding is counted");
}

}  // namespace vernier
