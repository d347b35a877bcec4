// Random plans of kernels that overwrite their inputs, parts of tensors and joined ones: every value is what
// it is with memory of its own.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "random_graph.h"
#include "vernier/exec/execution.h"

namespace vernier {
namespace {

class Compute : public Kernel {
 public:
  Compute(std::string op, std::vector<int64_t> sizes, int64_t size, size_t scratch)
      : op_(std::move(op)), sizes_(std::move(sizes)), size_(size) {
    if (op_ != "Concat") in_place = 0;
    scratch_bytes = scratch;
  }
  void run(const KernelArguments& arguments) const override {
    if (scratch_bytes > 0) std::memset(arguments.scratch, 0xA5, scratch_bytes);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    if (op_ == "Concat") {
      for (size_t i = 0; i < sizes_.size(); y += sizes_[i++]) {
        if (arguments.inputs[i] != y)
          std::memcpy(y, arguments.inputs[i], static_cast<size_t>(sizes_[i]) * sizeof(float));
      }
      return;
    }
    const auto* a = static_cast<const float*>(arguments.inputs[0]);
    const auto* b = op_ == "Add" ? static_cast<const float*>(arguments.inputs[1]) : a;
    for (int64_t i = 0; i < size_; ++i) y[i] = op_ == "Add" ? a[i] + b[i] : -a[i];
  }

 private:
  std::string op_;
  std::vector<int64_t> sizes_;
  int64_t size_;
};

class Kernels : public Backend {
 public:
  size_t scratch = 0;  // of each kernel
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string&) const override {
    std::vector<int64_t> sizes;
    for (const auto& input : request.inputs) sizes.push_back(input->size());
    return std::make_unique<Compute>(request.node.op, std::move(sizes), request.out().size(), scratch);
  }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
};

TEST(PlaceSlots, RandomPlansComputeWhatTheirNodesMean) {
  Kernels kernels;
  kernels.scratch = 100;
  PackedConstants packed;
  SessionMemory arena;  // what earlier plans left in it must not matter
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomGraph random(seed);
    auto plan = std::make_shared<const Plan>(make_plan(random.take(), kernels, {}, packed));
    DynamicShapeExecutor nodes(kernels);
    Execution execution(plan, nodes, arena);
    SCOPED_TRACE(seed);
    expect_what_nodes_mean(execution, kernels, random, 2);
  }
}

Plan plan_of(const std::string& last_op, const Kernels& kernels = {}) {
  auto graph = std::make_unique<Graph>();
  const auto type = ValueType::of(ElementType::kFloat, Shape{16});
  Value *x = graph->add_input("x", type), *z = graph->add_input("z", type);
  const auto add = [&](const std::string& op, std::vector<Value*> inputs) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->version = 13;
    node->inputs = std::move(inputs);
    if (op == "Concat") node->attributes["axis"] = int64_t{0};
    node->outputs = {graph->add_value("v" + std::to_string(graph->values().size()))};
    return graph->add_node(std::move(node))->output(0);
  };
  Value* joined = add("Concat", {add("Neg", {x}), z, add("Neg", {z})});
  graph->outputs = {last_op.empty() ? joined : add(last_op, {joined})};
  ops::infer_types(*graph);
  PackedConstants packed;
  return make_plan(std::move(graph), kernels, {}, packed);
}

TEST(PlaceSlots, PartsAreMadeInsideTheWhole) {
  const Plan plan = plan_of("Neg");
  const Step& concat = plan.steps[2];
  const auto part = [&](size_t i) { return plan.slots[static_cast<size_t>(concat.inputs[i])]; };
  const SlotId whole = plan.slots[static_cast<size_t>(concat.outputs[0])].storage;
  EXPECT_EQ(part(0).storage, whole);
  EXPECT_EQ(part(0).within, 0U);
  EXPECT_EQ(part(1).home, Slot::Home::kInput);  // the caller's: copied
  EXPECT_EQ(part(2).storage, whole);
  EXPECT_EQ(part(2).within, 2 * 16 * sizeof(float));
  EXPECT_EQ(plan.arena_bytes, 3 * 16 * sizeof(float));
}

