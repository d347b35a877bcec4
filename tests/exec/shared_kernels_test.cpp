// Which steps share the kernel that was made for one of them.
#include "vernier/exec/planning/shared_kernels.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

struct Named : Kernel {
  explicit Named(std::string text) { name = std::move(text); }
  void run(const KernelArguments&) const override {}
};

class SharedKernelsTest : public testing::Test {
 protected:
  SharedKernelsTest() {
    node_.op = "Concat";
    node_.version = 13;
    node_.attributes["axis"] = Attribute(int64_t{2});
  }

  static Operand rows(int64_t count) { return {.element = ElementType::kFloat, .dims = {1, count}}; }
  KernelRequest request(int64_t count, const Kernel* like) const {
    KernelRequest made{node_, {rows(count)}, {rows(count + 1)}};
    made.like = like;
    return made;
  }
  void make(int64_t count, std::shared_ptr<const Kernel> kernel) {
    KernelRequest asked = request(count, nullptr);
    shared_.add({signature_of(node_, ""), asked.inputs, asked.outputs, asked, std::move(kernel)});
  }
  const Kernel* found(int64_t count, const Kernel* like, std::string_view tactic = "") const {
    const auto* given = shared_.find(signature_of(node_, tactic), request(count, like));
    return given == nullptr ? nullptr : given->kernel.get();
  }

  Node node_;
  const Named like_{"concat"}, other_{"other"};
  SharedKernels shared_;
};

TEST_F(SharedKernelsTest, StepsThatAskTheSameShareTheKernel) {
  const auto made = std::make_shared<Named>("concat");
  make(4, made);
  EXPECT_EQ(found(4, &like_), made.get());
  node_.name = "of another layer";
  EXPECT_EQ(found(4, &like_), made.get());
}

TEST_F(SharedKernelsTest, OtherOperandsTacticsOrAttributesAreOtherQuestions) {
  make(4, std::make_shared<Named>("concat"));
  EXPECT_EQ(found(5, &like_), nullptr);
  EXPECT_EQ(found(4, &like_, "few"), nullptr);
  node_.attributes["axis"] = Attribute(int64_t{1});
  EXPECT_EQ(found(4, &like_), nullptr);
}

// x * x is computed by a kernel that reads x once.
TEST_F(SharedKernelsTest, OperandsThatAreOneAreNotTwo) {
  const auto answered = [](bool first_squares, bool second_squares) {
    Graph graph;
    const ValueType type = ValueType::of(ElementType::kFloat, Shape{4});
    Value *x = graph.add_value("x", type), *y = graph.add_value("y", type);
    Node first, second;
    for (Node* node : {&first, &second}) {
      node->op = "Mul";
      node->version = 14;
      node->inputs = {x, (node == &first ? first_squares : second_squares) ? x : y};
    }
    const Named like("mul");
    SharedKernels shared;
    const auto asked = [&](const Node& node) {
      KernelRequest made{node, {rows(4), rows(4)}, {rows(4)}};
      made.like = &like;
      return made;
    };
    const KernelRequest request = asked(first);
    shared.add(
        {signature_of(first, ""), request.inputs, request.outputs, request, std::make_shared<Named>("mul")});
    return shared.find(signature_of(second, ""), asked(second)) != nullptr;
  };
  EXPECT_TRUE(answered(false, false));
  EXPECT_TRUE(answered(true, true));
  EXPECT_FALSE(answered(true, false));
  EXPECT_FALSE(answered(false, true));
}

// A precision plan, or the quarantine, may treat one node otherwise than another.
TEST_F(SharedKernelsTest, AKernelThatComputesOtherwiseIsForThatNodeAlone) {
  make(4, std::make_shared<Named>("concat"));
  EXPECT_EQ(found(4, &other_), nullptr);
  EXPECT_EQ(found(4, nullptr), nullptr);
  make(6, nullptr);  // nobody has one
  EXPECT_EQ(found(6, &like_), nullptr);
}

}  // namespace
}  // namespace vernier
