// B31: recurrences whose gates lie in another order, that have another activation, whose states or directions
// are lost or exchanged, or that run the other way; B38: lengths that are not read, so that padding is
// counted.
#include <algorithm>
#include <numeric>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

using Order = std::vector<int64_t>;

constexpr size_t kWeights = 1, kRecurrent = 2, kBias = 3, kLengths = 4, kHidden = 5, kCell = 6,
                 kPeepholes = 7;

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

// All orders but the right one.
void propose_gates(const Variations& variations, size_t count) {
  const Member& member = variations.member();
  Order order(count);
  std::iota(order.begin(), order.end(), 0);
  while (std::next_permutation(order.begin(), order.end())) {
    variations.add(fmt::format("its gates lie in the order {}", fmt::join(order, ", ")), [&member, order] {
      Tensors inputs = member.inputs();
      inputs[kWeights] = with_gates(inputs[kWeights], order, 1);
      inputs[kRecurrent] = with_gates(inputs[kRecurrent], order, 1);
      if (member.has(kBias)) inputs[kBias] = with_gates(inputs[kBias], order, 2);
      return member.with_inputs(std::move(inputs));
    });
  }
}

// One function in the place of another, in all directions.
void propose_activations(const Variations& variations, const std::vector<std::string>& usual) {
  const Node& node = variations.member().node();
  const auto directions = static_cast<size_t>(variations.member().in(kWeights).dims().at(0));
  auto given = node.attribute<std::vector<std::string>>("activations", {});
  if (given.empty()) {
    for (size_t i = 0; i < directions; ++i) given.insert(given.end(), usual.begin(), usual.end());
  }
  if (given.size() != directions * usual.size()) return;
  for (size_t slot = 0; slot < usual.size(); ++slot) {
    for (const char* other : {"Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign"}) {
      if (given[slot] == other) continue;
      auto activations = given;
      for (size_t i = slot; i < activations.size(); i += usual.size()) activations[i] = other;
      variations.add_node(fmt::format("its activation {} is {} instead of {}", slot, other, given[slot]),
                          [activations](Node& changed) { changed.attributes["activations"] = activations; });
    }
  }
}

// Operands that lie in blocks of gates along axis 1.
Tensor block_of_gate(const Tensor& tensor, int64_t gate, int64_t block) {
  std::vector<int64_t> indices(static_cast<size_t>(block));
  std::iota(indices.begin(), indices.end(), gate * block);
  return taken(tensor, 1, indices);
}

Tensor joined(const Tensors& parts, size_t axis) {
  int64_t outer = 1, inner = 1, length = 0;
  Dims dims = parts.at(0).dims();
  for (size_t i = 0; i < axis; ++i) outer *= dims[i];
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  std::vector<std::vector<double>> values;
  for (const Tensor& part : parts) {
    values.push_back(part.to_doubles());
    length += part.dims()[axis];
  }
  std::vector<double> whole;
  whole.reserve(static_cast<size_t>(outer * length * inner));
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t size = parts[i].dims()[axis] * inner;
      const auto begin = values[i].begin() + o * size;
      whole.insert(whole.end(), begin, begin + size);
    }
  }
  dims[axis] = length;
  return Tensor::from_doubles(parts[0].type(), std::move(dims), whole);
}

void propose_recurrent_weights(const Variations& variations) {
  const Member& member = variations.member();
  variations.add_operand("the weights of what comes back are transposed", kRecurrent,
                         [](const Tensor& weights) {
                           const int64_t block = weights.dims().at(2);
                           Tensors gates;
                           for (int64_t gate = 0; gate * block < weights.dims().at(1); ++gate)
                             gates.push_back(exchanged(block_of_gate(weights, gate, block), 1, 2));
                           return joined(gates, 1);
                         });
  variations.add_operand("nothing comes back: every step is on its own", kRecurrent,
                         [](const Tensor& weights) { return mapped(weights, [](double) { return 0; }); });
  if (!member.is("GRU")) return;
  // A gate whose sum has the other sign is one less what it should be.
  variations.add("its update gate is one less what it should be", [&member] {
    Tensors inputs = member.inputs();
    for (const auto& [operand, repeats] : {std::pair(kWeights, 3), {kRecurrent, 3}, {kBias, 6}}) {
      if (!member.has(operand)) continue;
      const int64_t block = inputs[operand].dims().at(1) / repeats;
      Tensors gates;
      for (int64_t gate = 0; gate < repeats; ++gate) {
        const double sign = gate % 3 == 0 ? -1 : 1;
        gates.push_back(
            mapped(block_of_gate(inputs[operand], gate, block), [sign](double x) { return sign * x; }));
      }
      inputs[operand] = joined(gates, 1);
    }
    return member.with_inputs(std::move(inputs));
  });
}

// The time axis of the first result, and that of directions.
constexpr size_t kTime = 0, kDirections = 1;

