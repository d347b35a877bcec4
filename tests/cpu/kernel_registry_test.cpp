#include "vernier/backends/cpu/kernel_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/base/error.h"

namespace vernier::cpu {
namespace {

using ::testing::ElementsAre;

KernelMaker maker(const char* op, Priority priority) {
  return {"", op, LayoutRule::kPlain, priority, nullptr};
}

std::vector<Priority> priorities(const KernelRegistry& registry, const char* op) {
  Node node;
  node.op = op;
  std::vector<Priority> found;
  for (const KernelMaker& each : registry.find(node)) found.push_back(each.priority);
  return found;
}

TEST(KernelRegistry, PrioritiesDecideWhateverTheOrderOfRegistration) {
  KernelRegistry registry;
  for (const Priority priority : {Priority::kLibrary, Priority::kWinograd, Priority::kNarrow})
    registry.add(maker("Conv", priority));
  EXPECT_THAT(priorities(registry, "Conv"),
              ElementsAre(Priority::kNarrow, Priority::kLibrary, Priority::kWinograd));
}

TEST(KernelRegistry, RefusesTwoMakersOfOneOperatorWithOnePriority) {
  KernelRegistry registry;
  registry.add(maker("Conv", Priority::kOwn));
  registry.add(maker("MatMul", Priority::kOwn));  // another operator
  EXPECT_THROW(registry.add(maker("Conv", Priority::kOwn)), Error);
}

// The real registry is tested: without tuning a convolution goes to the loops that serve few requests best,
// then to products of a row, then to oneDNN; tactics come last.
TEST(KernelRegistry, AsksOwnSpecialLoopsBeforeOneDnnAndTacticsLast) {
  EXPECT_THAT(priorities(KernelRegistry::instance(), "Conv"),
              ElementsAre(Priority::kNarrow, Priority::kGemv, Priority::kLibrary, Priority::kBlocks,
                          Priority::kWinograd));
  EXPECT_THAT(priorities(KernelRegistry::instance(), "QLinearConv"),
              ElementsAre(Priority::kNarrow, Priority::kLibraryNarrow, Priority::kLibrary,
                          Priority::kInt16Pairs, Priority::kBlocks));
}

}  // namespace
}  // namespace vernier::cpu
