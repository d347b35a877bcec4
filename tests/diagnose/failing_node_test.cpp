#include "vernier/diagnose/experiments/failing_node.h"

#include <gmock/gmock.h>

#include "diagnose/planted_fault.h"
#include "odd_engine.h"
#include "vernier/exec/trace_entry.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Leaves out the last windows of pools, and refuses to give out what has other sizes than the model says.
class FloorRunner : public Runner {
 public:
  explicit FloorRunner(const Model& model) : model_(clone(model)), made_(clone(model)) {
    for (const auto& node : made_.graph->nodes()) node->attributes.erase("ceil_mode");
  }
  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return {}; }
  Trace run(const NamedData& inputs, const std::vector<std::string>&) override {
    Trace trace;
    auto outputs = run_reference(made_, inputs).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value& output = *model_.graph->outputs[i];
      const auto& shape = output.type.tensor.shape;
      if (shape && to_dims(*shape) != outputs[i].tensor.dims()) throw bad_input("other sizes");
      trace.entries.push_back(make_trace_entry(output, std::move(outputs[i]), true));
    }
    return trace;
  }

 private:
  std::string name_ = "floor";
  Model model_, made_;
};

TEST(FailingNode, IsFoundByHalvingTheModel) {
  for (const std::string node : {"k0", "k4", "k9"}) {
    OddOptions options;
    options.fails_with = node;
    OddEngine engine(options);
    Stopwatch watch(60);
    const auto found = find_failing_node(*engine.tested, engine.model, engine.inputs, "it died", watch);
    ASSERT_TRUE(found.root_cause) << node;
    EXPECT_THAT(found.root_cause->nodes, ElementsAre(node));
    EXPECT_EQ(found.root_cause->evidence.size(), 2U);
    EXPECT_LE(*options.runs, 7) << node;
  }
}

TEST(FailingNode, IsNotNamedWhereItIsNotKnown) {
  OddOptions options;
  options.fails_with = "k4";
  for (const bool takes_others : {false, true}) {
    OddEngine engine(takes_others ? OddOptions() : options, takes_others);
    Stopwatch watch(60);
    const auto found = find_failing_node(*engine.tested, engine.model, engine.inputs, "it died", watch);
    EXPECT_FALSE(found.root_cause) << found.root_cause->evidence[0].sentence;
    EXPECT_THAT(found.notes, Not(IsEmpty()));
  }
}

// Whoever knows the sizes of the results refuses others; where nothing is said of sizes the engine runs, and
// what it makes says why.
TEST(FailingNode, OtherSizesAreExplained) {
  const Model model = parse_planted(
      of_floats("%x: f32[1, 3, 7, 7]",
                "MaxPool(%x) {kernel_shape = ints[2, 2], strides = ints[2, 2], ceil_mode = 1} version 12"),
      12);
  const NamedData inputs = drawn_data(*model.graph);
  const MakeRunner make = [](const RunnerModel& made, double) {
    return std::make_unique<FloorRunner>(*made.model);
  };
  const auto runner = make({{}, &model}, 1);
  RunnerUnderTest tested(*runner, model, make);
  Stopwatch watch(60);
  const auto found = find_failing_node(tested, model, inputs, "other sizes", watch);
  ASSERT_TRUE(found.root_cause);
  EXPECT_EQ(found.root_cause->failure.code(), "B33") << found.root_cause->sentence;
  EXPECT_THAT(found.root_cause->nodes, ElementsAre("n"));
}

TEST(FailingNode, EndsWithTheTime) {
  OddOptions options;
  options.fails_with = "k4";
  OddEngine engine(options);
  Stopwatch watch(0);
  const auto found = find_failing_node(*engine.tested, engine.model, engine.inputs, "it died", watch);
  EXPECT_FALSE(found.root_cause);
  EXPECT_LE(*options.runs, 1);
}

}  // namespace
}  // namespace vernier
