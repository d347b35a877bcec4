// A kernel whose bits depend on the number of threads is not taken where bits must not.
#include "vernier/tune/thread_invariant_kernels.h"

#include <gtest/gtest.h>

#include <bit>

#include "vernier/exec/one_thread.h"

namespace vernier {
namespace {

int threads_now = 1;
int now() {
  return threads_now;
}

// The sum of all elements, in as many parts as there were threads when it was made.
class PartialSums : public Kernel {
 public:
  PartialSums(int64_t count, int parts, ElementType stored) : count_(count), parts_(parts) {
    name = std::to_string(parts) + " parts";
    contract = {ElementType::kFloat, ElementType::kFloat, stored};
  }
  void run(const KernelArguments& given) const override {
    const auto* from = static_cast<const float*>(given.inputs[0]);
    float sum = 0;
    for (int part = 0; part < parts_; ++part) {
      volatile float partial = 0;
      for (int64_t i = count_ * part / parts_; i < count_ * (part + 1) / parts_; ++i)
        partial = partial + from[i];
      sum += partial;
    }
    if (contract.stored == ElementType::kFloat)
      *static_cast<float*>(given.outputs[0]) = sum;
    else  // the upper half, with a few bits less: what differs beyond is lost
      *static_cast<uint16_t*>(given.outputs[0]) = static_cast<uint16_t>(std::bit_cast<uint32_t>(sum) >> 20);
  }

 private:
  int64_t count_;
  int parts_;
};

class Sums : public Backend {
 public:
  bool splits = true;
  int most_alone = 1 << 30;  // elements that one thread can sum
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    ++made;
    const bool alone = request.tactic == kOneThreadTactic || threads_now == 1;
    if (alone && request.in(0).size() > most_alone) {
      reason = "too many";
      return nullptr;
    }
    return std::make_unique<PartialSums>(request.in(0).size(), alone || !splits ? 1 : threads_now,
                                         request.out().element);
  }
  std::vector<std::string> tactics(const KernelRequest&) const override { return {"fast", kOneThreadTactic}; }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
  mutable int made = 0;
};

class ThreadInvariantKernelsTest : public testing::Test {
 protected:
  ThreadInvariantKernelsTest() {
    Value* x = graph_.add_input("x", ValueType::of(ElementType::kFloat, to_shape(Dims{5000})));
    auto node = std::make_unique<Node>();
    node->op = "ReduceSum";
    node->version = 13;
    node->inputs = {x};
    node->outputs = {graph_.add_value("y", ValueType::of(ElementType::kFloat, to_shape(Dims{1})))};
    node_ = graph_.add_node(std::move(node));
  }
  ~ThreadInvariantKernelsTest() override { threads_now = 1; }

  KernelRequest request(int64_t count = 5000) const {
    return {*node_,
            {Operand{ElementType::kFloat, {count}, Layout::kPlain, nullptr}},
            {Operand{ElementType::kFloat, {1}, Layout::kPlain, nullptr}}};
  }
  std::string kernel(int threads, std::string_view tactic = {}) {
    threads_now = threads;
    KernelRequest asked = request();
    asked.tactic = tactic;
    const auto kernel = invariant_.make(asked, reason_);
    return kernel ? kernel->name : "";
  }

  Graph graph_;
  Node* node_;
  Sums sums_;
  ThreadInvariantKernels invariant_{sums_, now};
  std::string reason_;
};

TEST_F(ThreadInvariantKernelsTest, SumsThatThreadsShareAreDoneByOne) {
  for (const int threads : {1, 2, 3, 4, 7}) EXPECT_EQ(kernel(threads), "1 parts") << threads;
  threads_now = 4;
  EXPECT_EQ(sums_.make(request(), reason_)->name, "4 parts");  // so it was the check
  EXPECT_EQ(invariant_.choice(request()), kOneThreadTactic);
}

// On the data that are drawn the rounded results are the same.
TEST_F(ThreadInvariantKernelsTest, RoundingHidesNoDifference) {
  KernelRequest narrow = request();
  narrow.outputs[0]->element = ElementType::kBFloat16;
  for (const int threads : {2, 3, 4, 7}) {
    threads_now = threads;
    EXPECT_EQ(invariant_.make(narrow, reason_)->name, "1 parts") << threads;
  }
  Sums whole;
  whole.splits = false;
  EXPECT_EQ(ThreadInvariantKernels(whole, now).choice(narrow), "");
}

TEST_F(ThreadInvariantKernelsTest, WhatDoesNotDependOnThreadsIsLeftAlone) {
  sums_.splits = false;
  for (const int threads : {1, 2, 4}) {
    EXPECT_EQ(kernel(threads), "1 parts");
    EXPECT_EQ(invariant_.choice(request()), "");
  }
}

TEST_F(ThreadInvariantKernelsTest, EachRequestIsComparedOnceForEachNumberOfThreads) {
  kernel(2);
  const int made = sums_.made;
  kernel(2);
  EXPECT_EQ(sums_.made, made + 1);
}

TEST_F(ThreadInvariantKernelsTest, WhatOneThreadRefusesAllRefuse) {
  sums_.most_alone = 4000;
  EXPECT_EQ(kernel(1), "");
  EXPECT_EQ(kernel(3), "");
  EXPECT_EQ(reason_, "too many");
  EXPECT_EQ(invariant_.choice(request()), kOneThreadTactic);  // which it refuses, too
}

TEST_F(ThreadInvariantKernelsTest, WhatIsMeasuredDecidesNothing) {
  EXPECT_EQ(invariant_.tactics(request()), std::vector<std::string>{kOneThreadTactic});
  EXPECT_EQ(kernel(4, "fast"), "1 parts");
}

}  // namespace
}  // namespace vernier
