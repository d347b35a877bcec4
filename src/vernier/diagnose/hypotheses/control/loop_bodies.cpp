// B41, and the classes of single operators: a Loop or Scan whose body is wrong in every trip. The body is
// opened: what its nodes read and made in the first trip says which causes there may be, and each is tried in
// all trips, as what comes out of one goes into the next.
#include "vernier/diagnose/hypotheses/control/first_trip.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/topological_order.h"

namespace vernier {

namespace {

constexpr int kClass = 41, kOtherOperand = 31;

// A value that a node of the body reads, or that a result of the body is, and another one in its place.
struct Rewiring {
  std::optional<size_t> node;  // nothing: it is a result of the body
  size_t slot;
  std::string old, other;
  bool is_of_states;
};

Value* find_value(const Graph& graph, const std::string& name) {
  for (const Graph* each = &graph; each != nullptr; each = each->parent()) {
    for (const auto& value : each->values()) {
      if (value->name == name) return value.get();
    }
  }
  return nullptr;
}

// Puts the nodes in the order of what they read. Throws unsupported where a node would read what follows from
// it.
void put_in_order(Graph& body) {
  std::map<const Node*, size_t> places;
  for (size_t i = 0; i < body.nodes().size(); ++i) places[body.nodes()[i].get()] = i;
  std::vector<std::set<size_t>> after(body.nodes().size());
  for (size_t i = 0; i < body.nodes().size(); ++i) {
    const Node& node = *body.nodes()[i];
    const auto read = [&](const Value* value) {
      const auto maker = value == nullptr ? places.end() : places.find(value->producer());
      if (maker != places.end()) after[i].insert(maker->second);
    };
    for (const Value* input : node.inputs) read(input);
    for (const Value* value : captured_values(node)) read(value);
  }
  const auto order = topological_order(after);
  if (order.size() != after.size()) throw unsupported("a value that follows from itself");
  body.reorder(order);
}

Tensors run_rewired(const Member& member, const HypothesisContext& context, const Rewiring& rewiring) {
  LoneNode alone(member, context);
  Graph& body = body_of(alone);
  Value* other = find_value(body, rewiring.other);
  if (other == nullptr) throw unsupported("there is no '{}'", rewiring.other);
  if (rewiring.node)
    body.nodes().at(*rewiring.node)->inputs.at(rewiring.slot) = other;
  else
    body.outputs.at(rewiring.slot) = other;
  put_in_order(body);
  return alone.run();
}

class Rewirings {
 public:
  Rewirings(const Member& loop, std::map<std::string, TypeAndDims> known)
      : body_(*loop.node().region("body")), known_(std::move(known)) {
    // Places in the body of what is carried, or scanned, are those of the operands of the node.
    for (size_t i = 0; i < body_.inputs.size() && i < loop.input_count(); ++i) {
      states_.insert(body_.inputs[i]->name);
      if (!loop.has(i)) continue;
      const std::string& first = loop.node().inputs[i]->name;
      states_.insert(first);
      known_.emplace(first, TypeAndDims{loop.declared(i), loop.in(i).dims()});
    }
  }

  std::vector<Rewiring> all() const {
    std::vector<Rewiring> found;
    for (size_t i = 0; i < body_.nodes().size(); ++i) {
      const Node& node = *body_.nodes()[i];
      for (size_t slot = 0; slot < node.inputs.size(); ++slot) add(i, slot, node.inputs[slot], found);
    }
    for (size_t slot = 0; slot < body_.outputs.size(); ++slot)
      add(std::nullopt, slot, body_.outputs[slot], found);
    return found;
  }

 private:
  void add(std::optional<size_t> node, size_t slot, const Value* old, std::vector<Rewiring>& found) const {
    const auto known = old == nullptr ? known_.end() : known_.find(old->name);
    if (known == known_.end()) return;
    for (const auto& [name, type] : known_) {
      if (name == old->name || !(type == known->second)) continue;
      const bool is_of_states = !node || states_.contains(name) || states_.contains(old->name);
      found.push_back({node, slot, old->name, name, is_of_states});
    }
  }

