// Capture and replay by CUDA graphs, on a driver and a GPU in software.
#include <gmock/gmock.h>

#include "cuda/software_cublaslt.h"
#include "cuda/software_cudnn.h"
#include "cuda/software_gpu.h"
#include "exec/no_kernels.h"
#include "vernier/backends/cuda/cuda_backend.h"
#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/backends/cuda/device/cuda_stream.h"
#include "vernier/base/error.h"
#include "vernier/exec/execution.h"
#include "vernier/ir/text.h"
#include "vernier/ops/evaluate.h"

namespace vernier::cuda {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CaptureTest : public testing::Test {
 protected:
  void launch(CudaStream& stream) {
    std::vector<std::byte> parameters(8);
    stream.launch(nullptr, {}, parameters, "cuda:softmax");
  }
  static std::string error_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
  void wait(CudaStream& stream) { stream.wait_on_host(stream.record()); }

  DriverApi api_ = reset_fake_driver();
  Context context_{api_, 0};
  CudaDevice device_{context_};
  std::string reason_;
};

TEST_F(CaptureTest, NothingIsLaunchedBeforeItIsEnqueued) {
  CudaStream stream(device_);
  const auto one = device_.allocate(64), other = device_.allocate(64);
  fake_driver().calls.clear();
  {
    const auto replay = device_.capture(
        stream,
        [&] {
          launch(stream);
          stream.copy(one->address(), other->address(), 32);
        },
        reason_);
    ASSERT_NE(replay, nullptr) << reason_;
    EXPECT_TRUE(fake_driver().calls.empty());
    for (int i = 0; i < 2; ++i) replay->enqueue();
    wait(stream);
    EXPECT_THAT(fake_driver().calls,
                ElementsAre("launch 1x1x1 of 256", "across 32", "launch 1x1x1 of 256", "across 32"));
    EXPECT_EQ(fake_driver().graph_launches, 2U);
  }
  EXPECT_EQ(fake_driver().live_graphs, 0U);
}

TEST_F(CaptureTest, WhatNoCaptureAllowsIsTheReasonAndTheStreamGoesOn) {
  CudaStream stream(device_);
  std::unique_ptr<Buffer> buffer;
  const auto allocates = [&] { buffer = device_.allocate(64); };
  EXPECT_EQ(device_.capture(stream, allocates, reason_), nullptr);
  EXPECT_THAT(reason_, HasSubstr("asking for memory of the GPU"));
  // A call of a library whose status nobody looks at breaks the capture, too.
  const auto waits = [&] { context_.api().synchronize_stream(nullptr); };
  EXPECT_EQ(device_.capture(stream, waits, reason_), nullptr);
  EXPECT_THAT(reason_, HasSubstr("ending a capture"));
  fake_driver().make_ready_fails = 1;
  EXPECT_EQ(device_.capture(
                stream, [&] { launch(stream); }, reason_),
            nullptr);
  EXPECT_THAT(reason_, HasSubstr("making a captured graph ready"));
  fake_driver().calls.clear();
  launch(stream);
  wait(stream);
  EXPECT_THAT(fake_driver().calls, ElementsAre("launch 1x1x1 of 256"));
  EXPECT_EQ(fake_driver().live_graphs, 0U);
  EXPECT_FALSE(context_.is_lost());
}

TEST_F(CaptureTest, WhatWentWrongBeforeIsTold) {
  CudaStream stream(device_);
  fake_driver().launch_fails = 1;
  launch(stream);
  EXPECT_THAT(error_of([&] {
                device_.capture(
                    stream, [] {}, reason_);
              }),
              HasSubstr("cuda:softmax"));
  EXPECT_THAT(error_of([&] { wait(stream); }), HasSubstr("cuda:softmax"));
  EXPECT_EQ(error_of([&] { wait(stream); }), "");
}

TEST_F(CaptureTest, DataWithoutAResultAreToldWithTheNode) {
  CudaStream stream(device_);
  const auto replay = device_.capture(
      stream, [&] { launch(stream); }, reason_);
  for (int run = 0; run < 2; ++run) {
    fake_driver().fault = device_.faults().number_of("the node", "an index is outside of its axis");
    replay->enqueue();
    EXPECT_THAT(error_of([&] { wait(stream); }), HasSubstr("an index is outside of its axis"));
    EXPECT_EQ(error_of([&] { wait(stream); }), "");
  }
}

// Own kernels, a convolution of cuDNN with working memory, and a product of cuBLASLt.
class ReplayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
    const SoftwareGpu software = reset_software_gpu();
    const CudnnApi dnn = reset_software_cudnn({{{}, {}, 1000}});
    libraries_.driver = software.driver;
    libraries_.nvrtc = software.nvrtc;
    libraries_.cublaslt = std::make_shared<CublasLtLibrary>(
        FoundLibrary{"libcublasLt.so.13", "/lib", "13.1.0", ""}, reset_software_cublaslt(kFloatLoops));
    libraries_.cudnn =
        std::make_shared<CudnnLibrary>(FoundLibrary{"libcudnn.so.9", "/lib", "9.19.0", ""}, dnn);
    libraries_.nvrtc.compile = [](ProgramHandle handle, int count, const char* const* options) {
      ++compiled;
      return compile_in_software(handle, count, options);
    };
    gpu_.emplace(libraries_, 0);
  }

  // A process that has compiled nothing.
  void restart() {
    execution_.reset();
    memory_.reset();
    plan_.reset();
    backend_.reset();
    gpu_.emplace(libraries_, 0);
  }

  void build(bool captures, std::optional<DeviceFault> fault = {}) {
    execution_.reset();
    memory_.reset();  // streams and memory of the backend before
    plan_.reset();
    backend_.emplace(*gpu_, CudaOptions{.captures = captures, .fault = fault});
    Model model = parse_model(R"(model ir=10 opset "" 21 {
        graph "net" (%x: f32[1, 2, 4, 4], %w: f32[3, 2, 1, 3], %b: f32[2, 5], %c: f32[5]) -> (%y) {
          %v: f32[1, 3, 4, 2] = Conv(%x, %w) version 11 @"v" from ["v"]
          %p: f32[1, 3, 4, 2] = Relu(%v) version 14 @"p" from ["p"]
          %r: f32[1, 3, 4, 5] = MatMul(%p, %b) version 13 @"r" from ["r"]
          %s: f32[1, 3, 4, 5] = Add(%r, %c) version 14 @"s" from ["s"]
          %y: f32[1, 3, 4, 5] = Softmax(%s) version 13 @"y" from ["y"]
        }
      })");
    plan_ = std::make_shared<const Plan>(
        make_plan(std::move(model.graph), Backends(host_, {&*backend_}), {}, packed_));
    memory_.emplace();
    execution_ = std::make_unique<Execution>(plan_, nodes_, *memory_);
  }

  static std::vector<Datum> inputs(double seed) {
    std::vector<Datum> made;
    for (const Dims& dims : {Dims{1, 2, 4, 4}, {3, 2, 1, 3}, {2, 5}, {5}}) {
      std::vector<double> values;
      for (int64_t i = 0; i < element_count(dims); ++i)
        values.push_back(std::sin(seed + static_cast<double>(i) * 1.7));
      made.push_back(Tensor::from_doubles(ElementType::kFloat, dims, values));
    }
    return made;
  }
  std::vector<double> run(double seed) {
    execution_->run(inputs(seed), outputs_);
    return outputs_[0].tensor.to_doubles();
  }
  // Runs step by step to see what to expect.
  std::vector<std::vector<double>> expected() {
    build(false);
    std::vector<std::vector<double>> all;
    for (int i = 0; i < 4; ++i) all.push_back(run(i));
    EXPECT_EQ(fake_driver().graph_launches, 0U);
    EXPECT_NE(all[0], all[1]);
    return all;
  }

  inline static size_t compiled = 0;
  NoKernels host_;
  Libraries libraries_;
  PackedConstants packed_;
  std::optional<Gpu> gpu_;
  std::optional<CudaBackend> backend_;
  std::shared_ptr<const Plan> plan_;
  DynamicShapeExecutor nodes_{host_};
  std::optional<SessionMemory> memory_;
  std::unique_ptr<Execution> execution_;
  std::vector<Datum> outputs_;
};

