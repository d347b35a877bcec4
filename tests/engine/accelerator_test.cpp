// Engines on the simulated accelerator: the numbers of the reference whatever order is drawn, what it lacks
// on the host, and each planted defect found.
#include <gmock/gmock.h>

#include <thread>

#include "engine/as_reference.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/describe.h"
#include "vernier/exec/device/device_constants.h"

namespace vernier {
namespace {

using simulated::DeviceFault;
using simulated::SimulatedOptions;

// Two branches that meet, one of them with a constant that is read as it is, and a Loop.
Model branches() {
  return parse_graph(R"(graph "g" (%x: f32[N, 4], %trips: i64[]) -> (%y, %s) {
    const %yes = bool[] hex"01"
    const %w = f32[4, 4] hex"0000803f000000400000004000000040000000bf0000003f0000803f00000040000000400000803f0000003f000000bf0000803f000080bf000000400000003f"
    %a: f32[*] = MatMul(%x, %w) version 13 @"a" from ["a"]
    %b: f32[*] = Relu(%a) version 14 @"b" from ["b"]
    %c: f32[*] = Neg(%x) version 13 @"c" from ["c"]
    %d: f32[*] = Sigmoid(%c) version 13 @"d" from ["d"]
    %e: f32[*] = Softmax(%a) {axis = 1} version 13 @"e" from ["e"]
    %f: f32[*] = Add(%b, %d) version 14 @"f" from ["f"]
    %y: f32[*] = Mul(%f, %e) version 14 @"y" from ["y"]
    %s: f32[*] = Loop(%trips, %yes, %f) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %t: bool[], %v: f32[*]) -> (%t, %next) {
        %next: f32[*] = Add(%v, %e) version 14 @"n" from ["n"]
      }
    }
  })");
}

Compiler compiler_on(const Model& model, const SimulatedOptions& device) {
  BuildOptions options;
  options.accelerators = {simulated::make_driver(device)};
  return Compiler(model, options);
}

std::shared_ptr<const Engine> engine_on(const Model& model, const SimulatedOptions& device) {
  return compiler_on(model, device).engine();
}

NamedData data(int64_t rows) {
  return {{"x", ramp({rows, 4})}, {"trips", Tensor::scalar(int64_t{3})}};
}

TEST(Accelerator, AnyOrderGivesTheNumbersOfTheReference) {
  const Model model = branches();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Session session(engine_on(model, {.seed = seed, .streams = 1 + static_cast<int>(seed % 4)}));
    for (const int64_t rows : {2, 5, 0, 2}) expect_as_reference(model, session, data(rows));
  }
}

TEST(Accelerator, NodesRunWhereTheyCan) {
  const Model model = branches();
  const auto engine = engine_on(model, {.lacks = {"Sigmoid", "Softmax"}});
  Session session(engine);
  expect_as_reference(model, session, data(3));
  std::map<std::string, int> devices;
  size_t copies = 0;
  const auto plan = session.plan(data(3));
  for (const Step& step : plan->steps) {
    copies += step.copies;
    if (step.node != nullptr) devices[step.node->op] = step.device;
  }
  EXPECT_EQ(devices["MatMul"], 1);
  EXPECT_EQ(devices["Mul"], 1);
  EXPECT_EQ(devices["Sigmoid"], kHost);
  EXPECT_EQ(devices["Softmax"], kHost);
  EXPECT_EQ(devices["Loop"], kHost);
  EXPECT_GE(copies, 6U);
}

// `sub-pixel` serves transposed convolutions on every processor.
// Kernels of accelerators read packs of 16 bytes: a part that begins elsewhere is copied.
TEST(Accelerator, PartsAreReadWhereTheyLieIfTheyAreAligned) {
  const auto slices_at = [](int64_t start) {
    const Model model = parse_graph(fmt::format(R"(graph "g" (%x: f32[16]) -> (%y) {{
      const %from = i64[1] hex"{:02x}00000000000000"
      const %to = i64[1] hex"1000000000000000"
      %n: f32[*] = Neg(%x) version 13 @"n" from ["n"]
      %p: f32[*] = Slice(%n, %from, %to) version 13 @"p" from ["p"]
      %y: f32[*] = Exp(%p) version 13 @"y" from ["y"]
    }})",
                                                start));
    Session session(engine_on(model, {}));
    const NamedData data = {{"x", ramp({16})}};
    expect_as_reference(model, session, data);
    const auto plan = session.plan(data);
    return std::count_if(plan->steps.begin(), plan->steps.end(),
                         [](const Step& step) { return step.node != nullptr && step.node->op == "Slice"; });
  };
  EXPECT_EQ(slices_at(4), 0);
  EXPECT_EQ(slices_at(8), 0);
  EXPECT_EQ(slices_at(3), 1);
}

