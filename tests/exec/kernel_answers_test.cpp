// Which steps share what was answered to one of them.
#include "vernier/exec/planning/kernel_answers.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

struct Named : Kernel {
  explicit Named(std::string text) { name = std::move(text); }
  void run(const KernelArguments&) const override {}
};

class KernelAnswersTest : public testing::Test {
 protected:
  KernelAnswersTest() {
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
  void answer(int64_t count, std::shared_ptr<const Kernel> kernel) {
    KernelRequest asked = request(count, nullptr);
    answers_.add({question_of(node_, ""), asked.inputs, asked.outputs, asked, std::move(kernel)});
  }
  const Kernel* found(int64_t count, const Kernel* like, std::string_view tactic = "") const {
    const auto* given = answers_.find(question_of(node_, tactic), request(count, like));
    return given == nullptr ? nullptr : given->kernel.get();
  }

  Node node_;
  const Named like_{"concat"}, other_{"other"};
  KernelAnswers answers_;
};

TEST_F(KernelAnswersTest, StepsThatAskTheSameShareTheKernel) {
  const auto made = std::make_shared<Named>("concat");
  answer(4, made);
  EXPECT_EQ(found(4, &like_), made.get());
  node_.name = "of another layer";
  EXPECT_EQ(found(4, &like_), made.get());
}

TEST_F(KernelAnswersTest, OtherOperandsTacticsOrAttributesAreOtherQuestions) {
  answer(4, std::make_shared<Named>("concat"));
  EXPECT_EQ(found(5, &like_), nullptr);
  EXPECT_EQ(found(4, &like_, "few"), nullptr);
  node_.attributes["axis"] = Attribute(int64_t{1});
  EXPECT_EQ(found(4, &like_), nullptr);
}

// What a precision plan, or the quarantine, says of one node need not hold for another.
TEST_F(KernelAnswersTest, AKernelThatComputesOtherwiseIsForThatNodeAlone) {
  answer(4, std::make_shared<Named>("concat"));
  EXPECT_EQ(found(4, &other_), nullptr);
  EXPECT_EQ(found(4, nullptr), nullptr);
  answer(6, nullptr);  // nobody has one
  EXPECT_EQ(found(6, &like_), nullptr);
}

}  // namespace
}  // namespace vernier