void propose_directions(const Variations& variations) {
  const Member& member = variations.member();
  if (member.node().attribute<int64_t>("layout", {}) != 0 || !member.out().is_defined()) return;
  variations.add("its steps are stored in reverse", [&member] {
    Tensors results = member.outputs();
    results.at(0) = reversed(results.at(0), kTime);
    return results;
  });
  if (member.in(kWeights).dims().at(0) != 2) return;
  variations.add("the results of its directions are exchanged", [&member] {
    Tensors results = member.outputs();
    results.at(0) = reversed(results.at(0), kDirections);
    for (size_t i = 1; i < results.size(); ++i) {
      if (results[i].is_defined()) results[i] = reversed(results[i], 0);
    }
    return results;
  });
  variations.add("the results of its directions are exchanged in the sequence alone", [&member] {
    Tensors results = member.outputs();
    results.at(0) = reversed(results.at(0), kDirections);
    return results;
  });
  const auto with_directions = [&](const char* what, const std::vector<int64_t>& weights,
                                   const std::vector<const char*>& ways) {
    variations.add(what, [&member, weights, ways] {
      std::vector<Tensors> each;
      for (size_t i = 0; i < ways.size(); ++i) {
        Tensors inputs = member.inputs();
        for (const size_t operand : {kWeights, kRecurrent, kBias, kHidden, kCell, kPeepholes}) {
          const bool is_state = operand == kHidden || operand == kCell;
          const int64_t direction = is_state ? static_cast<int64_t>(i) : weights[i];
          if (member.has(operand)) inputs[operand] = taken(inputs[operand], 0, {direction});
        }
        each.push_back(member.changed(
            [way = ways[i]](Node& node) {
              node.attributes["direction"] = std::string(way);
              auto functions = node.attribute<std::vector<std::string>>("activations", {});
              functions.resize(functions.size() / 2);
              if (!functions.empty()) node.attributes["activations"] = functions;
            },
            std::move(inputs)));
      }
      Tensors results = member.outputs();
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].is_defined())
          results[i] = joined({each[0].at(i), each[1].at(i)}, i == 0 ? kDirections : 0);
      }
      return results;
    });
  };
  with_directions("both directions have the weights of the first one", {0, 0}, {"forward", "reverse"});
  with_directions("both directions have the weights of the second one", {1, 1}, {"forward", "reverse"});
  with_directions("the directions have each other's weights", {1, 0}, {"forward", "reverse"});
  with_directions("both directions run forward", {0, 1}, {"forward", "forward"});
  with_directions("the directions run the other way each", {0, 1}, {"reverse", "forward"});
}

void propose_exchange(const Variations& variations, size_t a, size_t b, const char* what) {
  const Member& member = variations.member();
  if (!member.has(a) || !member.has(b)) return;
  variations.add(what, [&member, a, b] {
    Tensors inputs = member.inputs();
    std::swap(inputs[a], inputs[b]);
    return member.with_inputs(std::move(inputs));
  });
}

// Proposes what only LSTM has: a cell state, and weights by which gates see it.
void propose_cells(const Variations& variations) {
  const Member& member = variations.member();
  propose_exchange(variations, kHidden, kCell, "its first states are exchanged");
  if (member.outputs().size() > 2)
    variations.add("its last states are exchanged", [&member] {
      Tensors results = member.outputs();
      std::swap(results[1], results[2]);
      return results;
    });
  if (!member.has(kPeepholes)) return;
  variations.add("its peepholes are lost", [&member] { return member.with_input(kPeepholes, {}); });
  Order order{0, 1, 2};
  while (std::next_permutation(order.begin(), order.end()))
    variations.add_operand(fmt::format("its peepholes lie in the order {}", fmt::join(order, ", ")),
                           kPeepholes,
                           [order](const Tensor& peepholes) { return with_gates(peepholes, order, 1); });
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

// The bias of one gate, which is there twice: it is lost, or one more or less, as by frameworks that keep the
// one that makes a cell remember apart.
void propose_gate_biases(const Variations& variations, int64_t gates, int64_t remembers) {
  for (int64_t gate = 0; gate < gates; ++gate) {
    const auto in_gate = [=](const Tensor& bias, const std::function<double(double, bool is_first)>& each) {
      const int64_t block = bias.dims().at(1) / (2 * gates);
      auto values = bias.to_doubles();
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t at = static_cast<int64_t>(i) / block % (2 * gates);
        if (at % gates == gate) values[i] = each(values[i], at < gates);
      }
      return Tensor::from_doubles(bias.type(), bias.dims(), values);
    };
    variations.add_operand(
        fmt::format("the bias of gate {} is lost", gate), kBias,
        [in_gate](const Tensor& bias) { return in_gate(bias, [](double, bool) { return 0; }); });
    if (gate != remembers) continue;
    for (const double by : {1.0, -1.0})
      variations.add_operand(
          fmt::format("{} is added to the bias of gate {}, which forgets", by, gate), kBias,
          [=](const Tensor& bias) {
            return in_gate(bias, [by](double each, bool is_first) { return is_first ? each + by : each; });
          });
  }
}

}  // namespace

void propose_recurrences(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                         std::vector<Proposal>& proposals) {
  const bool lstm = member.is("LSTM"), gru = member.is("GRU");
  if (!lstm && !gru && !member.is("RNN")) return;
  const Variations variations(member, flagged, 31, proposals);
  if (lstm) {
    propose_gates(variations, 4);
    propose_activations(variations, {"Sigmoid", "Tanh", "Tanh"});
    propose_cells(variations);
    propose_gate_biases(variations, 4, 2);
  } else if (gru) {
    propose_gates(variations, 3);
    propose_activations(variations, {"Sigmoid", "Tanh"});
    propose_gate_biases(variations, 3, 0);
    variations.add_node("linear_before_reset is read the other way", [](Node& node) {
      const int64_t other = ops::integer_attribute(node, "linear_before_reset") == 0 ? 1 : 0;
      node.attributes["linear_before_reset"] = other;
    });
  } else {
    propose_activations(variations, {"Tanh"});
  }
  propose_recurrent_weights(variations);
  propose_directions(variations);
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
