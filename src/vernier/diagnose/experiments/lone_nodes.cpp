#include "vernier/diagnose/experiments/lone_nodes.h"

#include "vernier/diagnose/causes/member.h"
#include "vernier/diagnose/subjects/partial_models.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

Tensor as_declared(const Tensor& tensor, ElementType type) {
  if (!tensor.is_defined() || !is_float(tensor.type()) || tensor.type() == type ||
      type == ElementType::kUndefined)
    return tensor;
  return Tensor::from_doubles(type, tensor.dims(), tensor.to_doubles());
}

// The node with what the engine makes of it alone; nothing if it does not run it.
std::optional<Suspect> lone_suspect(Subject& subject, const Model& model, const Member& member) {
  const Node& node = member.node();
  Suspect suspect;
  suspect.node = &node;
  NamedData operands;
  for (size_t i = 0; i < member.input_count(); ++i) {
    suspect.inputs.push_back(as_declared(member.in(i), member.declared(i)));
    if (member.has(i) && !member.is_constant(i)) operands[node.inputs[i]->name] = suspect.inputs.back();
  }
  const auto lone = alone(model, node.name, operands);
  if (!lone) return std::nullopt;
  const auto made = subject.run_other(*lone, operands);
  if (!made) return std::nullopt;
  suspect.contract = subject.assumed_contract(node);
  suspect.expected = ErrorModel(node, suspect.inputs).outputs(suspect.contract);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    suspect.made.emplace_back();
    if (node.outputs[i] == nullptr) continue;
    const auto found = made->find(node.outputs[i]->name);
    if (found == made->end() || !found->second.is_tensor()) continue;
    suspect.made.back() = found->second.tensor;
    compare_output(suspect, i);
  }
  return suspect;
}

}  // namespace

LoneNodes run_alone(Subject& subject, const Model& model, const Suspect& group, Stopwatch& watch) {
  LoneNodes result;
  const Members members(group);
  for (const Member& member : members.all()) {
    if (watch.is_past(0.8)) {
      result.is_whole = false;
      break;
    }
    subject.limit_time(watch.left());
    try {
      auto suspect = watch.time("single nodes", 1, [&] { return lone_suspect(subject, model, member); });
      if (!suspect)
        ++result.refused;
      else if (suspect->worst.is_rounding())
        ++result.right;
      else
        result.suspects.push_back(std::move(*suspect));
    } catch (const Error&) {
      ++result.refused;
    }
  }
  return result;
}

}  // namespace vernier