// ScatterElements of a tensor into itself, say, moves what it reads.
TEST(PlaceSlots, WhatAStepReadsTwiceIsNotOverwritten) {
  const auto overwrites = [](bool twice) {
    auto graph = std::make_unique<Graph>();
    Value* x = graph->add_input("x", ValueType::of(ElementType::kFloat, Shape{16}));
    const auto add = [&](const std::string& op, std::vector<Value*> inputs) {
      auto node = std::make_unique<Node>();
      node->op = op;
      node->version = 13;
      node->inputs = std::move(inputs);
      node->outputs = {graph->add_value("v" + std::to_string(graph->values().size()))};
      return graph->add_node(std::move(node))->output(0);
    };
    Value *first = add("Neg", {x}), *second = add("Neg", {x});
    graph->outputs = {add("Neg", {add("Add", {first, twice ? first : second})})};
    ops::infer_types(*graph);
    PackedConstants packed;
    const Plan plan = make_plan(std::move(graph), Kernels{}, {}, packed);
    const auto storage = [&](SlotId id) { return plan.slots[static_cast<size_t>(id)].storage; };
    return storage(plan.steps.at(2).inputs[0]) == storage(plan.steps.at(2).outputs[0]);
  };
  EXPECT_TRUE(overwrites(false));
  EXPECT_FALSE(overwrites(true));
}

TEST(PlaceSlots, KernelsWorkInTheArena) {
  Kernels kernels;
  kernels.scratch = 1000;
  const Plan plan = plan_of("Neg", kernels);
  constexpr size_t kWhole = 3 * 16 * sizeof(float);
  EXPECT_EQ(plan.peak_bytes, kWhole + 1000);
  EXPECT_EQ(plan.arena_bytes, kWhole + 1024);  // whole cache lines
  for (const Step& step : plan.steps) EXPECT_LE(step.scratch + 1000, plan.arena_bytes);
}

TEST(PlaceSlots, PlansShareAnArenaThatGrows) {
  const Kernels kernels;
  PackedConstants packed;
  DynamicShapeExecutor nodes(kernels);
  SessionMemory arena;
  std::vector<std::unique_ptr<Execution>> executions;
  for (const int64_t size : {10, 1000, 100000}) {
    auto graph = std::make_unique<Graph>();
    Value* x = graph->add_input("x", ValueType::of(ElementType::kFloat, Shape{size}));
    for (int i = 0; i < 3; ++i) {
      auto node = std::make_unique<Node>();
      node->op = "Neg";
      node->version = 13;
      node->inputs = {x};
      node->outputs = {x = graph->add_value("v" + std::to_string(i))};
      graph->add_node(std::move(node));
    }
    graph->outputs = {x};
    ops::infer_types(*graph);
    auto plan = std::make_shared<const Plan>(make_plan(std::move(graph), kernels, {}, packed));
    executions.push_back(std::make_unique<Execution>(plan, nodes, arena));
    for (const auto& execution : executions) {
      const int64_t count = execution->plan().slots[0].operand.size();
      const std::vector<float> content(static_cast<size_t>(count), 5.0F);
      std::vector<Datum> outputs;
      execution->run(std::vector<Datum>{Tensor::from(ElementType::kFloat, {count}, content)}, outputs);
      for (const float value : outputs[0].tensor.values<float>()) ASSERT_EQ(value, -5);
    }
  }
}

TEST(PlaceSlots, PartsAreMadeInsideTheCallersMemory) {
  const Plan plan = plan_of("");
  EXPECT_EQ(plan.arena_bytes, 0U);
  EXPECT_EQ(plan.slots[static_cast<size_t>(plan.steps[2].inputs[0])].home, Slot::Home::kOutput);
}

}  // namespace
}  // namespace vernier
