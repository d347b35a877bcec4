#include "vernier/diagnose/hypotheses/control/first_trip.h"

#include <chrono>

namespace vernier {

namespace {

Tensor unrounded(const Tensor& tensor) {
  if (!tensor.is_defined() || !is_float(tensor.type())) return tensor;
  return Tensor::from_doubles(ElementType::kDouble, tensor.dims(), tensor.to_doubles());
}

// A node of the body on what it read in one trip.
class MemberOfBody {
 public:
  MemberOfBody(const Node& node, std::span<const Datum* const> operands, const std::vector<Datum>& results)
      : context_{node.graph(), [](const Value& value) { return constant_of(value); }, nullptr} {
    Tensors inputs, outputs;
    std::vector<bool> constants;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool given = operands[i] != nullptr && operands[i]->is_tensor();
      inputs.push_back(given ? unrounded(operands[i]->tensor) : Tensor());
      // A value from around the loop is the same in every trip.
      constants.push_back(node.inputs[i] != nullptr && &node.inputs[i]->graph() != &node.graph());
    }
    for (const Datum& result : results) {
      outputs.push_back(result.is_tensor() ? unrounded(result.tensor) : Tensor());
      flagged_.expected.emplace_back().value = outputs.back();
    }
    flagged_.node = &node;
    flagged_.inputs = inputs;
    flagged_.made.resize(results.size());  // nobody sees what the engine made there
    member_.emplace(node, std::move(inputs), std::move(outputs), std::move(constants));
  }

  // They refer to this.
  std::vector<Proposal> proposals(const Hypothesis& family) const {
    std::vector<Proposal> proposals;
    family.propose(*member_, flagged_, context_, proposals);
    return proposals;
  }

 private:
  static const Tensor* constant_of(const Value& value) {
    return value.is_constant() ? &*value.constant : nullptr;
  }

  HypothesisContext context_;
  FlaggedNode flagged_;
  std::optional<Member> member_;
};

size_t place_of(const Graph& body, const Node& node) {
  for (size_t i = 0; i < body.nodes().size(); ++i) {
    if (body.nodes()[i].get() == &node) return i;
  }
  return body.nodes().size();
}

void note(const Value* value, const Datum* datum, std::map<std::string, TypeAndDims>& values) {
  if (value != nullptr && datum != nullptr && datum->is_tensor() && datum->tensor.is_defined())
    values.emplace(value->name, TypeAndDims{datum->tensor.type(), datum->tensor.dims()});
}

void look_at(size_t place, const Node& node, std::span<const Datum* const> operands,
             const std::vector<Datum>& results, FirstTrip& trip) {
  for (size_t i = 0; i < operands.size(); ++i) note(node.inputs[i], operands[i], trip.values);
  for (size_t i = 0; i < results.size(); ++i) note(node.outputs[i], &results[i], trip.values);
  if (!node.regions.empty()) return;
  const MemberOfBody member(node, operands, results);
  for (const Hypothesis& family : hypotheses()) {
    if (!family.is_about_operator) continue;
    try {
      const auto proposals = member.proposals(family);
      for (size_t i = 0; i < proposals.size(); ++i)
        trip.causes.push_back(
            {place, &family, i, proposals[i].failure, proposals[i].what, proposals[i].penalty});
    } catch (const Error&) {
      continue;  // it cannot read the node
    }
  }
}

void give(const Tensors& made, std::vector<Datum>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].is_tensor() || !results[i].tensor.is_defined()) continue;
    const Tensor& before = results[i].tensor;
    if (i >= made.size() || !made[i].is_defined() || made[i].dims() != before.dims())
      throw unsupported("a result of other sizes in a body");
    results[i] = made[i].type() == before.type()
                     ? made[i]
                     : Tensor::from_doubles(before.type(), before.dims(), made[i].to_doubles());
  }
}

}  // namespace

FirstTrip first_trip(const Member& member, const HypothesisContext& context) {
  using Clock = std::chrono::steady_clock;
  LoneNode alone(member, context);
  FirstTrip trip;
  std::set<const Node*> seen;
  InterpreterOptions options;
  options.revises_regions = true;
  options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                       std::vector<Datum>& results) {
    const size_t place = place_of(body_of(alone), node);
    if (place < body_of(alone).nodes().size() && seen.insert(&node).second)
      look_at(place, node, operands, results, trip);
  };
  alone.run(options);
  const auto begin = Clock::now();
  alone.run();
  trip.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return trip;
}

// All trips with the cause in each of them.
Tensors run_with(const Member& member, const HypothesisContext& context, const BodyCause& cause) {
  LoneNode alone(member, context);
  const Node* target = body_of(alone).nodes().at(cause.node).get();
  InterpreterOptions options;
  options.revises_regions = true;
  options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                       std::vector<Datum>& results) {
    if (&node != target) return;
    const MemberOfBody inner(node, operands, results);
    const auto proposals = inner.proposals(*cause.family);
    if (cause.number >= proposals.size() || proposals[cause.number].what != cause.what)
      throw unsupported("a cause that not every trip gives occasion for");
    give(proposals[cause.number].simulate(), results);
  };
  return alone.run(options);
}

}  // namespace vernier
