// Faults that end or stop the process: what isolated trials put into quarantine, and the engine that goes on
// without it.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <iterator>

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/builder/builder.h"
#include "vernier/engine/quarantine.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

using testing::HasSubstr;

constexpr const char* kSubPixel = "cpu:transposed_convolution";  // the kernel of the tactic

// A transposed convolution, of which every processor offers `sub-pixel`, large enough for threads.
Model upsampling() {
  Model model = parse_model(R"(model ir=10 opset "" 24 {
    graph "g" (%x: f32[1, 64, 24, 24], %w: f32[64, 64, 2, 2]) -> (%y) {
      %a: f32[*] = ConvTranspose(%x, %w) {strides = ints[2, 2]} version 22 @"up" from ["up"]
      %y: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
    }
  })");
  Value* weights = model.graph->inputs.back();
  model.graph->inputs.pop_back();
  std::vector<double> values(64 * 64 * 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 17) / 17 - 0.4;
  weights->constant = Tensor::from_doubles(ElementType::kFloat, {64, 64, 2, 2}, values);
  ops::infer_types(*model.graph);
  return model;
}

BuildOptions isolated(const char* fault = nullptr) {
  BuildOptions options;
  options.tune.isolate = true;
  options.tune.step_seconds = 2;
  options.timing_cache = std::make_shared<TimingCache>(timing_device());
  if (fault != nullptr) options.fault = parse_fault(fault, cpu::tactic_names());
  return options;
}

bool uses(const Engine& engine, const std::string& kernel) {
  const auto& steps = engine.prepared().at(0).plan->steps;
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return step.kernel && step.kernel->name.find(kernel) != std::string::npos;
  });
}

class ProcessFaults : public testing::Test {
 protected:
  ProcessFaults() {
    std::atomic<int> ran = 0;  // a child would wait for ever for these threads
    cpu::parallel(1000, 1, [&](int64_t, int64_t) { ++ran; });
  }
  ~ProcessFaults() override { EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD); }

  const ThreadLimit threads_{2};
  const Model model_ = upsampling();
};

TEST_F(ProcessFaults, IsolatedTrialsOfSoundTacticsFindNothing) {
  BuildOptions options = isolated();
  options.tune.forced = "sub-pixel";
  const BuiltEngine made = Builder(model_, options).build();
  EXPECT_TRUE(uses(*made.engine, kSubPixel));
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  EXPECT_THAT(quarantined_tactics(*made.engine), testing::IsEmpty());
}

TEST_F(ProcessFaults, ACrashPutsTheTacticIntoQuarantine) {
  const BuildOptions options = isolated("crash@sub-pixel");
  const BuiltEngine made = Builder(model_, options).build();
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  EXPECT_FALSE(uses(*made.engine, kSubPixel));
  const auto found = quarantined_tactics(*made.engine);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].tactic, "sub-pixel");
  EXPECT_THAT(found[0].nodes, testing::Contains("up"));
  EXPECT_EQ(found[0].reason, "crashed: signal 11 (Segmentation fault), in its trial");
  EXPECT_THAT(found[0].text(), HasSubstr("sub-pixel for '"));
  // A build that is not isolated finds the verdict in the cache, and does not crash.
  BuildOptions again;
  again.timing_cache = options.timing_cache;
  again.fault = options.fault;
  EXPECT_FALSE(uses(*Builder(model_, again).build().engine, kSubPixel));
}

TEST_F(ProcessFaults, AHangPutsTheTacticIntoQuarantine) {
  const BuiltEngine made = Builder(model_, isolated("hang@sub-pixel:up")).build();
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  const auto found = quarantined_tactics(*made.engine);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "did not end within 2 s, in its trial");
}

TEST_F(ProcessFaults, WhereEveryKernelCrashesTheReferenceRuns) {
  BuildOptions options = isolated("crash:up");
  options.tune.level = 4;  // also in layouts in which there is no tactic
  const BuiltEngine made = Builder(model_, options).build();
  EXPECT_EQ(made.certificate->verdict, Verdict::kPass);
  EXPECT_GE(quarantined_tactics(*made.engine).size(), 2U);
}

TEST_F(ProcessFaults, EndABuildThatIsNotIsolated) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, with threads of its own
  BuildOptions options = isolated("crash@sub-pixel");
  options.tune.isolate = false;
  EXPECT_EXIT(
      Builder(model_, options).build(),
      [](int status) { return WIFSIGNALED(status) || WEXITSTATUS(status) != 0; }, "");
}

TEST(ProcessFaultNames, NameATactic) {
  const auto fault = parse_fault("crash@sub-pixel:up", cpu::tactic_names());
  EXPECT_EQ(fault, (FaultSpec{Fault::kCrash, "up", "sub-pixel"}));
  EXPECT_EQ(fault_text(fault), "crash of sub-pixel at 'up'");
  for (const char* wrong : {"crash@", "crash@nothing", "residual@sub-pixel", "crash:", "@sub-pixel"})
    EXPECT_THROW(parse_fault(wrong, cpu::tactic_names()), Error) << wrong;
}

}  // namespace
}  // namespace vernier
