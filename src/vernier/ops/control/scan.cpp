// Scan: runs a body once for each element of its scan inputs, carries states and collects scan outputs.
// Inputs are the states, then the scan inputs; the body takes (states..., elements...) and gives (states...,
// output elements...). Opset 8: every input has the batch as axis 0 and the sequence as axis 1, and input 0
// may give the length of each sequence of the batch; outputs behind that length are 0. Since 9 there is no
// batch, and axes and directions can be chosen for scan inputs and scan outputs.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/tensor_parts.h"
#include "vernier/ops/support/regions.h"

namespace vernier::ops {

namespace {

struct ScanBody {
  const Graph& graph;
  bool batched;
  size_t first;  // position of the first state among the node's inputs
  size_t states, scan_inputs, scan_outputs;
};

ScanBody body_of(const Node& node) {
  const Graph& graph = require_body(node);
  const bool batched = node.version < 9;
  const size_t first = batched ? 1 : 0;
  const auto count = node.attribute<int64_t>("num_scan_inputs", 0);
  const auto available = static_cast<int64_t>(node.inputs.size()) - static_cast<int64_t>(first);
  if (count < 1 || count > available)
    throw bad_input("Scan with {} inputs cannot have {} scan inputs", node.inputs.size(), count);
  const auto states = static_cast<size_t>(available - count);
  if (graph.inputs.size() != static_cast<size_t>(available) || graph.outputs.size() < states) {
    throw bad_input("the body '{}' of a Scan with {} states and {} scan inputs has {} inputs and {} outputs",
                    graph.name, states, count, graph.inputs.size(), graph.outputs.size());
  }
  return {graph, batched, first, states, static_cast<size_t>(count), graph.outputs.size() - states};
}

// One entry of an optional list attribute that has one for each scan input or scan output.
int64_t entry(const Node& node, std::string_view name, size_t index) {
  const auto list = node.attribute<std::vector<int64_t>>(name, {});
  if (!list.empty() && index >= list.size())
    throw bad_input("'{}' has {} entries, too few", name, list.size());
  return list.empty() ? 0 : list[index];
}

int64_t input_axis(const ScanBody& body, const Node& node, size_t index) {
  return body.batched ? 0 : entry(node, "scan_input_axes", index);
}

bool input_reversed(const ScanBody& body, const Node& node, size_t index) {
  return entry(node, body.batched ? "directions" : "scan_input_directions", index) != 0;
}

// Takes the first size off the shape.
Dim take_batch(std::optional<Shape>& shape) {
  if (!shape || shape->empty()) throw bad_input("an input of this Scan must have the batch as axis 0");
  Dim batch = shape->front();
  shape->erase(shape->begin());
  return batch;
}

// Holds what inference knows of the sizes that all scan inputs share.
struct Extent {
  std::optional<Dim> batch, length;
};

void agree(std::optional<Dim>& known, const Dim& found, const char* what) {
  if (!known || !known->is_constant())
    known = found;
  else if (found.is_constant() && found != *known)
    throw bad_input("the {} of the scan inputs differ: {} and {}", what, known->text(), found.text());
}

ValueInfo body_input(const InferContext& context, const ScanBody& body, size_t index, Extent& extent) {
  ValueInfo info;
  info.type = context.type(body.first + index);
  if (index < body.states && !body.batched) return info;
  context.element(body.first + index);
  auto& shape = info.type.tensor.shape;
  if (!shape) return info;
  if (body.batched) agree(extent.batch, take_batch(shape), "batch sizes");
  if (index < body.states) return info;
  const int64_t axis = normalize_axis(input_axis(body, context.node(), index - body.states),
                                      static_cast<int64_t>(shape->size()));
  agree(extent.length, (*shape)[static_cast<size_t>(axis)], "lengths");
  shape->erase(shape->begin() + axis);
  return info;
}

void infer_scan(InferContext& context) {
  const ScanBody body = body_of(context.node());
  Extent extent;
  std::vector<ValueInfo> inputs;
  for (size_t i = 0; i < body.states + body.scan_inputs; ++i)
    inputs.push_back(body_input(context, body, i, extent));
  const auto initial = inputs;
  const auto outputs = infer_loop_body(context, body.graph, std::move(inputs), {0, 0, body.states});
  const Dim length = extent.length ? *extent.length : context.fresh("length");
  const Dim batch = body.batched && !extent.batch ? context.fresh("batch") : extent.batch.value_or(1);

  for (size_t i = 0; i < body.states + body.scan_outputs; ++i) {
    ValueType type =
        i < body.states ? final_type(context, initial[i].type, outputs[i].type) : outputs[i].type;
    if (i >= body.states && !type.is_tensor())
      throw bad_input("scan output {} must be a tensor, not {}", i, type.text());
    if (auto& shape = type.tensor.shape) {
      if (i >= body.states) {
        const int64_t axis = body.batched ? 0 : entry(context.node(), "scan_output_axes", i - body.states);
        shape->insert(shape->begin() + normalize_axis(axis, static_cast<int64_t>(shape->size()) + 1), length);
      }
      if (body.batched) shape->insert(shape->begin(), batch);
    }
    context.set_type(i, std::move(type));
  }
}

// One run over one sequence: the final states, and the elements of each scan output in the order they were
// made.
struct SequenceRun {
  std::vector<Datum> states;
  std::vector<std::vector<Tensor>> scans;
};

SequenceRun run_sequence(ReferenceContext& context, const ScanBody& body, std::vector<Datum> states,
                         const std::vector<Tensor>& sequences, int64_t length) {
  SequenceRun run{std::move(states), std::vector<std::vector<Tensor>>(body.scan_outputs)};
  for (int64_t t = 0; t < length; ++t) {
    std::vector<Datum> inputs = std::move(run.states);
    for (size_t i = 0; i < body.scan_inputs; ++i) {
      const int64_t at = input_reversed(body, context.node(), i) ? length - 1 - t : t;
      inputs.emplace_back(select_axis(sequences[i], input_axis(body, context.node(), i), at));
    }
    auto outputs = context.run_region(body.graph, std::move(inputs));
    for (size_t i = 0; i < body.scan_outputs; ++i)
      run.scans[i].push_back(outputs[body.states + i].as_tensor());
    outputs.resize(body.states);
    run.states = std::move(outputs);
  }
  return run;
}

// The elements that `output` has where no trip makes one.
Tensor zero_element(const ReferenceContext& context, const ScanBody& body, const std::vector<Datum>& states,
                    size_t output) {
  return Tensor(context.out_storage(output), dims_without_run(body.graph, states, output));
}

Tensor stack_or_empty(const std::vector<Tensor>& elements, int64_t axis, const Tensor& zero) {
  if (!elements.empty()) return stack_axis(elements, axis);
  Dims dims = zero.dims();
  dims.insert(dims.begin() + normalize_axis(axis, zero.rank() + 1), 0);
  return Tensor(zero.type(), std::move(dims));
}

void scan_one(ReferenceContext& context, const ScanBody& body) {
  std::vector<Datum> states;
  std::vector<Tensor> sequences;
  for (size_t i = 0; i < body.states; ++i) states.push_back(context.datum(i));
  for (size_t i = 0; i < body.scan_inputs; ++i) sequences.push_back(context.in(body.states + i));
  const int64_t first_axis = normalize_axis(input_axis(body, context.node(), 0), sequences[0].rank());
  auto run = run_sequence(context, body, std::move(states), sequences,
                          sequences[0].dims()[static_cast<size_t>(first_axis)]);

  for (size_t i = 0; i < body.scan_outputs; ++i) {
    const size_t output = body.states + i;
    if (!context.wants(output)) continue;
    auto& elements = run.scans[i];
    if (entry(context.node(), "scan_output_directions", i) != 0)
      std::reverse(elements.begin(), elements.end());
    const Tensor zero = elements.empty() ? zero_element(context, body, run.states, output) : Tensor();
    context.emit(output, stack_or_empty(elements, entry(context.node(), "scan_output_axes", i), zero));
  }
  for (size_t i = 0; i < body.states; ++i) context.emit(i, std::move(run.states[i]));
}

void scan_batch(ReferenceContext& context, const ScanBody& body) {
  const Dims& first = context.dims(body.first + body.states);
  if (first.size() < 2) throw bad_input("a scan input of this Scan needs a batch and a sequence axis");
  const int64_t batch = first[0], longest = first[1];
  auto lengths =
      context.has(0) ? context.int_list(0) : std::vector<int64_t>(static_cast<size_t>(batch), longest);
  if (static_cast<int64_t>(lengths.size()) != batch)
    throw bad_input("{} sequence lengths for a batch of {}", lengths.size(), batch);

  std::vector<std::vector<Tensor>> results(body.states + body.scan_outputs);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > longest)
      throw bad_input("sequence length {} is outside of [0, {}]", length, longest);
    std::vector<Datum> states;
    std::vector<Tensor> sequences;
    for (size_t i = 0; i < body.states; ++i) states.emplace_back(select_axis(context.in(1 + i), 0, b));
    for (size_t i = 0; i < body.scan_inputs; ++i)
      sequences.push_back(select_axis(context.in(1 + body.states + i), 0, b));
    auto run = run_sequence(context, body, std::move(states), sequences, length);
    for (size_t i = 0; i < body.states; ++i) results[i].push_back(run.states[i].as_tensor());
    for (size_t i = 0; i < body.scan_outputs; ++i) {
      auto& elements = run.scans[i];
      const size_t output = body.states + i;
      const Tensor zero = elements.empty() ? zero_element(context, body, run.states, output)
                                           : Tensor(elements[0].type(), elements[0].dims());
      elements.resize(static_cast<size_t>(longest), zero);
      results[output].push_back(stack_or_empty(elements, 0, zero));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (context.wants(i)) context.emit(i, stack_axis(results[i], 0));
  }
}

void reference_scan(ReferenceContext& context) {
  const ScanBody body = body_of(context.node());
  if (body.batched)
    scan_batch(context, body);
  else
    scan_one(context, body);
}

}  // namespace

void register_scan(OpRegistry& registry) {
  registry.add({.op = "Scan",
                .operands = {Role::kData},
                .repeats = 1,
                .max_outputs = kVariadic,
                .attributes = {{"num_scan_inputs", "INT"},
                               {"directions", "INTS"},
                               {"scan_input_axes", "INTS"},
                               {"scan_output_axes", "INTS"},
                               {"scan_input_directions", "INTS"},
                               {"scan_output_directions", "INTS"}},
                .traits = kControlFlow,
                .since = {16, 8},
                .infer = infer_scan,
                .reference = reference_scan});
}

}  // namespace vernier::ops
