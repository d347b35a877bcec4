// Models of integers, put together node by node and checked against the reference, bit by bit.
#pragma once

#include <gtest/gtest.h>

#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier {

inline constexpr auto kU8 = ElementType::kUint8, kS8 = ElementType::kInt8;

inline constexpr int64_t kOpset = 21;

inline Tensor bytes(ElementType type, Dims dims, unsigned seed) {
  std::mt19937_64 random(seed);
  Tensor result(type, std::move(dims));
  auto* to = static_cast<uint8_t*>(result.mutable_raw());
  for (size_t i = 0; i < result.byte_size(); ++i) to[i] = static_cast<uint8_t>(random());
  return result;
}

// Puts a model together. All scales are powers of two, so that every product and every sum is exact, ties
// included.
class Maker {
 public:
  Maker() { model.graph = std::make_unique<Graph>(), model.ir_version = 10, model.opsets = {{"", kOpset}}; }

  Value* input(ElementType type, const Dims& dims, unsigned seed) {
    Value* value = model.graph->add_input(name("x"), ValueType::of(type, to_shape(dims)));
    data[value->name] = bytes(type, dims, seed);
    return value;
  }
  Value* constant(Tensor tensor) { return model.graph->add_constant(name("c"), std::move(tensor)); }
  Value* reals(const Dims& dims, const std::vector<double>& values, ElementType type = ElementType::kFloat) {
    return constant(Tensor::from_doubles(type, dims, values));
  }
  Value* node(const std::string& op, std::vector<Value*> inputs, AttributeMap attributes = {},
              const std::string& domain = "") {
    auto made = std::make_unique<Node>();
    made->name = name("n");
    made->op = op;
    made->domain = domain;
    made->version = domain.empty() ? kOpset : 1;
    made->inputs = std::move(inputs);
    made->attributes = std::move(attributes);
    made->outputs = {model.graph->add_value(name("v"))};
    return model.graph->add_node(std::move(made))->outputs[0];
  }
  Value* affine(const char* op, Value* value, double scale, double zero_point, ElementType type) {
    return node(op, {value, reals({}, {scale}), reals({}, {zero_point}, type)});
  }
  Value* dequantize(Value* value, double scale, double zero_point, ElementType type) {
    return affine("DequantizeLinear", value, scale, zero_point, type);
  }
  Value* quantize(Value* value, double scale, double zero_point, ElementType type) {
    return affine("QuantizeLinear", value, scale, zero_point, type);
  }
  // Weights of INT8 with a scale for each index of the axis.
  Value* weights(const Dims& dims, int64_t axis, unsigned seed) {
    const int64_t count = dims[static_cast<size_t>(axis)];
    std::vector<double> scales;
    for (int64_t i = 0; i < count; ++i) scales.push_back(std::ldexp(1.0, -static_cast<int>(3 + i % 4)));
    return node("DequantizeLinear", {constant(bytes(ElementType::kInt8, dims, seed)), reals({count}, scales)},
                {{"axis", Attribute(axis)}});
  }
  Value* bias(int64_t count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * 37 % 101) - 50.25);
    return reals({count}, values);
  }

  // The names of the kernels that ran groups of this kind; the outputs are those of the reference.
  std::vector<std::string> run(Value* output, const std::string& kind, const std::string& tactic = "") {
    std::vector<std::string> names;
    Observer observer;
    observer.after = [&](const ObservedStep& seen, int64_t) {
      const Step& step = seen.step();
      if (step.node == nullptr) return;
      const bool wanted = step.node->op == kind ||
                          (step.node->op == "Group" && step.node->attribute<std::string>("kind", "") == kind);
      if (wanted) names.push_back(step.kernel == nullptr ? step.reason : step.kernel->name);
      if (step.kernel == nullptr) ADD_FAILURE() << step.node->op << ": " << step.reason;
    };
    const auto actual = outputs(output, tactic, {}, &observer);
    const auto expected = run_reference(model, data).outputs[0].tensor;
    EXPECT_EQ(actual.dims(), expected.dims());
    EXPECT_EQ(actual.type(), expected.type());
    EXPECT_TRUE(actual.identical(expected));
    return names;
  }

  // Gives what an engine makes of it, where the node that yields `output` has this tactic.
  Tensor outputs(Value* output, const std::string& tactic, const BuildOptions& options = {},
                 const Observer* observer = nullptr) {
    model.graph->outputs = {output};
    ops::infer_types(*model.graph);
    Compiler compiler(model, options);
    std::vector<ValueType> types;
    for (const Value* input : compiler.graph().inputs) types.push_back(input->type);
    const PlanChoices choices{Layout::kChannelsLast, {{output->name, tactic}}};
    if (!tactic.empty()) compiler.prepare(types, choices);
    const auto engine = compiler.engine();
    return Session(engine).run(data, observer).at(output->name).tensor;
  }

  Model model;
  NamedData data;

 private:
  std::string name(const char* stem) { return stem + std::to_string(count_++); }
  int count_ = 0;
};

inline AttributeMap window(const std::vector<int64_t>& pads, int64_t groups = 1) {
  return {{"pads", Attribute(pads)}, {"group", Attribute(groups)}};
}

}  // namespace vernier