TEST_F(ReplayTest, RunsAreWhatTheyAreStepByStep) {
  const auto expected = this->expected();
  build(true);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(run(static_cast<double>(i)), expected[i]) << i;
  EXPECT_EQ(fake_driver().graph_launches, expected.size() - 1);
  ASSERT_EQ(memory_->replays().entries().size(), 1U);
  EXPECT_EQ(memory_->replays().entries().front().refusal, "");
}

TEST_F(ReplayTest, MemoryThatMovesIsCapturedAgain) {
  const auto expected = this->expected();
  build(true);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(run(static_cast<double>(i)), expected[i]);
  const auto occupied = backend_->device().allocate(64);
  memory_->at_least(backend_->device(), size_t{1} << 20);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(run(static_cast<double>(i)), expected[i]) << i;
  EXPECT_EQ(memory_->replays().entries().size(), 2U);
}

// A replay that another session captured reads and writes the memory of that session.
TEST_F(ReplayTest, AStaleReplayIsWrong) {
  const auto expected = this->expected();
  build(true, DeviceFault{DeviceFault::Kind::kStaleReplay, 0});
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(run(static_cast<double>(i)), expected[i]);
  SessionMemory memory;
  Execution other(plan_, nodes_, memory);
  std::vector<Datum> outputs;
  other.run(inputs(2), outputs);
  EXPECT_EQ(outputs[0].tensor.to_doubles(), expected[2]);
  other.run(inputs(3), outputs);
  EXPECT_NE(outputs[0].tensor.to_doubles(), expected[3]);
  EXPECT_NO_THROW(backend_->applied_fault());
}

