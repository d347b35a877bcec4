// Loop: runs a body up to a trip count (input 0) and while a condition (input 1) holds; either may be left
// out. The body takes (trip, condition, carried values...) and gives (condition, carried values..., elements
// of the scan outputs...). Without the condition input, the condition that the body gives is ignored. Since
// 13, sequences can be carried; since 16, optionals.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/tensor_parts.h"
#include "vernier/ops/support/regions.h"

namespace vernier::ops {

namespace {

constexpr size_t kTripCount = 0, kCondition = 1, kFirstCarried = 2;

struct LoopBody {
  const Graph& graph;
  size_t carried, scanned;
};

LoopBody body_of(const Node& node) {
  const Graph& graph = require_body(node, 1);
  const size_t carried = std::max(node.inputs.size(), kFirstCarried) - kFirstCarried;
  if (graph.inputs.size() != carried + 2 || graph.outputs.size() < carried + 1) {
    throw bad_input("the body '{}' of a Loop that carries {} values has {} inputs and {} outputs", graph.name,
                    carried, graph.inputs.size(), graph.outputs.size());
  }
  return {graph, carried, graph.outputs.size() - 1 - carried};
}

// Trip number and condition are scalars, but some exporters declare them in the body as vectors of one
// element.
Dims scalar_dims(const Value& input) {
  const auto& shape = input.type.tensor.shape;
  return shape && shape->size() == 1 ? Dims{1} : Dims{};
}

ValueInfo trip_info(const Graph& body) {
  ValueInfo info;
  info.type = ValueType::of(ElementType::kInt64, to_shape(scalar_dims(*body.inputs[0])));
  return info;
}

// A body runs only where its condition holds.
ValueInfo condition_info(const Graph& body) {
  const Dims dims = scalar_dims(*body.inputs[1]);
  ValueInfo info;
  info.type = ValueType::of(ElementType::kBool, to_shape(dims));
  info.constant = Tensor::from<bool>(ElementType::kBool, dims, {true});
  info.dims = Shape{1};
  return info;
}

Dim trips(const InferContext& context, const ValueInfo& condition_after) {
  std::optional<bool> first = true, later = true;
  if (context.has(kCondition)) {
    first = known_condition(context.info(kCondition));
    later = known_condition(condition_after);
  }
  if (first == false) return 0;
  if (first == true && later == true && context.has(kTripCount)) {
    if (const auto count = scalar_content(context, kTripCount)) return max(Dim(0), *count);
  }
  return context.fresh("trips");
}

void infer_loop(InferContext& context) {
  const LoopBody body = body_of(context.node());
  std::vector<ValueInfo> inputs = {trip_info(body.graph), condition_info(body.graph)};
  for (size_t i = 0; i < body.carried; ++i) inputs.emplace_back().type = context.type(kFirstCarried + i);
  const auto outputs =
      infer_loop_body(context, body.graph, std::move(inputs), {kFirstCarried, 1, body.carried});

  for (size_t i = 0; i < body.carried; ++i) {
    context.set_type(i, final_type(context, context.type(kFirstCarried + i), outputs[1 + i].type));
  }
  const Dim count = trips(context, outputs[0]);
  for (size_t i = body.carried; i < body.carried + body.scanned; ++i) {
    const ValueType& element = outputs[1 + i].type;
    if (!element.is_tensor())
      throw bad_input("scan output {} of Loop must be a tensor, not {}", i, element.text());
    auto shape = element.tensor.shape;
    if (shape) shape->insert(shape->begin(), count);
    context.set_output(i, element.tensor.element, std::move(shape));
  }
}

void store_scan(ReferenceContext& context, size_t output, const std::vector<Tensor>& elements,
                Dims element_dims) {
  if (!context.wants(output)) return;
  if (!elements.empty()) return context.emit(output, stack_axis(elements, 0));
  element_dims.insert(element_dims.begin(), 0);
  context.allocate(output, std::move(element_dims));
}

bool holds(const Datum& condition) {
  const auto truth = condition.as_tensor().to_ints();
  if (truth.size() != 1)
    throw bad_input("the condition of a Loop must have one element, not {}", truth.size());
  return truth[0] != 0;
}

void reference_loop(ReferenceContext& context) {
  const LoopBody body = body_of(context.node());
  const bool has_condition = context.has(kCondition);
  if (!context.has(kTripCount) && !has_condition)
    throw bad_input("a Loop with neither trip count nor condition never ends");
  const int64_t limit = context.integer(kTripCount, std::numeric_limits<int64_t>::max());
  bool running = !has_condition || holds(context.datum(kCondition));

  const Dims trip_dims = scalar_dims(*body.graph.inputs[0]);
  const Tensor condition = Tensor::from<bool>(ElementType::kBool, scalar_dims(*body.graph.inputs[1]), {true});
  std::vector<Datum> inputs(kFirstCarried);
  for (size_t i = 0; i < body.carried; ++i) inputs.push_back(context.datum(kFirstCarried + i));
  std::vector<std::vector<Tensor>> scans(body.scanned);
  int64_t trip = 0;
  for (; trip < limit && running; ++trip) {
    inputs[0] = Tensor::scalar(trip).reshaped(trip_dims);
    inputs[1] = condition;
    auto outputs = context.run_region(body.graph, std::move(inputs));
    if (has_condition) running = holds(outputs[0]);
    inputs.assign(kFirstCarried, Datum());
    for (size_t i = 0; i < body.carried; ++i) inputs.push_back(std::move(outputs[1 + i]));
    for (size_t i = 0; i < body.scanned; ++i) {
      if (context.wants(body.carried + i)) scans[i].push_back(outputs[1 + body.carried + i].as_tensor());
    }
  }
  for (size_t i = 0; i < body.scanned; ++i) {
    const size_t output = body.carried + i;
    store_scan(context, output, scans[i],
               trip == 0 ? dims_without_run(body.graph, inputs, 1 + output) : Dims{});
  }
  for (size_t i = 0; i < body.carried; ++i) context.emit(i, std::move(inputs[kFirstCarried + i]));
}

}  // namespace

void register_loop(OpRegistry& registry) {
  registry.add({.op = "Loop",
                .operands = {Role::kSizes, Role::kSetting, Role::kState},
                .optional_inputs = 3,
                .repeats = 1,
                .max_outputs = kVariadic,
                .traits = kControlFlow,
                .since = {16, 1},
                .infer = infer_loop,
                .reference = reference_loop});
}

}  // namespace vernier::ops
