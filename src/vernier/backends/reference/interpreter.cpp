#include "vernier/backends/reference/interpreter.h"

#include <algorithm>
#include <unordered_map>

#include "vernier/backends/reference/frame.h"
#include "vernier/backends/reference/node_noise.h"
#include "vernier/backends/reference/run_limit.h"
#include "vernier/base/hash.h"
#include "vernier/base/memory.h"
#include "vernier/exec/bind_inputs.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/tensor/jitter.h"
#include "vernier/tensor/working_memory.h"

namespace vernier {

namespace {

using ops::OpDef;
using ops::OpRegistry;
using ops::ValueInfo;

size_t bytes_of(const Datum& datum) {
  if (datum.is_tensor()) return datum.tensor.byte_size();
  size_t sum = 0;
  if (datum.sequence) {
    for (const Datum& element : *datum.sequence) sum += bytes_of(element);
  }
  return sum;
}

class Interpreter {
 public:
  explicit Interpreter(const InterpreterOptions& options) : options_(options), mode_(options.mode) {}

  // A region of a node; of a planned group without rounding inside.
  std::vector<Datum> run_region(const Node& node, const Graph& region, std::vector<Datum> inputs,
                                const Frame& outer);
  std::vector<Datum> run(const Graph& graph, std::vector<Datum> inputs, Frame frame);
  size_t peak_live_bytes() const { return peak_; }
  double unit_roundoff() const { return unit_roundoff_; }

 private:
  void run_node(const Node& node, Frame& frame);
  const Datum& value(const Value* value, Frame& frame);
  Datum constant(const Value& value) const;
  void bind(Frame& frame, const Value* value, Datum datum);
  void release(Frame& frame, const Value* value);
  void replace_value(const Value& value, Frame& frame);
  void revise(const Node& node, Frame& frame);

  bool is_planned(const Node& node) const {
    return options_.planned != nullptr && options_.planned->unrounded.contains(&node);
  }
  InnerRoundings inner_roundings(const Node& node) const {
    if (options_.planned == nullptr) return {};
    const auto found = options_.planned->inside.find(&node);
    return found == options_.planned->inside.end() ? InnerRoundings() : found->second;
  }
  uint64_t noise_seed_of(const Value& value);
  Tensor noisy(const Value& value, const Tensor& tensor, double terms);
  void add_noise(const Node& node, const OpDef& def, ops::ReferenceContext& context, size_t output);

  const InterpreterOptions& options_;
  ReferenceMode mode_;                // at the moment: nothing is rounded inside planned groups
  double group_terms_ = 0;            // of the contraction in the planned group that ran last
  std::vector<Datum> group_results_;  // what that group made, before it was stored
  std::unordered_map<const Graph*, ValueUses> uses_;
  std::unordered_map<const Value*, uint64_t> noise_draws_;  // so far: values of loops are made many times
  size_t live_ = 0, peak_ = 0;
  double unit_roundoff_ = 0;  // the largest so far
};

class NodeContext : public ops::ReferenceContext {
 public:
  NodeContext(const Node& node, ReferenceMode mode, std::vector<const Datum*> inputs,
              std::vector<ElementType> declared, std::vector<ValueInfo> inferred, Interpreter& interpreter,
              const Frame& frame)
      : ReferenceContext(node, mode, std::move(inputs), std::move(declared), std::move(inferred)),
        interpreter_(interpreter),
        frame_(frame) {}

  std::vector<Datum> run_region(const Graph& region, std::vector<Datum> inputs) override {
    return interpreter_.run_region(node(), region, std::move(inputs), frame_);
  }

