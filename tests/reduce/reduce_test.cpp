#include "vernier/reduce/reduce.h"

#include "fake_oracle.h"
#include "vernier/backends/reference/interpreter.h"

namespace vernier {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

Reduction reduced(const ReproCase& whole, FakeOracle& oracle, bool anonymise = false) {
  ReduceOptions options;
  options.budget = 60;
  options.anonymise = anonymise;
  return reduce(whole, oracle.judge(whole), oracle, options);
}

// The rest must be a model that runs, on the inputs that are left.
void expect_runs(const Reduction& reduction) {
  EXPECT_NO_THROW(run_reference(reduction.result.model, reduction.result.inputs));
}

ReproCase chain() {
  std::string nodes, last = "x";
  for (int i = 0; i < 30; ++i) {
    const std::string op = i == 17 ? "Sigmoid" : i == 23 ? "Softmax" : "Tanh";
    const std::string made = i == 29 ? "y" : "v" + std::to_string(i);
    nodes += fmt::format("%{}: f32[*] = {}(%{}) version 13 @\"k{}\" from [\"k{}\"]\n", made, op, last, i, i);
    last = made;
  }
  return parsed_case("graph \"g\" (%x: f32[4, 8]) -> (%y) {\n" + nodes + "}", {{"x", drawn({4, 8})}});
}

TEST(Reduce, LeavesTheOneNodeThatIsNeeded) {
  FakeOracle oracle([](const ReproCase& each) { return has_node(each, "k17"); });
  const Reduction reduction = reduced(chain(), oracle);
  EXPECT_EQ(reduction.before.nodes, 30U);
  EXPECT_EQ(reduction.after.nodes, 1U);
  EXPECT_TRUE(has_node(reduction.result, "k17"));
  EXPECT_EQ(reduction.after.input_bytes, 4U);  // one float
  EXPECT_TRUE(reduction.is_finished);
  EXPECT_LE(oracle.judged, 60U);
  expect_runs(reduction);
}

TEST(Reduce, WhatIsLeftOutIsReplacedByWhatTheReferenceMakes) {
  const ReproCase whole = chain();
  const double expected = recorded_values(whole).at("v16").tensor.to_doubles()[0];
  // Only where the first element is what comes out of k16.
  FakeOracle oracle([&](const ReproCase& each) {
    if (!has_node(each, "k17")) return false;
    const NamedData known = recorded_values(each);
    const auto found = known.find("v16");
    return found != known.end() && found->second.tensor.to_doubles()[0] == expected;
  });
  const Reduction reduction = reduced(whole, oracle);
  EXPECT_EQ(reduction.after.nodes, 1U);
  EXPECT_TRUE(reduction.result.inputs.contains("v16"));
}

TEST(Reduce, KeepsNodesThatAreNeededTogether) {
  FakeOracle oracle(
      [](const ReproCase& each) { return count_of(each, "Sigmoid") == 1 && count_of(each, "Softmax") == 1; });
  const Reduction reduction = reduced(chain(), oracle);
  EXPECT_EQ(reduction.after.nodes, 2U);
  expect_runs(reduction);
}

// A softmax behind a sigmoid, as far as data flow: what lies between is not needed, but a way from one to the
// other.
TEST(Reduce, TakesNodesOutOfTheMiddle) {
  FakeOracle oracle([](const ReproCase& each) {
    for (const auto& node : each.model.graph->nodes()) {
      if (node->op != "Softmax") continue;
      const Node* producer = node->inputs[0]->producer();
      while (producer != nullptr && producer->op != "Sigmoid") producer = producer->inputs[0]->producer();
      if (producer != nullptr) return true;
    }
    return false;
  });
  const Reduction reduction = reduced(chain(), oracle);
  EXPECT_EQ(reduction.after.nodes, 2U);
  expect_runs(reduction);
}

TEST(Reduce, ShrinksSizesWithTheWeights) {
  ReproCase whole;
  {
    const std::string text =
        R"(model ir=8 opset "" 17 { graph "g" (%x: f32[4, 16, 12, 12], %w: f32[24, 16, 3, 3], %b: f32[24]) -> (%y, %z) {
      %c: f32[*] = Conv(%x, %w, %b) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]} version 11 @"conv" from ["conv"]
      %y: f32[*] = Tanh(%c) version 13 @"tanh" from ["tanh"]
      %z: f32[*] = Sigmoid(%c) version 13 @"sigmoid" from ["sigmoid"]
    } })";
    whole.model = parse_model(text);
    Graph& graph = *whole.model.graph;
    for (const auto& [name, dims] : {std::pair<const char*, Dims>{"w", {24, 16, 3, 3}}, {"b", {24}}}) {
      Value* value = find_value(graph, name);
      value->constant = drawn(dims);
      std::erase(graph.inputs, value);
    }
    whole.inputs["x"] = drawn({4, 16, 12, 12});
    ops::infer_types(graph);
  }
  FakeOracle oracle([](const ReproCase& each) { return has_node(each, "conv"); });
  const Reduction reduction = reduced(whole, oracle);
  EXPECT_EQ(reduction.after.nodes, 1U);
  EXPECT_EQ(reduction.after.input_bytes, 4U);
  EXPECT_LE(reduction.after.constant_bytes, 8U);  // one weight and one bias
  expect_runs(reduction);
}

