// Inputs and outputs in memory of the caller's on an accelerator, and runs in the order of the caller's
// stream.
#include <gmock/gmock.h>

#include "engine/as_reference.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/engine/engine_device.h"

namespace vernier {
namespace {

using simulated::DeviceFault;
using simulated::SimulatedOptions;
using testing::HasSubstr;

// y is made by a kernel; the others are what the caller's memory does not get by itself: a view of an input,
// a constant, and y once more.
Model model() {
  return parse_graph(R"(graph "g" (%x: f32[N, 4], %z: f32[N, 4]) -> (%y, %v, %k, %w) {
    const %shape = i64[2] hex"0400000000000000ffffffffffffffff"
    const %k = f32[2] hex"0000803f00000040"
    %a: f32[*] = Neg(%x) version 13 @"a" from ["a"]
    %y: f32[*] = Mul(%a, %z) version 14 @"y" from ["y"]
    %v: f32[*] = Reshape(%x, %shape) version 14 @"v" from ["v"]
    %w: f32[*] = Identity(%y) version 16 @"w" from ["w"]
  })");
}

// Runs a model with all of its inputs and outputs in buffers of the device.
class OnDevice {
 public:
  explicit OnDevice(const SimulatedOptions& options, const Model& run = model(),
                    std::vector<ShapeProfile> profiles = {})
      : model_(clone(run)) {
    BuildOptions build;
    build.accelerators = {simulated::make_driver(options)};
    build.profiles = std::move(profiles);
    Compiler compiler(model_, build);
    for (const ShapeProfile& profile : build.profiles)
      compiler.prepare(profile.types(compiler.graph(), &DimRange::opt));
    engine_ = compiler.engine();
    session_.emplace(engine_);
  }

  simulated::SimulatedDevice& device() const {
    return dynamic_cast<simulated::SimulatedDevice&>(*preferred_device(*engine_).device);
  }
  Session& session() { return *session_; }
  const Engine& engine() const { return *engine_; }

  // The tensor in memory of the device, as a run takes it, with this content.
  Tensor put(const Tensor& content) {
    buffers_.push_back(device().allocate(std::max<size_t>(1, content.byte_size())));
    if (content.byte_size() > 0)
      device().copy(content.raw(), buffers_.back()->address(), content.byte_size());
    return Tensor::borrow(content.type(), content.dims(), buffers_.back()->address(), nullptr);
  }
  Tensor fetch(const OutputMemory& there) {
    Tensor here(there.element, there.dims);
    if (here.byte_size() > 0) device().copy(there.data, here.mutable_raw(), here.byte_size());
    return here;
  }

  // Runs are with `data`, in the order of the graph, and fresh memory for outputs.
  void bind(const std::vector<Tensor>& data) {
    NamedData named;
    for (size_t i = 0; i < data.size(); ++i) named[model_.graph->inputs[i]->name] = data[i];
    expected_ = run_reference(model_, named).outputs;
    inputs_.clear(), memory_.clear(), bindings_.clear();
    for (size_t i = 0; i < data.size(); ++i) {
      inputs_.emplace_back(put(data[i]));
      bindings_.push_back({.input = i, .device = 1});
    }
    for (size_t i = 0; i < expected_.size(); ++i) {
      const Tensor& type = expected_[i].tensor;
      memory_.push_back(
          {type.type(), type.dims(), const_cast<void*>(put(Tensor(type.type(), type.dims())).raw())});
      bindings_.push_back({.output = i, .device = 1});
    }
  }
  void run(Stream* stream = nullptr) {
    std::vector<Datum> outputs;
    session_->run(inputs_, outputs,
                  {.memory = memory_, .bindings = bindings_, .stream = stream, .stream_device = 1});
  }
  void expect_right() {
    for (size_t i = 0; i < expected_.size(); ++i) expect_close(expected_[i], Datum(fetch(memory_[i])));
  }
  const Tensor& input(size_t index) const { return inputs_[index].tensor; }
  std::shared_ptr<const Plan> plan() { return engine_->plans().program(1).plan(inputs_, bindings_); }

 private:
  Model model_;
  std::shared_ptr<const Engine> engine_;
  std::optional<Session> session_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Datum> inputs_, expected_;
  std::vector<OutputMemory> memory_;
  std::vector<MemoryBinding> bindings_;
};

TEST(CallerMemory, NothingIsCopiedBetweenHostAndDevice) {
  for (const uint64_t seed : {0, 1, 2, 3, 4}) {
    OnDevice runs({.seed = seed, .streams = 1 + static_cast<int>(seed % 3)});
    for (const int64_t rows : {2, 4, 0, 2}) {
      runs.bind({ramp({rows, 4}), ramp({rows, 4})});
      runs.run();
      runs.expect_right();
    }
    runs.bind({ramp({2, 4}), ramp({2, 4})});
    const size_t before = runs.device().copied_bytes();
    runs.run();
    EXPECT_EQ(runs.device().copied_bytes(), before);
    runs.expect_right();
  }
}

// A node that the accelerator lacks reads a copy on the host, and its result is copied back.
TEST(CallerMemory, ServesStepsOfTheHost) {
  OnDevice runs({.seed = 2, .lacks = {"Mul"}});
  runs.bind({ramp({3, 4}), ramp({3, 4})});
  runs.run();
  runs.expect_right();
  const auto stream = runs.device().stream();
  runs.run(stream.get());
  runs.expect_right();
}

TEST(CallerMemory, IsAPartOfWhatIsReplayed) {
  OnDevice runs({.streams = 1});
  runs.bind({ramp({3, 4}), ramp({3, 4})});
  for (int i = 0; i < 4; ++i) runs.run();
  const auto& replays = runs.session().replays().entries();
  EXPECT_TRUE(
      std::any_of(replays.begin(), replays.end(), [](const auto& each) { return each.replay != nullptr; }));
  runs.expect_right();
  runs.bind({ramp({3, 4}), ramp({3, 4})});  // other memory
  for (int i = 0; i < 4; ++i) runs.run();
  runs.expect_right();
}

// Nothing is computed of sizes that were prepared, as in the plan for memory of the host.
TEST(CallerMemory, PreparedSizesKeepTheirGraph) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 4]) -> (%y) {
    %s: i64[*] = Shape(%x) version 15 @"s" from ["s"]
    %zeros: f32[*] = ConstantOfShape(%s) version 9 @"zeros" from ["zeros"]
    %y: f32[*] = Max(%x, %zeros) version 13 @"y" from ["y"]
  })");
  const ShapeProfile profile{{{"x", {{1, 3, 8}, {4, 4, 4}}}}};
  OnDevice runs({}, model, {profile});
  const auto makes_zeros = [](const Step& step) {
    return step.node != nullptr && step.node->op == "ConstantOfShape";
  };
  for (const auto& [rows, expected] : {std::pair{3, false}, std::pair{5, true}}) {
    runs.bind({ramp({rows, 4})});
    runs.run();
    runs.expect_right();
    const auto& steps = runs.plan()->steps;
    EXPECT_EQ(std::any_of(steps.begin(), steps.end(), makes_zeros), expected) << rows;
  }
}