 private:
  Interpreter& interpreter_;
  const Frame& frame_;
};

// Tells concrete inference that every tensor is a constant of its actual sizes.
ValueInfo info_of(const Value& value, const Datum& datum) {
  ValueInfo info;
  if (!datum.is_tensor()) {
    info.type = value.type;
    return info;
  }
  const Tensor& tensor = datum.tensor;
  const ElementType declared = value.type.is_tensor() ? value.type.tensor.element : ElementType::kUndefined;
  info.type =
      ValueType::of(declared == ElementType::kUndefined ? tensor.type() : declared, to_shape(tensor.dims()));
  info.constant = tensor;
  if ((is_integer(tensor.type()) || tensor.type() == ElementType::kBool) && tensor.rank() <= 1 &&
      tensor.size() <= ops::kMaxFollowedElements) {
    info.dims = to_shape(tensor.to_ints());
  }
  return info;
}

Datum to_mode(Datum datum, ReferenceMode mode) {
  if (mode != ReferenceMode::kIdeal) return datum;
  if (datum.kind == Datum::Kind::kSequence) {
    std::vector<Datum> elements;
    for (const Datum& element : *datum.sequence) elements.push_back(to_mode(element, mode));
    return Datum::of_sequence(std::move(elements));
  }
  if (!datum.is_tensor() || !is_float(datum.tensor.type()) || datum.tensor.type() == ElementType::kDouble)
    return datum;
  return Tensor::from_doubles(ElementType::kDouble, datum.tensor.dims(), datum.tensor.to_doubles());
}

Datum Interpreter::constant(const Value& value) const {
  return to_mode(options_.constants ? options_.constants(value) : *value.constant, mode_);
}

void Interpreter::bind(Frame& frame, const Value* value, Datum datum) {
  if (value->producer() != nullptr || !value->is_constant()) live_ += bytes_of(datum);
  peak_ = std::max(peak_, live_);
  frame.values[value] = std::move(datum);
}

void Interpreter::release(Frame& frame, const Value* value) {
  const auto found = frame.values.find(value);
  if (found == frame.values.end()) return;
  if (value->producer() != nullptr || !value->is_constant())
    live_ -= std::min(live_, bytes_of(found->second));
  frame.values.erase(found);
}

// Gives a value the content that the options say, if they do.
void Interpreter::replace_value(const Value& value, Frame& frame) {
  if (options_.values == nullptr) return;
  const auto given = options_.values->find(value.name);
  if (given == options_.values->end()) return;
  release(frame, &value);
  bind(frame, &value, to_mode(given->second, mode_));
}

void Interpreter::revise(const Node& node, Frame& frame) {
  std::vector<const Datum*> operands;
  for (const Value* input : node.inputs)
    operands.push_back(input == nullptr ? nullptr : &value(input, frame));
  std::vector<Datum> results(node.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i] == nullptr) continue;
    results[i] = *frame.find(node.outputs[i]);
    release(frame, node.outputs[i]);  // so that what is changed is not copied
  }
  options_.revise(node, operands, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i] != nullptr) bind(frame, node.outputs[i], to_mode(std::move(results[i]), mode_));
  }
}

// Whether the value leaves the body of a group, which has an output of the same name.
bool is_shown_by_group(const Value& value, const Frame* outer) {
  const auto& outputs = value.graph().outputs;
  return outer != nullptr && std::find(outputs.begin(), outputs.end(), &value) != outputs.end();
}

const Datum& Interpreter::value(const Value* value, Frame& frame) {
  if (const Datum* found = frame.find(value)) return *found;
  if (!value->is_constant()) throw internal_error("value '{}' is read before it is made", value->name);
  return frame.values[value] = constant(*value);  // constants do not count as live
}

std::vector<Datum> Interpreter::run(const Graph& graph, std::vector<Datum> inputs, Frame frame) {
  if (inputs.size() != graph.inputs.size()) {
    throw bad_input("graph '{}' takes {} inputs, but {} are given", graph.name, graph.inputs.size(),
                    inputs.size());
  }
  const ValueUses& uses = uses_.try_emplace(&graph, graph).first->second;
  auto left = uses.counts;
  for (size_t i = 0; i < inputs.size(); ++i) bind(frame, graph.inputs[i], std::move(inputs[i]));

  RunLimit::check();  // the body of a loop may have no node
  for (const auto& node : graph.nodes()) {
    RunLimit::check();
    run_node(*node, frame);
    if (frame.revises) revise(*node, frame);
    for (const Value* output : node->outputs) {
      if (output == nullptr) continue;
      if (frame.shows) replace_value(*output, frame);
      if (frame.shows && options_.observe && !is_shown_by_group(*output, frame.outer))
        options_.observe(*output, *frame.find(output));
      if (!left.contains(output)) release(frame, output);
    }
    for (const Value* read : uses.reads.at(node.get())) {
      if (--left[read] == 0) release(frame, read);
    }
  }
  std::vector<Datum> outputs;
  for (const Value* output : graph.outputs) outputs.push_back(value(output, frame));
  while (!frame.values.empty()) release(frame, frame.values.begin()->first);
  return outputs;
}

// Each value has draws of its own, by its name: they stay what they are when other values come or go.
uint64_t Interpreter::noise_seed_of(const Value& value) {
  return hash_combine(hash_text(value.name, *options_.noise_seed), noise_draws_[&value]++);
}

Tensor Interpreter::noisy(const Value& value, const Tensor& tensor, double terms) {
  const uint64_t seed = noise_seed_of(value);
  if (options_.planned != nullptr && element_size(tensor.type()) < sizeof(float))
    return with_rounding_flips(tensor, terms, seed);
  return terms > 1 ? with_sum_noise(tensor, terms, seed) : jittered(tensor, seed);
}