TEST(Accelerator, WhatItLeavesToTheHostIsTuned) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[1, 16, 6, 6], %w: f32[16, 16, 2, 2]) -> (%y) {
    %a: f32[*] = ConvTranspose(%x, %w) {strides = ints[2, 2]} version 11 @"up" from ["up"]
    %y: f32[*] = Softmax(%a) {axis = 1} version 13 @"softmax" from ["softmax"]
  })");
  BuildOptions options;
  options.accelerators = {simulated::make_driver({.lacks = {"ConvTranspose"}})};
  options.tune.forced = "sub-pixel";
  Model constant = clone(model);
  Value* weights = constant.graph->inputs.back();
  weights->constant = ramp({16, 16, 2, 2});
  constant.graph->inputs.pop_back();
  Compiler compiler(constant, options);
  const NamedData data{{"x", ramp({1, 16, 6, 6})}};
  compiler.prepare(input_types(compiler.graph(), data));
  const auto engine = compiler.engine();
  const Plan& plan = *engine->prepared()[0].plan;
  EXPECT_EQ(plan.choices.tactics, (std::map<std::string, std::string>{{"a", "sub-pixel"}}));
  EXPECT_THAT(engine->tuning().results,
              testing::Each(testing::Field(&TuneResult::nodes, testing::ElementsAre("up"))));
  Session session(engine);
  expect_as_reference(constant, session, data);
}

// The product of the branches, tried on the device.
TuneResult tried(const SimulatedOptions& device) {
  const Model model = branches();
  Compiler compiler = compiler_on(model, device);
  constexpr int64_t kRows = 8192;  // so that computing takes longer than enqueueing
  compiler.prepare(input_types(compiler.graph(), data(kRows)));
  const auto engine = compiler.engine();
  for (const TuneResult& each : engine->tuning().results) {
    if (each.nodes.contains("a")) return each;
  }
  return {};
}

TEST(Accelerator, TacticsAreTriedOnTheDevice) {
  const TuneResult result = tried({.tactics = true});
  EXPECT_EQ(result.chosen, "");
  const TacticRecord &own = result.records.at(""), &twice = result.records.at(simulated::kTwice);
  EXPECT_EQ(own.quarantine + twice.quarantine, "");
  EXPECT_GT(own.seconds, 0);
  EXPECT_GT(twice.seconds, own.seconds);
  EXPECT_TRUE(tried({}).records.empty());  // there is no choice
}

TEST(Accelerator, AWrongTacticIsFoundOnTheDevice) {
  const TuneResult result = tried({.fault = DeviceFault{DeviceFault::Kind::kWrongTactic, 0}});
  EXPECT_THAT(result.records.at(simulated::kTwice).quarantine, testing::HasSubstr("is no rounding"));
  EXPECT_EQ(result.records.at("").quarantine, "");
  EXPECT_EQ(result.chosen, "");
}

// Also by plans that are made on demand, for sizes that were not tuned.
TEST(Accelerator, AForcedTacticIsTakenOnTheDevice) {
  const Model model = branches();
  BuildOptions options;
  options.accelerators = {simulated::make_driver({.tactics = true})};
  options.tune.forced = simulated::kTwice;
  Compiler compiler(model, options);
  compiler.prepare(input_types(compiler.graph(), data(3)));
  const auto engine = compiler.engine();
  EXPECT_EQ(engine->prepared()[0].plan->choices.tactics.at("a"), simulated::kTwice);
  Session session(engine);
  for (const int64_t rows : {3, 5}) expect_as_reference(model, session, data(rows));
}

