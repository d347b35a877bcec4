// Random plans on several streams: whatever order is drawn, every value is what it is on the host, and
// nothing uses memory that another step may still write.
#include <gmock/gmock.h>

#include "../exec/random_graph.h"
#include "exec/no_kernels.h"
#include "vernier/backends/simulated/simulated_backend.h"
#include "vernier/exec/execution.h"

namespace vernier {
namespace {

struct Counts {
  size_t copies = 0, kernels = 0, waits = 0, on_host = 0;
};

Counts counts_of(const Plan& plan) {
  Counts counts;
  for (const Step& step : plan.steps) {
    counts.copies += step.copies;
    counts.kernels += step.kernel != nullptr;
    counts.waits += step.waits.size();
    counts.on_host += step.stream == kCallersThread;
  }
  return counts;
}

void expect_right(unsigned seed, const simulated::SimulatedOptions& options, Counts& total) {
  const NoKernels host;
  const simulated::SimulatedBackend accelerator(options);
  PackedConstants packed;
  RandomGraph random(seed);
  auto plan =
      std::make_shared<const Plan>(make_plan(random.take(), Backends(host, {&accelerator}), {}, packed));
  const Counts counts = counts_of(*plan);
  total.copies += counts.copies;
  total.kernels += counts.kernels;
  total.waits += counts.waits;
  total.on_host += counts.on_host;
  DynamicShapeExecutor nodes(host);
  SessionMemory memory;
  Execution execution(plan, nodes, memory);
  SCOPED_TRACE(seed);
  expect_what_nodes_mean(execution, host, random, 3);
}

TEST(RandomPlans, OnTwoStreams) {
  Counts total;
  for (unsigned seed = 0; seed < 200; ++seed) expect_right(seed, {.seed = seed, .streams = 2}, total);
  EXPECT_GT(total.copies, 200U);
  EXPECT_GT(total.waits, 200U);
}

TEST(RandomPlans, WithOperatorsThatTheDeviceLacks) {
  Counts total;
  for (unsigned seed = 0; seed < 200; ++seed)
    expect_right(seed, {.seed = seed, .streams = 3, .lacks = {"Concat", "Add"}}, total);
  EXPECT_GT(total.on_host, 200U);
  EXPECT_GT(total.kernels, 200U);
}

TEST(RandomPlans, OnThreads) {
  Counts total;
  for (unsigned seed = 0; seed < 50; ++seed)
    expect_right(seed, {.seed = seed, .streams = 3, .threads = true, .lacks = {"Neg"}}, total);
}

}  // namespace
}  // namespace vernier