std::vector<Datum> Interpreter::run_region(const Node& node, const Graph& region, std::vector<Datum> inputs,
                                           const Frame& outer) {
  if (!is_planned(node)) {
    const bool member = ops::is_group(node), shows = outer.shows && member;
    const bool revises = member ? shows && options_.revises_members : options_.revises_regions;
    return run(region, std::move(inputs), {&outer, shows, outer.revises && revises});
  }
  group_terms_ = 0;  // unless a contraction in it says otherwise
  mode_ = ReferenceMode::kIdeal;
  for (Datum& input : inputs) input = to_mode(std::move(input), mode_);
  auto outputs = run(region, std::move(inputs), {&outer});
  mode_ = options_.mode;
  group_results_ = outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ElementType type = region.outputs[i]->type.tensor.element;
    Tensor& tensor = outputs[i].tensor;
    if (tensor.type() != type) tensor = Tensor::from_doubles(type, tensor.dims(), tensor.to_doubles());
  }
  return outputs;
}

// Refuses outputs that no memory should be spent on before any work is done for them.
void require_bearable(const std::vector<ValueInfo>& outputs) {
  for (const ValueInfo& output : outputs) {
    const auto& shape = output.type.tensor.shape;
    const auto dims = output.type.is_tensor() && shape ? to_dims(*shape) : std::nullopt;
    if (dims) require_workable("a result", *dims);
  }
}

// To what the node stores, where it rounds.
void Interpreter::add_noise(const Node& node, const OpDef& def, ops::ReferenceContext& context,
                            size_t output) {
  Datum& result = context.results()[output];
  if (!result.is_tensor() || !is_float(result.tensor.type())) return;
  const Tensor stored = result.tensor;
  if (is_planned(node)) {
    Tensor moved = noisy(*node.outputs[output], stored, group_terms_);
    result = where_rounded(group_results_.at(output).tensor, stored, moved);
  } else if (rounds(node, def)) {
    Tensor moved = noisy(*node.outputs[output], stored, terms(node, def, context));
    result = where_rounded(node, def, context, stored, std::move(moved));
  }
}

void Interpreter::run_node(const Node& node, Frame& frame) {
  try {
    const OpDef& def = OpRegistry::instance().require(node);
    std::vector<ValueInfo> infos(node.inputs.size());
    std::vector<const ValueInfo*> known;
    std::vector<const Datum*> inputs;
    std::vector<ElementType> declared;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value* input = node.inputs[i];
      inputs.push_back(input == nullptr ? nullptr : &value(input, frame));
      if (input != nullptr) infos[i] = info_of(*input, *inputs.back());
      known.push_back(input == nullptr ? nullptr : &infos[i]);
      declared.push_back(infos[i].type.is_tensor() ? infos[i].type.tensor.element : ElementType::kUndefined);
    }
    Datum moved;
    const bool is_moved = options_.noise_seed && mode_ != options_.mode && (def.traits & ops::kSteps) != 0;
    if (is_moved && is_float(inputs.at(0)->tensor.type())) {
      moved = moved_in_float(inputs.at(0)->tensor, noise_seed_of(*node.outputs[0]));
      inputs[0] = &moved;
    }
    ops::InferContext inference(node, std::move(known));
    def.infer(inference);
    require_bearable(inference.outputs());
    NodeContext context(node, mode_, std::move(inputs), std::move(declared), inference.outputs(), *this,
                        frame);
    context.set_roundings(inner_roundings(node));
    def.reference(context);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == nullptr) continue;
      Datum& result = context.results()[i];
      if (result.is_tensor() && !result.tensor.is_defined())
        throw internal_error("{} made no output {}", node.op, i);
      const bool inside = mode_ != options_.mode;
      if (inside && (def.traits & ops::kContraction) != 0) group_terms_ = terms(node, def, context);
      if (options_.noise_seed && !inside) add_noise(node, def, context, i);
      if (!inside && result.is_tensor())
        unit_roundoff_ = std::max(unit_roundoff_, node_roundoff(node, def, result.tensor, is_planned(node)));
      bind(frame, node.outputs[i], std::move(result));
    }
  } catch (Error& error) {
    throw error.at_node(node.name);
  }
}

}  // namespace

ReferenceRun run_reference(const Graph& graph, const std::map<std::string, Datum>& inputs,
                           const InterpreterOptions& options) {
  const KeptMemory kept;
  auto ordered = bind_inputs(graph, inputs);
  for (Datum& datum : ordered) datum = to_mode(std::move(datum), options.mode);
  Interpreter interpreter(options);
  ReferenceRun result;
  const Frame whole{.shows = true, .revises = options.revise != nullptr};
  result.outputs = interpreter.run(graph, std::move(ordered), whole);
  result.peak_live_bytes = interpreter.peak_live_bytes();
  result.unit_roundoff = interpreter.unit_roundoff();
  return result;
}

std::map<std::string, Datum> reference_outputs(const Graph& graph, const std::map<std::string, Datum>& inputs,
                                               const InterpreterOptions& options) {
  auto made = run_reference(graph, inputs, options).outputs;
  std::map<std::string, Datum> outputs;
  for (size_t i = 0; i < made.size(); ++i) outputs[graph.outputs[i]->name] = std::move(made[i]);
  return outputs;
}

}  // namespace vernier
