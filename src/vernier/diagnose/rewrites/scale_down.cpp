// Powers of two around what is too large for fp16. A scaled value is the true one times 2^-exponent; who
// reads a value that he cannot take scaled gets the true one, which is made again behind it.
#include <cmath>

#include "vernier/diagnose/rewrites/magnitudes.h"
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr double kSafe = 8192;  // of 65504: other samples may be larger

struct Scaled {
  Value* value = nullptr;
  int exponent = 0;
};

bool is_one_of(const Node& node, std::initializer_list<std::string_view> operators) {
  return node.domain.empty() && std::find(operators.begin(), operators.end(), node.op) != operators.end();
}

int even(int exponent) {
  return exponent + exponent % 2;
}

class ScalingDown {
 public:
  ScalingDown(Model& model, std::set<std::string> nodes, const Magnitudes& magnitudes)
      : model_(model), wanted_(std::move(nodes)), magnitudes_(magnitudes) {}

  bool run() {
    std::vector<Node*> order;
    for (const auto& node : model_.graph->nodes()) order.push_back(node.get());
    bool changed = false;
    for (Node* node : order) changed = visit(*node) || changed;
    if (changed) remove_dead_code().run(*model_.graph);
    return changed;
  }

 private:
  // How much smaller the result has to be, or what is added on the way to it.
  int need(const Node& node) const {
    double most = magnitudes_.of(node.output(0));
    if (const auto sum = magnitudes_.sums.find(node.name);
        sum != magnitudes_.sums.end() && wanted_.contains(node.name))
      most = std::max(most, sum->second);
    return most > kSafe ? static_cast<int>(std::ceil(std::log2(most / kSafe))) : 0;
  }

  bool visit(Node& node) {
    if (node.outputs.empty() || node.output(0) == nullptr || node.inputs.empty() ||
        node.input(0) == nullptr || !node.regions.empty())
      return false;
    const bool reads_scaled = std::any_of(node.inputs.begin(), node.inputs.end(),
                                          [&](const Value* input) { return scaled_.contains(input); });
    const int least = need(node);
    const bool has_squares = is_one_of(node, {"LayerNormalization", "InstanceNormalization"});
    if (!reads_scaled && ((least == 0 && !has_squares) || !wanted_.contains(node.name))) return false;
    const ValueType& type = node.input(0)->type;
    if (!type.is_tensor() || !is_float(type.tensor.element)) return false;
    Replacement replacement(model_, node);
    const Scaled made = write(replacement, least);
    if (made.value == nullptr) return false;
    Value* own = node.output(0);
    if (made.exponent == 0) {
      replacement.put();
      return true;
    }
    replacement("Mul", {made.value, replacement.scalar(std::ldexp(1.0, made.exponent))});
    replacement.put();
    // From where it fits again, everything is as it was.
    if (magnitudes_.of(own) > kSafe) scaled_[own] = made;
    return true;
  }

  Scaled of(Value* value) const {
    const auto found = scaled_.find(value);
    return found == scaled_.end() ? Scaled{value, 0} : found->second;
  }

  // The value with that exponent; constants are multiplied here and now.
  Value* brought_to(Replacement& node, Value* value, int exponent) {
    const Scaled now = of(value);
    if (now.exponent == exponent) return now.value;
    const double factor = std::ldexp(1.0, now.exponent - exponent);
    if (const Tensor* held = constant_of(value); held != nullptr && now.exponent == 0) {
      auto values = held->to_doubles();
      for (double& each : values) each *= factor;
      return node.constant(Tensor::from_doubles(held->type(), held->dims(), values));
    }
    return node("Mul", {now.value, node.scalar(factor)});
  }