  const Graph& body_;
  std::map<std::string, TypeAndDims> known_;
  std::set<std::string> states_;
};

std::string text_of(const Graph& body, const Rewiring& rewiring) {
  const std::string who = rewiring.node
                              ? fmt::format("'{}' in its body reads", body.nodes()[*rewiring.node]->name)
                              : fmt::format("result {} of its body is", rewiring.slot);
  return fmt::format("{} '{}' in place of '{}'", who, rewiring.other, rewiring.old);
}

// Proposes states of the same sizes of which each is carried on as the other.
void propose_exchanged_states(const Member& member, const HypothesisContext& context, const FirstTrip& trip,
                              const std::function<void(int, std::string, std::function<Tensors()>)>& add) {
  const Graph& body = *member.node().region("body");
  const size_t first = member.is("Loop") ? 1 : 0, count = body.outputs.size();
  const auto type_of = [&](size_t slot) {
    const auto found = trip.values.find(body.outputs[slot]->name);
    return found == trip.values.end() ? std::nullopt : std::optional(found->second);
  };
  for (size_t a = first; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      if (!type_of(a) || type_of(a) != type_of(b) || body.outputs[a] == body.outputs[b]) continue;
      add(kClass, fmt::format("results {} and {} of its body are exchanged", a, b), [&member, context, a, b] {
        LoneNode alone(member, context);
        std::swap(body_of(alone).outputs.at(a), body_of(alone).outputs.at(b));
        return alone.run();
      });
    }
  }
}

// The number of the trip, which the body of a Loop reads.
void propose_numbers(const Member& member, const HypothesisContext& context,
                     const std::function<void(int, std::string, std::function<Tensors()>)>& add) {
  if (!member.is("Loop")) return;
  const Graph& body = *member.node().region("body");
  const bool is_read = std::any_of(body.nodes().begin(), body.nodes().end(), [&](const auto& node) {
    const auto captured = captured_values(*node);
    return std::count(node->inputs.begin(), node->inputs.end(), body.inputs[0]) +
               std::count(captured.begin(), captured.end(), body.inputs[0]) >
           0;
  });
  if (!is_read) return;
  const auto changed = [&](std::string what, const std::string& op, int64_t operand) {
    add(kClass, std::move(what), [&member, context, op, operand] {
      LoneNode alone(member, context);
      Graph& inner = body_of(alone);
      Value* number = inner.inputs.at(0);
      Value* other = inner.add_value("number in its place", number->type);
      Value* constant = alone.add_input("operand of the number", Tensor::scalar(operand));
      inner.replace_uses(number, other);
      auto node = std::make_unique<Node>();
      node->op = op;
      node->version = 14;
      node->name = "number in its place";
      node->inputs = {number, constant};
      node->outputs = {other};
      inner.add_node(std::move(node), 0);
      return alone.run();
    });
  };
  changed("its trips are counted from one", "Add", 1);
  changed("its trips are counted from minus one", "Sub", 1);
  changed("the number of the trip stays zero", "Mul", 0);
}

}  // namespace

void propose_loop_bodies(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                         std::vector<Proposal>& proposals) {
  if ((!member.is("Loop") && !member.is("Scan")) || member.node().region("body") == nullptr) return;
  // All of them together may take about as long as the other causes of a node.
  constexpr double kSeconds = 10;
  constexpr size_t kMost = 1500;
  const FirstTrip trip = first_trip(member, context);
  const size_t most = static_cast<size_t>(kSeconds / std::max(trip.seconds, kSeconds / kMost));
  const size_t begin = proposals.size();
  const auto add = [&](int failure, std::string what, const std::function<Tensors()>& simulate) {
    Variations(member, flagged, failure, proposals).add(std::move(what), simulate);
    proposals.back().is_costly = true;
  };
  propose_numbers(member, context, add);
  propose_exchanged_states(member, context, trip, add);
  const Graph& body = *member.node().region("body");
  for (const Rewiring& rewiring : Rewirings(member, trip.values).all())
    add(rewiring.is_of_states ? kClass : kOtherOperand, text_of(body, rewiring),
        [&member, context, rewiring] { return run_rewired(member, context, rewiring); });
  for (const BodyCause& cause : trip.causes) {
    const std::string what =
        fmt::format("at '{}' in its body {}", body.nodes()[cause.node]->name, cause.what);
    Variations(member, flagged, kClass, proposals)
        .add(
            what, [&member, context, cause] { return run_with(member, context, cause); }, cause.penalty);
    proposals.back().failure = cause.failure;
    proposals.back().is_costly = true;
  }
  if (proposals.size() > begin + most)
    proposals.erase(proposals.begin() + static_cast<ptrdiff_t>(begin + most), proposals.end());
}

}  // namespace vernier
