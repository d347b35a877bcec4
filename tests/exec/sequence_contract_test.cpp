// Tests the one contract of kernels that run in turn.
#include <gmock/gmock.h>

#include "vernier/exec/group_members.h"

namespace vernier {
namespace {

constexpr ElementType kF32 = ElementType::kFloat;
using Order = NumericsContract::Order;

NumericsContract pointwise() {
  return {.computed = kF32, .stored = kF32, .rounds_between = true};
}

NumericsContract product() {
  return {.computed = kF32, .accumulated = kF32, .stored = kF32, .order = Order::kBlocked};
}

TEST(SequenceContract, KeepsWhatAnyOfThemApproximates) {
  NumericsContract split = product(), winograd = product(), functions = pointwise();
  split.operands = ElementType::kBFloat16;
  split.terms = 2;
  winograd.winograd = 4;
  functions.approximate = true;
  functions.deterministic = false;
  const std::vector<NumericsContract> kernels{split, functions, winograd, pointwise()};
  const NumericsContract whole = sequence_contract(kernels);
  EXPECT_EQ(whole.text(),
            "computed f32, operands split into 2 bf16, accumulated f32 blocked, stored f32, Winograd F(4x4, "
            "3x3), functions to a few ulp, rounds between its nodes, not deterministic");
}

TEST(SequenceContract, TakesTheCoarsestOfEachRounding) {
  NumericsContract exact = product(), rounded = product(), split = product();
  exact.accumulated = ElementType::kInt32;
  rounded.operands = OperandFormat::tf32();
  rounded.order = Order::kSequential;
  split.operands = ElementType::kBFloat16;
  split.terms = 3;
  const std::vector<NumericsContract> kernels{split, rounded, exact};
  const NumericsContract whole = sequence_contract(kernels);
  EXPECT_EQ(whole.operands, OperandFormat::tf32());
  EXPECT_EQ(whole.terms, 1);
  EXPECT_EQ(whole.accumulated, kF32);
  EXPECT_EQ(whole.order, Order::kSequential);
}

// A last node that moves bits says nothing of those before it.
TEST(SequenceContract, StoresWhatTheLastThatStoresDoes) {
  NumericsContract narrow = pointwise();
  narrow.stored = ElementType::kBFloat16;
  const std::vector<NumericsContract> kernels{product(), narrow, NumericsContract()};
  const NumericsContract whole = sequence_contract(kernels);
  EXPECT_EQ(whole.stored, ElementType::kBFloat16);
  EXPECT_EQ(whole.computed, kF32);
  EXPECT_EQ(whole.accumulated, kF32);
}

}  // namespace
}  // namespace vernier