  Scaled write(Replacement& node, int least) {
    const Node& own = node.node();
    if (own.op == "Mul" || ops::has_trait(own, ops::kProducts)) return write_product(node, least);
    if (is_one_of(own, {"Add", "Sub", "Max", "Min", "Concat", "Sum"})) return write_sum(node, least);
    if (is_one_of(own, {"Relu",      "LeakyRelu", "PRelu",       "Neg",
                        "Abs",       "Identity",  "Transpose",   "Reshape",
                        "Flatten",   "Squeeze",   "Unsqueeze",   "Slice",
                        "Gather",    "MaxPool",   "AveragePool", "GlobalAveragePool",
                        "ReduceMax", "ReduceMin", "ReduceMean",  "ReduceSum",
                        "Expand"}))
      return write_linear(node, least);
    if (own.op == "Pow") return write_power(node, least);
    if (own.op == "Sqrt") {
      const int exponent = even(of(own.input(0)).exponent);
      return {node.same({brought_to(node, own.input(0), exponent)}), exponent / 2};
    }
    if (is_one_of(own, {"LayerNormalization", "InstanceNormalization", "BatchNormalization"}))
      return write_normalisation(node);
    return {};
  }

  Scaled write_product(Replacement& node, int least) {
    const Node& own = node.node();
    std::vector<Value*> operands(own.inputs);
    const bool is_square = own.input(0) == own.input(1);
    int first = of(own.input(0)).exponent, second = of(own.input(1)).exponent;
    if (const int more = std::max(0, least - first - second); is_square) {
      first = second = first + (more + 1) / 2;
    } else if (constant_of(own.input(0)) != nullptr && constant_of(own.input(1)) == nullptr) {
      second += more;
    } else {
      first += more;
    }
    operands[0] = brought_to(node, own.input(0), first);
    operands[1] = is_square ? operands[0] : brought_to(node, own.input(1), second);
    if (own.input(2) != nullptr) operands[2] = brought_to(node, own.input(2), first + second);
    return {node.same(operands), first + second};
  }

  Scaled write_sum(Replacement& node, int least) {
    const Node& own = node.node();
    int exponent = least;
    for (Value* input : own.inputs) exponent = std::max(exponent, of(input).exponent);
    std::vector<Value*> operands;
    for (Value* input : own.inputs) operands.push_back(brought_to(node, input, exponent));
    return {node.same(operands), exponent};
  }

  Scaled write_linear(Replacement& node, int least) {
    std::vector<Value*> operands(node.node().inputs);
    const int exponent = std::max(least, of(operands[0]).exponent);
    operands[0] = brought_to(node, operands[0], exponent);
    return {node.same(operands), exponent};
  }

  Scaled write_power(Replacement& node, int least) {
    const auto power = constant_values(node.input(1));
    if (!power || power->size() != 1) return {};
    const int now = of(node.input(0)).exponent;
    if ((*power)[0] == 2) {
      const int exponent = std::max(now, (least + 1) / 2);
      return {node.same({brought_to(node, node.input(0), exponent), node.input(1)}), 2 * exponent};
    }
    if ((*power)[0] != 0.5) return {};
    return {node.same({brought_to(node, node.input(0), even(now)), node.input(1)}), even(now) / 2};
  }

  // Its result does not depend on the size of what it reads but for epsilon. Squares of what is read must
  // fit.
  Scaled write_normalisation(Replacement& node) {
    const Node& own = node.node();
    const double most = magnitudes_.of(own.input(0));
    const int exponent = std::max(of(own.input(0)).exponent,
                                  most > 16 ? static_cast<int>(std::ceil(std::log2(most / 16))) : 0);
    std::vector<Value*> operands(own.inputs);
    operands[0] = brought_to(node, own.input(0), exponent);
    if (own.op == "BatchNormalization") {  // its statistics are those of what it reads
      operands[3] = brought_to(node, own.input(3), exponent);
      operands[4] = brought_to(node, own.input(4), 2 * exponent);
    }
    Value* result = node.same(operands);
    const double epsilon = ops::real_attribute(own, "epsilon");
    node.last().attributes.insert_or_assign(
        "epsilon", Attribute(static_cast<float>(std::ldexp(epsilon, -2 * exponent))));
    return {result, 0};
  }

  Model& model_;
  std::set<std::string> wanted_;
  const Magnitudes& magnitudes_;
  std::map<const Value*, Scaled> scaled_;
};

}  // namespace

bool scale_down(Model& model, const std::vector<std::string>& nodes, const NamedData& inputs) {
  const Magnitudes magnitudes = magnitudes_of(*model.graph, inputs);
  return ScalingDown(model, {nodes.begin(), nodes.end()}, magnitudes).run();
}

}  // namespace vernier
