// Random graphs of what plans place: values that kernels overwrite, parts of tensors, and joined ones.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "vernier/exec/execution.h"
#include "vernier/exec/probing/lone_step.h"
#include "vernier/exec/probing/observer.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

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

// Runs the plan of the graph so often, each time into the outputs of the run before, and once more with every
// step looked at: what it reads before it, what it makes after it, and what it makes of the same by itself.
inline void expect_what_nodes_mean(Execution& execution, const Backend& host, const RandomGraph& random,
                                   int runs) {
  const auto expect = [&](const Value* value, const Datum& datum) {
    const auto is = datum.tensor.values<float>();
    EXPECT_EQ(std::vector<float>(is.begin(), is.end()), random.expected(value)) << value->name;
  };
  std::vector<Datum> outputs;
  for (int run = 0; run < runs; ++run) {
    execution.run(random.inputs(), outputs);
    for (size_t i = 0; i < outputs.size(); ++i) expect(execution.plan().graph->outputs[i], outputs[i]);
  }
  Observer observer;
  std::vector<Datum> read;
  size_t before = 0, after = 0;
  observer.before = [&](const ObservedStep& seen) {
    ++before;
    read = seen.inputs();
    for (size_t i = 0; i < read.size(); ++i) {
      if (!read[i].tensor.is_defined()) continue;
      read[i].tensor.mutable_raw();  // an output may come to lie there
      const Slot& slot = seen.plan().slots[static_cast<size_t>(seen.step().inputs[i])];
      if (read[i].tensor.type() == ElementType::kFloat) expect(slot.value, read[i]);
    }
  };
  observer.after = [&](const ObservedStep& seen, int64_t nanoseconds) {
    ++after;
    EXPECT_GE(nanoseconds, 0);
    const auto alone = run_alone(seen.plan(), seen.step(), host, read);
    const auto made = seen.outputs();
    ASSERT_EQ(alone.size(), made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      if (const Value* value = seen.value_made(i)) expect(value, made[i]);
      if (!made[i].tensor.is_defined()) continue;
      EXPECT_TRUE(alone[i].tensor.identical(made[i].tensor));
    }
  };
  execution.run(random.inputs(), outputs, {.observer = &observer});
  EXPECT_EQ(before, execution.plan().steps.size());
  EXPECT_EQ(after, before);
}

}  // namespace vernier
