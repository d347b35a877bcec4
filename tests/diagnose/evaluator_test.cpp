// How far repaired engines are measured to be from what is right.
#include "vernier/diagnose/repairs/evaluator.h"

#include "diagnose/odd_engine.h"
#include "vernier/diagnose/repairs/changed_runner.h"

namespace vernier {
namespace {

// Loses a race in every seventh run, a node then being scaled by one.
class RacingRunner : public OddRunner {
 public:
  explicit RacingRunner(const RunnerModel& model)
      : OddRunner(model, {.plant = [this](Model& made) {
                    constexpr int kLost = 7;
                    if (++runs_ % kLost == 0) without_factor("k3")(made);
                  }}) {}

 private:
  int runs_ = 0;
};

// The second of two runs is looked at four times, and right each time by luck.
TEST(Evaluator, TheWorstOfManyRunsCounts) {
  const OddEngine engine({});
  ReferenceRunner reference({"", &engine.model});
  Stopwatch watch(60);
  Evaluator evaluator(engine.model, reference, {}, {Sample{"drawn", engine.inputs, {}, {}}}, watch);
  RepairCandidate candidate;
  candidate.run = [](Runner& runner, const NamedData& inputs) {
    runner.run(inputs, {});
    return runner.run(inputs, {});
  };
  const auto start = [&] { return std::make_unique<RacingRunner>(RunnerModel{"", &engine.model}); };
  ChangedRunner few(start, *engine.model.graph, candidate), many(start, *engine.model.graph, candidate);
  EXPECT_TRUE(evaluator.measure(few, 4).passes);
  const Measured measured = evaluator.measure(many, 8);
  EXPECT_FALSE(measured.passes);
  EXPECT_GT(measured.relative_l2, 1e-3);
}

}  // namespace
}  // namespace vernier