TEST(Reduce, KeepsASizeThatIsNeeded) {
  FakeOracle oracle([](const ReproCase& each) {
    if (!has_node(each, "k23")) return false;
    const auto& datum = each.inputs.begin()->second;
    return datum.tensor.dims().size() == 2 && datum.tensor.dims()[1] >= 3;
  });
  const Reduction reduction = reduced(chain(), oracle);
  const Dims dims = reduction.result.inputs.begin()->second.tensor.dims();
  EXPECT_EQ(dims, (Dims{1, 4}));  // a half of 8, and not a quarter
}

TEST(Reduce, DropsAttributesThatAreNotNeeded) {
  const ReproCase whole = parsed_case(R"(graph "g" (%x: f32[2, 3, 4]) -> (%y) {
    %y: f32[*] = LogSoftmax(%x) {axis = 1} version 13 @"n" from ["n"]
  })",
                                      {{"x", drawn({2, 3, 4})}});
  FakeOracle any([](const ReproCase& each) { return has_node(each, "n"); });
  EXPECT_THAT(reduced(whole, any).result.model.graph->nodes()[0]->attributes, IsEmpty());
  FakeOracle needs_axis([](const ReproCase& each) {
    return has_node(each, "n") && each.model.graph->nodes()[0]->find_attribute("axis") != nullptr;
  });
  EXPECT_THAT(reduced(whole, needs_axis).result.model.graph->nodes()[0]->attributes, Not(IsEmpty()));
}

TEST(Reduce, GivesUpWhatDoesNotShowItAgain) {
  size_t tanhs_shown = 0;
  // A single node shows it once only.
  FakeOracle oracle([&](const ReproCase& each) {
    return has_node(each, "k17") && (node_count(each.model) > 1 || ++tanhs_shown < 2);
  });
  const Reduction reduction = reduced(chain(), oracle);
  EXPECT_GT(reduction.after.nodes, 1U);
  EXPECT_THAT(reduction.notes, Not(IsEmpty()));
}

TEST(Reduce, ACopyThatDoesNotShowItIsNotReduced) {
  const ReproCase whole = chain();
  size_t asked = 0;
  FakeOracle oracle([&](const ReproCase&) { return ++asked == 1; });
  const Reduction reduction = reduced(whole, oracle);
  EXPECT_EQ(reduction.after.nodes, 30U);
  ASSERT_THAT(reduction.notes, Not(IsEmpty()));
  EXPECT_THAT(reduction.notes[0], ::testing::HasSubstr("a copy of the model"));
}

TEST(Reduce, EndsWithTheBudget) {
  FakeOracle oracle([](const ReproCase& each) { return has_node(each, "k17"); });
  const ReproCase whole = chain();
  ReduceOptions options;
  options.budget = 1e-9;
  const Reduction reduction = reduce(whole, oracle.judge(whole), oracle, options);
  EXPECT_FALSE(reduction.is_finished);
  EXPECT_TRUE(has_node(reduction.result, "k17"));
  EXPECT_LE(oracle.judged, 3U);
}

}  // namespace
}  // namespace vernier
