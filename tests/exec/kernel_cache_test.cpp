// Kernels that are kept by what they were made for, and those that are not worth it.
#include "vernier/exec/kernel_cache.h"

#include <gtest/gtest.h>

#include <thread>

namespace vernier {
namespace {

struct Nothing : Kernel {
  void run(const KernelArguments&) const override {}
};

// A node of one output; requests for it at some size, and kernels that take some time to make.
class KernelCaches : public testing::Test {
 protected:
  KernelCaches() {
    node_.op = "Neg";
    node_.outputs = {graph_.add_value("y")};
  }

  const Kernel* get(int64_t size, std::chrono::microseconds takes) {
    KernelRequest request{
        node_, {Operand{ElementType::kFloat, {size}}}, {Operand{ElementType::kFloat, {size}}}};
    kernels_.push_back(cache_.get(request, [&] {
      ++made_;
      if (takes.count() > 0) std::this_thread::sleep_for(takes);
      return std::make_shared<const Nothing>();
    }));
    return kernels_.back().get();
  }

  static constexpr std::chrono::microseconds kLong{200}, kShort{0};
  Graph graph_;
  Node node_;
  KernelCache cache_;
  int made_ = 0;
  std::vector<std::shared_ptr<const Kernel>> kernels_;  // no address comes twice
};

TEST_F(KernelCaches, WhatTakesLongIsMadeOnceForASize) {
  const Kernel* three = get(3, kLong);
  EXPECT_NE(get(4, kLong), three);
  EXPECT_EQ(get(3, kLong), three);
  EXPECT_EQ(made_, 2);
}

TEST_F(KernelCaches, WhatTakesLongAtOtherSizesIsKeptFromThenOn) {
  for (int64_t size = 1; size < 100; ++size) get(size, kShort);  // some of them may be interrupted
  const Kernel* large = get(1000, kLong);
  const int made = made_;
  EXPECT_EQ(get(1000, kLong), large);
  EXPECT_EQ(made_, made);
}

}  // namespace
}  // namespace vernier
