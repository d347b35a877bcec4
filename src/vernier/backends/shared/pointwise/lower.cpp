// Nodes to instructions of a typed program.
#include "vernier/backends/shared/pointwise/lowering.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/legacy_broadcast.h"

namespace vernier::pointwise {

namespace {

using Register = Lowering::Register;

// Attributes that operators are computed with.
struct AttributeRow {
  std::string_view op;
  const char *alpha, *beta;
};
constexpr AttributeRow kAttributes[] = {
    {"LeakyRelu", "alpha", ""},  {"ThresholdedRelu", "alpha", ""}, {"Elu", "alpha", ""},
    {"Celu", "alpha", ""},       {"Swish", "alpha", ""},           {"HardSigmoid", "alpha", "beta"},
    {"Shrink", "lambd", "bias"}, {"Selu", "alpha", "gamma"},       {"QuickGelu", "alpha", ""},
};

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

std::pair<double, double> attributes(const Node& node) {
  for (const AttributeRow& row : kAttributes) {
    if (row.op != node.op) continue;
    return {ops::real_attribute(node, row.alpha),
            *row.beta == '\0' ? 0 : ops::real_attribute(node, row.beta)};
  }
  return {0, 0};
}

}  // namespace

Program Lowering::run() {
  if (ops::is_group(request_.node)) {
    name_inputs();
    run_group(ops::body(request_.node));
    return std::move(program_);
  }
  return run([this](Lowering&) { return lower(request_.node); });
}

Program Lowering::run(const std::function<Register(Lowering&)>& made) {
  name_inputs();
  store(made(*this), 0, request_.out().element);
  return std::move(program_);
}

void Lowering::name_inputs() {
  const Node& node = request_.node;
  const auto& values = ops::is_group(node) ? ops::body(node).inputs : node.inputs;
  for (size_t i = 0; i < values.size(); ++i) inputs_.try_emplace(values[i], i);
}

void Lowering::run_group(const Graph& body) {
  for (const auto& node : body.nodes()) run_member(body, *node);
}

void Lowering::run_member(const Graph& body, const Node& node) {
  const Register exact = follow(node);
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    if (body.outputs[i] == node.output(0)) store(exact, i, node.output(0)->type.tensor.element);
  }
}

Program Lowering::run_before_last() {
  const Graph& body = ops::body(request_.node);
  const Node& last = *body.nodes().back();
  name_inputs();
  for (const auto& node : body.nodes()) {
    if (node.get() != &last) run_member(body, *node);
  }
  const auto result = std::find(body.outputs.begin(), body.outputs.end(), last.output(0));
  store(read(last, 0), static_cast<size_t>(result - body.outputs.begin()), element_of(last.input(0)));
  return std::move(program_);
}

Register Lowering::follow(const Node& node) {
  const Value* value = node.output(0);
  const auto dims = value->type.tensor.shape ? to_dims(*value->type.tensor.shape) : std::nullopt;
  if (node.outputs.size() != 1 || dims != request_.out().dims)
    throw Refused{fmt::format("{} makes something of other sizes", node.op)};
  const Register exact = lower(node);
  give(value, round(exact, value->type.tensor.element));
  return exact;
}

// Sizes of an operand of a node.
Dims Lowering::dims_of(const Value* value) const {
  const auto input = inputs_.find(value);
  if (input != inputs_.end()) return request_.in(input->second).dims;
  const auto dims = value->type.tensor.shape ? to_dims(*value->type.tensor.shape) : std::nullopt;
  return dims.value_or(request_.out().dims);
}

Register Lowering::read(const Node& node, size_t at) {
  const Value* value = node.input(at);
  if (const auto made = values_.find(value); made != values_.end()) return made->second;
  const size_t input = input_of(value);
  Dims aligned = request_.in(input).dims;
  if (at == 1 && node.inputs.size() == 2)
    aligned = ops::legacy_shape(node, dims_of(node.input(0)), std::move(aligned));
  return load(input, aligned);
}

size_t Lowering::input_of(const Value* value) const {
  const auto input = inputs_.find(value);
  if (input == inputs_.end()) throw Refused{"an operand from elsewhere"};
  return input->second;
}

ElementType Lowering::result_type(const Node& node) const {
  return ops::is_group(request_.node) ? node.output(0)->type.tensor.element : request_.out().element;
}

ElementType Lowering::element_of(const Value* value) const {
  const auto input = inputs_.find(value);
  return input == inputs_.end() ? value->type.tensor.element : request_.in(input->second).element;
}

