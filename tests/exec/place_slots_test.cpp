// Random plans of kernels that overwrite their inputs, parts of tensors and joined ones: every value is what
// it is with memory of its own.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "vernier/exec/execution.h"
#include "vernier/ops/infer_graph.h"

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

// A graph of vectors; of some what is expected is known.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed), graph_(std::make_unique<Graph>()) {
    for (int i = 0; i < 2; ++i) {
      const std::string name = "in" + std::to_string(i);
      std::vector<float> content(1 + random_() % 9);
      for (float& each : content) each = static_cast<float>(random_() % 1000);
      inputs_.push_back(Tensor::from(ElementType::kFloat, {static_cast<int64_t>(content.size())}, content));
      remember(
          graph_->add_input(name, ValueType::of(ElementType::kFloat, to_shape(inputs_.back().tensor.dims()))),
          std::move(content));
    }
    for (int i = 0; i < 24; ++i) add();
    for (int i = 0; i < 4; ++i) graph_->outputs.push_back(values_[random_() % values_.size()]);
    ops::infer_types(*graph_);
  }

  std::unique_ptr<Graph> take() { return std::move(graph_); }
  const std::vector<Datum>& inputs() const { return inputs_; }
  const std::vector<float>& expected(const Value* value) const { return content_.at(value); }

 private:
  Value* pick() { return values_[random_() % values_.size()]; }
  void remember(Value* value, std::vector<float> content) {
    values_.push_back(value);
    content_[value] = std::move(content);
  }
  Value* ints(std::vector<int64_t> values) {
    return graph_->add_constant(
        "ints" + std::to_string(counter_++),
        Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values));
  }
  std::vector<Value*> make(const std::string& op, std::vector<Value*> inputs, size_t outputs = 1) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->name = op + std::to_string(counter_++);
    node->version = 13;
    node->provenance = {node->name};
    node->inputs = std::move(inputs);
    if (op == "Concat" || op == "Split") node->attributes["axis"] = int64_t{0};
    for (size_t i = 0; i < outputs; ++i)
      node->outputs.push_back(graph_->add_value(node->name + "." + std::to_string(i)));
    return graph_->add_node(std::move(node))->outputs;
  }

  void add() {
    Value* a = pick();
    const std::vector<float> x = content_[a];
    switch (random_() % 6) {
      case 0:
      case 1: {
        std::vector<float> y;
        for (const float each : x) y.push_back(-each);
        return remember(make("Neg", {a})[0], std::move(y));
      }
      case 2: {
        for (Value* b : values_) {
          if (b == a || content_[b].size() != x.size()) continue;
          std::vector<float> y;
          for (size_t i = 0; i < x.size(); ++i) y.push_back(x[i] + content_[b][i]);
          return remember(make("Add", {a, b})[0], std::move(y));
        }
        return;
      }
      case 3: {
        std::vector<Value*> parts{a, pick(), pick()};
        std::vector<float> y;
        for (const Value* part : parts) y.insert(y.end(), content_[part].begin(), content_[part].end());
        if (y.size() < 200) remember(make("Concat", parts)[0], std::move(y));
        return;
      }
      case 4: {
        if (x.size() < 2) return;
        const auto cut = static_cast<std::ptrdiff_t>(1 + random_() % (x.size() - 1));
        const auto size = static_cast<std::ptrdiff_t>(x.size());
        const auto parts = make("Split", {a, ints({cut, size - cut})}, 2);
        remember(parts[0], {x.begin(), x.begin() + cut});
        return remember(parts[1], {x.begin() + cut, x.end()});
      }
      default: {
        const auto first = static_cast<std::ptrdiff_t>(random_() % x.size());
        return remember(make("Slice", {a, ints({first}), ints({INT64_MAX})})[0],
                        {x.begin() + first, x.end()});
      }
    }
  }

  std::mt19937 random_;
  std::unique_ptr<Graph> graph_;
  std::vector<Datum> inputs_;
  std::vector<Value*> values_;
  std::map<const Value*, std::vector<float>> content_;
  int counter_ = 0;
};

TEST(PlaceSlots, RandomPlansComputeWhatTheirNodesMean) {
  Kernels kernels;
  kernels.scratch = 100;
  PackedConstants packed;
  Scratch arena;  // what earlier plans left in it must not matter
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomGraph random(seed);
    auto plan = std::make_shared<const Plan>(make_plan(random.take(), kernels, {}, packed));
    NodeRunner nodes(kernels);
    Execution execution(plan, nodes, arena);
    std::vector<Datum> outputs;
    for (int run = 0; run < 2; ++run) {  // the second writes into the first's outputs
      execution.run(random.inputs(), outputs);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const auto is = outputs[i].tensor.values<float>();
        const auto& wanted = random.expected(plan->graph->outputs[i]);
        ASSERT_EQ(std::vector<float>(is.begin(), is.end()), wanted) << "seed " << seed << " output " << i;
      }
    }
    // What is made is what was meant at the time, for every value.
    StepObserver observer;
    observer.made = [&](const Value& value, const Datum& datum) {
      const auto is = datum.tensor.values<float>();
      ASSERT_EQ(std::vector<float>(is.begin(), is.end()), random.expected(&value)) << "seed " << seed;
    };
    execution.run(random.inputs(), outputs, {.observer = &observer});
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
  NodeRunner nodes(kernels);
  Scratch arena;
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