TEST(Accelerator, SessionsShareADevice) {
  const Model model = branches();
  const auto engine = engine_on(model, {.seed = 7, .streams = 2, .threads = true});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Session session(engine);
      for (int run = 0; run < 20; ++run) expect_as_reference(model, session, data(1 + (i + run) % 3));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The device of the engine, bytes that are in use on it, and what plans have there in their constants.
struct Use {
  size_t in_use = 0, constants = 0;
};

Use use_of(const Plan& plan) {
  Use use{dynamic_cast<simulated::SimulatedDevice&>(*plan.devices.at(1)).memory().bytes_in_use()};
  std::set<const DeviceConstant*> seen;
  for (const Slot& slot : plan.slots) {
    if (slot.on_device && seen.insert(slot.on_device.get()).second) use.constants += slot.on_device->bytes();
  }
  return use;
}

TEST(Accelerator, PlansAndSessionsShareConstants) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 4]) -> (%y, %z) {
    const %w = f32[4, 4] hex"0000803f000000400000004000000040000000bf0000003f0000803f00000040000000400000803f0000003f000000bf0000803f000080bf000000400000003f"
    %y: f32[*] = MatMul(%x, %w) version 13 @"a" from ["a"]
    %z: f32[*] = MatMul(%y, %w) version 13 @"b" from ["b"]
  })");
  const size_t weights = 4 * 4 * sizeof(float);
  Compiler compiler = compiler_on(model, {});
  const auto data = [](int64_t rows) { return NamedData{{"x", ramp({rows, 4})}}; };
  // Plans that are made each from the beginning; others would take slots over from those that they are made
  // of.
  for (const int64_t rows : {4, 1}) compiler.prepare(input_types(compiler.graph(), data(rows)));
  const auto engine = compiler.engine();
  std::optional<Session> first(engine), second(engine);
  expect_as_reference(model, *first, data(4));
  const auto four = first->plan(data(4));
  EXPECT_EQ(use_of(*four).constants, weights);  // once for both nodes
  EXPECT_EQ(use_of(*four).in_use, weights + four->device_bytes[1]);
  expect_as_reference(model, *second, data(4));
  EXPECT_EQ(use_of(*four).in_use, weights + 2 * four->device_bytes[1]);
  const auto one = second->plan(data(1));
  expect_as_reference(model, *second, data(1));
  EXPECT_EQ(use_of(*one).constants, weights);
  EXPECT_EQ(use_of(*one).in_use, weights + 2 * four->device_bytes[1]);  // its arena is there
  first.reset();
  second.reset();
  EXPECT_EQ(use_of(*four).in_use, weights);  // plans have it still
}

TEST(Accelerator, ConstantsEndWithTheirEngine) {
  const auto plan = [] {
    const Model model = branches();
    Session session(engine_on(model, {}));
    expect_as_reference(model, session, data(3));
    EXPECT_GT(use_of(*session.plan(data(3))).constants, 0U);
    return session.plan(data(3));
  }();
  for (const Slot& slot : plan->slots) {
    EXPECT_TRUE(!slot.on_device || slot.on_device->bytes() == 0);
  }
}

// The sizes of what a Compress keeps are known only when it has run: no kernel takes the group around the
// MatMul as one, and its DequantizeLinear reads the group's constants on the device.
TEST(Accelerator, NodesOfAGroupReadConstantsOfTheGraph) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 4], %rows: bool[N]) -> (%y) {
    const %scale = f32[] hex"0000003d"
    const %zero = i8[] hex"00"
    const %w = i8[4, 4] hex"01f0037f0506078009fa0b0c0dfe0f10"
    %kept: f32[*] = Compress(%x, %rows) {axis = 0} version 11 @"kept" from ["kept"]
    %q: i8[*] = QuantizeLinear(%kept, %scale, %zero) version 13 @"q" from ["q"]
    %d: f32[*] = DequantizeLinear(%q, %scale, %zero) version 13 @"d" from ["d"]
    %v: f32[*] = DequantizeLinear(%w, %scale, %zero) version 13 @"v" from ["v"]
    %m: f32[*] = MatMul(%d, %v) version 13 @"m" from ["m"]
    %y: f32[*] = Relu(%m) version 14 @"y" from ["y"]
  })");
  const auto engine = engine_on(model, {});
  Session session(engine);
  Tensor rows(ElementType::kBool, {3});
  rows.mutable_values<bool>()[1] = true;
  const NamedData given = {{"x", ramp({3, 4})}, {"rows", rows}};
  expect_as_reference(model, session, given);
  bool is_there = false;
  for (const Step& step : session.plan(given)->steps)
    is_there |= step.node != nullptr && step.node->op == "DequantizeLinear" && step.device != kHost;
  EXPECT_TRUE(is_there);
}