Register Lowering::apply(std::string_view op, const std::vector<Register>& operands, double alpha,
                         double beta) {
  const ElementType type = operands[0].type;
  Instruction instruction{.kind = Instruction::Kind::kApply, .op = std::string(op), .type = type};
  for (const Register& operand : operands) {
    if (operand.type != type) throw Refused{fmt::format("{} of operands of different types", op)};
    instruction.from.push_back(operand.id);
  }
  instruction.alpha = alpha;
  instruction.beta = beta;
  return add(std::move(instruction));
}

Register Lowering::fold(const Node& node, std::string_view op) {
  Register result = read(node, 0);
  for (size_t i = 1; i < node.inputs.size(); ++i) result = apply(op, {result, read(node, i)});
  return result;
}

Register Lowering::lower(const Node& node) {
  if (const auto quantized = lower_quantized(*this, node)) return *quantized;
  if (node.domain == "com.microsoft") return lower_microsoft(node);
  if (!node.domain.empty()) throw Refused{"no pointwise operator of ONNX"};
  const std::string& op = node.op;
  if (op == "Sum") return fold(node, "Add");
  if (op == "Max" || op == "Min") return fold(node, op);
  if (op == "Mean") {
    const Register sum = fold(node, "Add");
    return apply("Div", {sum, immediate(sum.type, static_cast<double>(node.inputs.size()))});
  }
  if (op == "Clip") return clip(node);
  if (op == "Cast" || op == "CastLike") return cast_node(node);
  if (op == "Where") return where(node);
  if (op == "Pow") return power(node);
  if (op == "Mod") return fold(node, ops::integer_attribute(node, "fmod") != 0 ? "Fmod" : "Mod");
  if (op == "BitShift")
    return fold(node, ops::text_attribute(node, "direction") == "LEFT" ? "ShiftLeft" : "ShiftRight");
  if (op == "PRelu" && node.version < 7 && dims_of(node.input(1)).size() == 1 &&
      dims_of(node.input(0)).size() > 2)
    throw Refused{"a slope along the channels, as before opset 7"};
  if (op == "Gelu")
    return apply(ops::text_attribute(node, "approximate") == "tanh" ? "GeluTanh" : "Gelu", {read(node, 0)});
  if (is_one_of(op, {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN", "IsInf"}))
    return predicate(node);
  if (node.inputs.size() > 2) throw Refused{fmt::format("{} is not computed element by element", op)};
  std::vector<Register> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(read(node, i));
  const auto [alpha, beta] = attributes(node);
  return apply(op, operands, alpha, beta);
}

// Gelu and its relatives, of a sum.
Register Lowering::lower_microsoft(const Node& node) {
  const std::string& op = node.op;
  if (!is_one_of(op, {"Gelu", "BiasGelu", "FastGelu", "QuickGelu", "BiasAdd"}))
    throw Refused{fmt::format("{} is not computed element by element", op)};
  Register sum = read(node, 0);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != nullptr) sum = apply("Add", {sum, read(node, i)});
  }
  if (op == "BiasAdd") return sum;
  if (op == "QuickGelu") return apply("Swish", {sum}, attributes(node).first);
  return apply(op == "FastGelu" ? "GeluTanh" : "Gelu", {sum});
}

Register Lowering::clip(const Node& node) {
  constexpr int64_t kBoundsAreInputs = 11;
  Register result = read(node, 0);
  for (const size_t bound : {1, 2}) {
    const char* loop = bound == 1 ? "Max" : "Min";
    if (node.version >= kBoundsAreInputs) {
      if (node.input(bound) == nullptr) continue;
      if (element_count(dims_of(node.input(bound))) != 1) throw Refused{"a bound of Clip that is no scalar"};
      result = apply(loop, {result, read(node, bound)});
    } else {
      const auto value = ops::clip_bound_attribute(node, bound == 1 ? "min" : "max");
      if (value) result = apply(loop, {result, immediate(result.type, *value)});
    }
  }
  return result;
}

Register Lowering::cast_node(const Node& node) {
  const ElementType from = element_of(node.input(0));
  const ElementType to = result_type(node);
  const Register value = read(node, 0);
  return from == to ? value : cast(value, to);
}

Register Lowering::where(const Node& node) {
  const Register condition = read(node, 0), yes = read(node, 1), no = read(node, 2);
  if (condition.type != ElementType::kBool || yes.type != no.type) throw Refused{"Where of other types"};
  return select(condition, yes, no);
}

Register Lowering::predicate(const Node& node) {
  std::vector<Register> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(read(node, i));
  if (operands.size() == 2 && operands[0].type != operands[1].type)
    throw Refused{fmt::format("{} of operands of different types", node.op)};
  Instruction instruction{.kind = Instruction::Kind::kPredicate, .op = node.op, .type = ElementType::kBool};
  instruction.operand_type = operands[0].type;
  for (const Register& operand : operands) instruction.from.push_back(operand.id);
  instruction.alpha = static_cast<double>(ops::integer_attribute(node, "detect_negative"));
  instruction.beta = static_cast<double>(ops::integer_attribute(node, "detect_positive"));
  return add(std::move(instruction));
}

std::optional<double> Lowering::scalar(const Value* value) const {
  const auto input = inputs_.find(value);
  if (input == inputs_.end()) return std::nullopt;
  const Tensor* content = request_.in(input->second).constant;
  if (content == nullptr || content->size() != 1) return std::nullopt;
  return content->to_doubles()[0];
}

Register Lowering::power(const Node& node) {
  const Register base = read(node, 0);
  if (is_float(base.type)) {
    const auto exponent = scalar(node.input(1));
    if (exponent == 2.0) return apply("Mul", {base, base});
    if (exponent == 1.0) return base;
    if (exponent == -1.0) return apply("Reciprocal", {base});
  }
  const Register exponent = read(node, 1);
  if (exponent.type == base.type) return apply("Pow", {base, exponent});
  if (!is_float(base.type)) throw Refused{"an integer to a power of another type"};
  return apply("Pow", {base, cast(exponent, base.type)});
}

ElementType register_type(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBFloat16 ? ElementType::kFloat : type;
}

Register Lowering::add(Instruction instruction) {
  program_.push_back(std::move(instruction));
  return {program_.size() - 1, program_.back().type};
}

Register Lowering::load(size_t input, const Dims& aligned) {
  for (size_t i = 0; i < program_.size(); ++i) {
    const Instruction& known = program_[i];
    if (known.kind == Instruction::Kind::kLoad && known.index == input && known.dims == aligned)
      return {i, known.type};
  }
  const ElementType type = register_type(request_.in(input).element);
  return add({.kind = Instruction::Kind::kLoad, .type = type, .index = input, .dims = aligned});
}

Register Lowering::immediate(ElementType type, double value) {
  return add({.kind = Instruction::Kind::kImmediate, .type = type, .alpha = value});
}

Register Lowering::cast(Register value, ElementType to) {
  const ElementType type = register_type(to);
  if (value.type == to) return value;
  if (value.type == type) return round(value, to);
  return add({.kind = Instruction::Kind::kCast,
              .type = type,
              .operand_type = value.type,
              .to = to,
              .from = {value.id}});
}

Register Lowering::round(Register value, ElementType type) {
  if (value.type == type) return value;
  return add({.kind = Instruction::Kind::kRound, .type = value.type, .to = type, .from = {value.id}});
}

Register Lowering::select(Register condition, Register yes, Register no) {
  return add({.kind = Instruction::Kind::kSelect, .type = yes.type, .from = {condition.id, yes.id, no.id}});
}

Register Lowering::saturate(Register value, ElementType to) {
  return add({.kind = Instruction::Kind::kSaturate, .type = to, .to = to, .from = {value.id}});
}

Register Lowering::quantize(Register value, ElementType to, double scale, double zero_point) {
  return add({.kind = Instruction::Kind::kQuantize,
              .type = to,
              .to = to,
              .from = {value.id},
              .alpha = scale,
              .beta = zero_point});
}

Register Lowering::dequantize(Register value, double scale, double zero_point) {
  return add({.kind = Instruction::Kind::kDequantize,
              .type = ElementType::kFloat,
              .operand_type = value.type,
              .from = {value.id},
              .alpha = scale,
              .beta = zero_point});
}

void Lowering::store(Register value, size_t output, ElementType type) {
  add({.kind = Instruction::Kind::kStore,
       .type = value.type,
       .operand_type = value.type,
       .to = type,
       .from = {value.id},
       .index = output});
}

std::optional<Program> lower(const KernelRequest& request, std::string& reason) {
  try {
    return Lowering(request).run();
  } catch (const Refused& refused) {
    reason = refused.reason;
    return std::nullopt;
  }
}

}  // namespace vernier::pointwise