// cuDNN records an event on the stream that a handle had before, which may be capturing, or gone.
TEST_F(ReplayTest, EachStreamHasAHandleOfCudnnOfItsOwn) {
  build(true);
  run(0);
  {
    SessionMemory other;
    Execution execution(plan_, nodes_, other);
    for (int i = 0; i < 3; ++i) execution.run(inputs(i), outputs_);
  }
  for (int i = 1; i < 3; ++i) run(i);
  SessionMemory third;
  Execution(plan_, nodes_, third).run(inputs(3), outputs_);
  EXPECT_FALSE(software_cudnn().switched);
  EXPECT_EQ(software_cudnn().handles, 2U);  // the third took that of the second
}

// As an engine file does: in another process nothing is compiled, and no plan is searched.
TEST_F(ReplayTest, PayloadsBringBackWhatKernelsRunBy) {
  const auto expected = this->expected();
  Payloads payloads;
  for (const Step& step : plan_->steps) {
    if (step.kernel != nullptr) step.kernel->add_payloads(payloads);
  }
  std::vector<std::string> kinds;
  for (const auto& [name, content] : payloads) {
    EXPECT_FALSE(content.empty()) << name;
    kinds.push_back(name.substr(0, name.find(' ')));
  }
  EXPECT_THAT(kinds, ElementsAre("cudnn", "program", "program", "program"));
  for (const bool refused : {false, true}) {
    restart();
    backend_.emplace(*gpu_, CudaOptions{.captures = false});
    backend_->take(payloads);
    software_cudnn().modes.clear();
    software_cudnn().refuses_texts = refused;
    compiled = 0;
    build(true);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(run(static_cast<double>(i)), expected[i]) << i;
    EXPECT_EQ(compiled, 0U);
    EXPECT_EQ(software_cudnn().modes.empty(), !refused);  // which the heuristics are asked in
  }
}

TEST_F(ReplayTest, CodeThatTheGpuRefusesIsTheFilesFault) {
  build(false);
  Payloads payloads;
  for (const Step& step : plan_->steps) {
    if (step.kernel != nullptr) step.kernel->add_payloads(payloads);
  }
  for (auto& [name, content] : payloads) {
    if (name.starts_with("program")) content = "no code";
  }
  restart();
  backend_.emplace(*gpu_, CudaOptions{.captures = false});
  backend_->take(payloads);
  try {
    build(false);
    run(0);
    ADD_FAILURE() << "it runs";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("machine code of"));
  }
}

// Copies of inputs and outputs alone: nothing is launched, or allocated, one by one.
TEST_F(ReplayTest, ASteadyRunLaunchesOneGraph) {
  build(true);
  for (int i = 0; i < 2; ++i) run(i);
  const size_t allocated = fake_driver().allocated, loaded = fake_driver().loaded;
  const size_t launched = fake_driver().graph_launches;
  fake_driver().calls.clear();
  run(3);
  std::vector<std::string> copies;
  for (const std::string& call : fake_driver().calls) copies.push_back(call.substr(0, call.find(' ')));
  EXPECT_THAT(copies, ElementsAre("up", "up", "up", "up", "down"));
  EXPECT_EQ(fake_driver().graph_launches, launched + 1);
  EXPECT_EQ(fake_driver().allocated, allocated);
  EXPECT_EQ(fake_driver().loaded, loaded);
}

TEST_F(ReplayTest, WhereNoGraphCanBeMadeStepsAreEnqueuedAndTheReasonIsKept) {
  const auto expected = this->expected();
  build(true);
  fake_driver().make_ready_fails = 1;
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(run(static_cast<double>(i)), expected[i]) << i;
  EXPECT_EQ(fake_driver().graph_launches, 0U);
  ASSERT_EQ(memory_->replays().entries().size(), 1U);
  EXPECT_THAT(memory_->replays().entries().front().refusal, HasSubstr("making a captured graph ready"));
}

}  // namespace
}  // namespace vernier::cuda