// Gives what a run says with the fault; "" if it says nothing and its numbers are right.
std::string found(const Model& model, const SimulatedOptions& device) {
  const auto expected = run_reference(model, data(3)).outputs;
  Session session(engine_on(model, device));
  try {
    for (int run = 0; run < 2; ++run) {
      const auto actual = session.run(data(3));
      for (size_t i = 0; i < expected.size(); ++i) {
        const auto a = expected[i].tensor.to_doubles();
        const auto b = actual.at(model.graph->outputs[i]->name).tensor.to_doubles();
        for (size_t k = 0; k < a.size(); ++k) {
          if (!(std::abs(a[k] - b[k]) <= 1e-5)) return fmt::format("{} instead of {}", b[k], a[k]);
        }
      }
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Accelerator, EachCopyIsNeeded) {
  const Model model = branches();
  const SimulatedOptions sound{.seed = 3, .lacks = {"Sigmoid"}};
  EXPECT_EQ(found(model, sound), "");
  const auto plan = Session(engine_on(model, sound)).plan(data(3));
  std::set<const DeviceConstant*> constants;
  for (const Slot& slot : plan->slots) {
    if (slot.on_device) constants.insert(slot.on_device.get());
  }
  ASSERT_GT(constants.size(), 0U);
  size_t copies = constants.size();  // the first are those of constants
  for (const Step& step : plan->steps) copies += step.copies;
  ASSERT_GT(copies, 2U + constants.size());
  for (size_t i = 0; i < copies; ++i) {
    SimulatedOptions faulty = sound;
    faulty.fault = DeviceFault{DeviceFault::Kind::kDropCopy, i};
    EXPECT_NE(found(model, faulty), "") << "copy " << i;
  }
}

TEST(Accelerator, EachWaitIsNeeded) {
  const Model model = branches();
  const SimulatedOptions sound{.seed = 3, .streams = 3, .lacks = {"Sigmoid"}};
  size_t waits = 0;
  const auto plan = Session(engine_on(model, sound)).plan(data(3));
  for (const Step& step : plan->steps) waits += step.stream == kCallersThread ? 0 : step.waits.size();
  ASSERT_GT(waits, 1U);
  for (size_t i = 0; i < waits; ++i) {
    SimulatedOptions faulty = sound;
    faulty.fault = DeviceFault{DeviceFault::Kind::kDropWait, i};
    EXPECT_THAT(found(model, faulty), testing::HasSubstr("stream")) << "wait " << i;
  }
}

// Every later call of its sessions says so, and names the node; an engine that is made anew has a device that
// works.
TEST(Accelerator, ALostDeviceIsToldByEveryLaterCall) {
  const Model model = branches();
  const auto engine = engine_on(model, {.fault = DeviceFault{DeviceFault::Kind::kLoseDevice, 2}});
  const auto told = [&](Session& session) -> std::string {
    try {
      session.run(data(3));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Session session(engine), other(engine);
  for (int run = 0; run < 3; ++run) {
    EXPECT_THAT(told(session), testing::ContainsRegex("simulated is lost: simulated:.* of node '[a-f]'"));
    EXPECT_THAT(told(other), testing::HasSubstr("simulated is lost"));
  }
  Session again(engine_on(model, {}));
  expect_as_reference(model, again, data(3));
}

TEST(Accelerator, WhatADeviceRefusesIsTheErrorOfTheRun) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4, 2], %i: i64[2]) -> (%y) {
    %y: f32[*] = Gather(%x, %i) {axis = 0} version 13 @"gather" from ["gather"]
  })");
  Session session(engine_on(model, {}));
  const auto at = [](int64_t index) {
    return NamedData{{"x", ramp({4, 2})},
                     {"i", Tensor::from_ints(ElementType::kInt64, {2}, std::vector<int64_t>{0, index})}};
  };
  EXPECT_THROW(session.run(at(9)), Error);
  expect_as_reference(model, session, at(3));  // the next run is sound
}

}  // namespace
}  // namespace vernier