TEST(CallerMemory, OutputsOfUnknownSizesCannotLieThere) {
  const Model compress = parse_graph(R"(graph "g" (%x: f32[4], %c: bool[4]) -> (%y) {
    %y: f32[*] = Compress(%x, %c) {axis = 0} version 11 @"y" from ["y"]
  })");
  OnDevice runs({}, compress);
  Tensor choice(ElementType::kBool, {4});
  runs.bind({ramp({4}), choice});
  try {
    runs.run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("only running tells its sizes"));
  }
}

// A copy into the input goes before the run on the caller's stream, and one out of the output behind it.
void in_order(OnDevice& runs, const Tensor& first, const Tensor& later, int times) {
  runs.bind({first, ramp({2, 4})});
  const Tensor staged = runs.put(later);
  const auto caller = runs.device().stream();
  for (int i = 0; i < times; ++i) {
    caller->copy(staged.raw(), const_cast<void*>(runs.input(0).raw()), later.byte_size());
    runs.run(caller.get());
  }
  caller->wait_on_host(caller->record());
  runs.session().settle();
}

TEST(CallerMemory, RunsAreInTheOrderOfTheCallersStream) {
  const Tensor first = ramp({2, 4}),
               later = Tensor::from_doubles(ElementType::kFloat, {2, 4}, std::vector<double>(8, 3));
  for (const uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    OnDevice runs({.seed = seed, .streams = 2});
    in_order(runs, first, later, 1 + static_cast<int>(seed));
    runs.bind({later, ramp({2, 4})});
    runs.run();
    runs.expect_right();
    EXPECT_THAT(runs.device().findings(), testing::IsEmpty());
  }
}

// The run has not waited: nothing of it needs have happened when it returns.
TEST(CallerMemory, ARunOnTheDeviceOnlyEnqueues) {
  OnDevice runs({.streams = 1});
  runs.bind({ramp({2, 4}), ramp({2, 4})});
  runs.run();  // constants are copied there
  const auto caller = runs.device().stream();
  runs.run(caller.get());
  const Event behind = caller->record();
  EXPECT_FALSE(caller->reached(behind));
  caller->wait_on_host(behind);
  runs.expect_right();
  EXPECT_THAT(runs.device().findings(), testing::IsEmpty());
}

// Other sizes need a larger arena, and other streams of the caller another order.
TEST(CallerMemory, WhatGoesOnIsWaitedForWhereItMustBe) {
  OnDevice runs({.seed = 5, .streams = 2});
  const auto one = runs.device().stream(), other = runs.device().stream();
  for (const int64_t rows : {1, 200, 2}) {
    runs.bind({ramp({rows, 4}), ramp({rows, 4})});
    for (Stream* stream : {one.get(), other.get(), static_cast<Stream*>(nullptr)}) runs.run(stream);
    runs.expect_right();
  }
  EXPECT_THAT(runs.device().findings(), testing::IsEmpty());
}

// Whichever wait is left out, the race is named.
TEST(CallerMemory, AMissingWaitIsFound) {
  const Tensor first = ramp({2, 4});
  for (const size_t dropped : {0, 1}) {
    OnDevice runs({.streams = 1, .fault = DeviceFault{DeviceFault::Kind::kDropWait, dropped}});
    try {
      in_order(runs, first, first, 2);
      FAIL() << "wait " << dropped;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("stream"));
    }
  }
}

TEST(CallerMemory, DevicesAreFoundByTheirNames) {
  OnDevice runs({.seed = 3});
  EXPECT_EQ(find_device(runs.engine(), "cpu").number, kHost);
  EXPECT_EQ(find_device(runs.engine(), "simulated").number, 1);
  EXPECT_EQ(find_device(runs.engine(), "simulated:3").number, 1);
  EXPECT_THROW(find_device(runs.engine(), "simulated:0"), Error);
  EXPECT_THROW(find_device(runs.engine(), "cuda"), Error);
  const Tensor there = runs.put(ramp({2, 4}));
  EXPECT_EQ(device_reaching(runs.engine(), there.raw())->name, "simulated:3");
  EXPECT_FALSE(device_reaching(runs.engine(), &runs));
}

}  // namespace
}  // namespace vernier
