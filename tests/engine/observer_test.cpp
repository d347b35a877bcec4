// Watching runs of engines, and running their steps alone: on what a step saw it makes the same again, and
// what is wrong with it shows at this step, not at those behind it.
#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "engine/weighted_model.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/compile/compiler.h"
#include "vernier/exec/probing/lone_step.h"

namespace vernier {
namespace {

// A convolution in its own layout, a view, products; then control flow that reads from around it, and sizes
// that only running tells.
Model model_of_everything() {
  return with_weights(
      R"(graph "g" (%x: f32[N, 16, 6, 6], %trips: i64[], %w1: f32[32, 16, 3, 3], %w2: f32[32, 4]) -> (%y, %z) {
    const %yes = bool[] hex"01"
    %c: f32[*] = Conv(%x, %w1) version 11 @"conv" from ["conv"]
    %r: f32[*] = Relu(%c) version 14 @"relu" from ["relu"]
    %p: f32[*] = GlobalAveragePool(%r) version 1 @"pool" from ["pool"]
    %f: f32[*] = Flatten(%p) version 13 @"flat" from ["flat"]
    %m: f32[*] = MatMul(%f, %w2) version 13 @"product" from ["product"]
    %s: f32[*] = Softmax(%m) {axis = 1} version 13 @"softmax" from ["softmax"]
    %y: f32[*] = Loop(%trips, %yes, %m) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %t: bool[], %v: f32[*]) -> (%t, %next) {
        %next: f32[*] = Add(%v, %s) version 14 @"n" from ["n"]
      }
    }
    %n: i64[*] = NonZero(%y) version 13 @"nonzero" from ["nonzero"]
    %z: i64[*] = Neg(%n) version 13 @"neg" from ["neg"]
  })");
}

NamedData data() {
  return {{"x", noise({3, 16, 6, 6}, 7, 1)}, {"trips", Tensor::scalar(int64_t{3})}};
}

std::string name_of(const Step& step) {
  if (step.node == nullptr) return step.copies ? "copy" : "layout";
  return step.node->provenance.empty() ? step.node->name : *step.node->provenance.rbegin();
}

// Holds what a step saw and made, in memory of its own.
struct Seen {
  std::string name;
  std::vector<Datum> inputs, outputs;
  std::vector<std::vector<Datum>> captured;
};

void keep(std::vector<Datum>& data) {
  for (Datum& each : data) {
    if (each.is_tensor() && each.tensor.is_defined()) each.tensor.mutable_raw();
  }
}

std::vector<Seen> watched(Session& session, const NamedData& inputs) {
  std::vector<Seen> all;
  Observer observer;
  observer.before = [&](const ObservedStep& seen) {
    all.push_back({name_of(seen.step()), seen.inputs(), {}, seen.captured()});
    keep(all.back().inputs);
    for (auto& captured : all.back().captured) keep(captured);
  };
  observer.after = [&](const ObservedStep& seen, int64_t) {
    all.back().outputs = seen.outputs();
    keep(all.back().outputs);
  };
  session.run(inputs, &observer);
  return all;
}

void expect_same(const std::vector<Datum>& a, const std::vector<Datum>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].tensor.is_defined(), b[i].tensor.is_defined()) << what;
    if (!a[i].tensor.is_defined()) continue;
    EXPECT_TRUE(a[i].tensor.identical(b[i].tensor)) << what;
  }
}

void expect_steps_alone_to_be_the_same(const BuildOptions& options) {
  const Model model = model_of_everything();
  const auto engine = compile(model, options);
  Session session(engine);
  const auto unwatched = session.run(data());
  const auto steps = watched(session, data());
  const auto plan = session.plan(data());
  ASSERT_EQ(steps.size(), plan->steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    expect_same(run_alone(*plan, plan->steps[i], engine->kernels(), steps[i].inputs, steps[i].captured),
                steps[i].outputs, steps[i].name);
  // Watching changes nothing.
  for (const auto& [name, datum] : session.run(data()))
    EXPECT_TRUE(datum.tensor.identical(unwatched.at(name).tensor)) << name;
  std::set<std::string> names;
  for (const Seen& step : steps) names.insert(step.name);
  for (const char* name : {"relu", "product", "softmax", "loop", "nonzero", "neg"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Observer, StepsAloneMakeWhatTheyMadeInTheRun) {
  expect_steps_alone_to_be_the_same(untuned());
}

TEST(Observer, StepsAloneMakeWhatTheyMadeOnAnAccelerator) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    BuildOptions options = untuned();
    options.accelerators = {simulated::make_driver({.seed = seed, .streams = 3, .lacks = {"Softmax"}})};
    expect_steps_alone_to_be_the_same(options);
  }
}

// The steps behind it inherit the error, and add nothing to it.
TEST(Observer, WhatIsWrongShowsAtItsStepAlone) {
  const Model model = model_of_everything();
  const auto sound = compile(model, untuned());
  BuildOptions options = untuned();
  options.fault = FaultSpec{Fault::kSwappedAxis, "product"};
  Session faulty(compile(model, options)), healthy(sound);
  const auto plan = healthy.plan(data());
  std::vector<std::string> wrong, different;
  const auto in_fault = watched(faulty, data()), in_sound = watched(healthy, data());
  ASSERT_EQ(in_fault.size(), plan->steps.size());
  const auto differ = [](const std::vector<Datum>& a, const std::vector<Datum>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].tensor.is_defined() && !a[i].tensor.identical(b[i].tensor)) return true;
    }
    return false;
  };
  for (size_t i = 0; i < in_fault.size(); ++i) {
    const Seen& step = in_fault[i];
    if (differ(step.outputs, in_sound[i].outputs)) different.push_back(step.name);
    if (differ(step.outputs, run_alone(*plan, plan->steps[i], sound->kernels(), step.inputs, step.captured)))
      wrong.push_back(step.name);
  }
  EXPECT_THAT(wrong, testing::ElementsAre("product"));
  EXPECT_GT(different.size(), 2U);
}

TEST(Observer, InputsOfOtherSizesAreRefused) {
  const auto engine = small_engine();
  const Plan& plan = *engine->prepared()[0].plan;
  const Step& step = plan.steps.front();
  std::vector<Datum> inputs(step.inputs.size());
  EXPECT_THROW(run_alone(plan, step, engine->kernels(), {}), Error);
  inputs[0] = Tensor(ElementType::kFloat, {1, 2, 3});
  EXPECT_THROW(run_alone(plan, step, engine->kernels(), inputs), Error);
}

TEST(Observer, WhatAnObserverThrowsEndsTheRunAndNothingElse) {
  const Model model = model_of_everything();
  BuildOptions options = untuned();
  options.accelerators = {simulated::make_driver({.seed = 1})};
  Session session(compile(model, options));
  const auto expected = session.run(data());
  for (int at = 0; at < 6; ++at) {
    int steps = 0;
    Observer observer;
    observer.before = [&](const ObservedStep&) {
      if (steps++ == at) throw bad_input("enough");
    };
    EXPECT_THROW(session.run(data(), &observer), Error);
    EXPECT_TRUE(session.run(data()).at("y").tensor.identical(expected.at("y").tensor));
  }
}

}  // namespace
}  // namespace vernier
