// MatMulNBits with known weights against the reference.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

constexpr auto kU8 = ElementType::kUint8, kFloat = ElementType::kFloat;

struct Case {
  int64_t bits, block, columns, depth;

  int64_t blocks() const { return (depth + block - 1) / block; }
  ops::OneNode node() const {
    return {"MatMulNBits",
            1,
            {{"N", Attribute(columns)},
             {"K", Attribute(depth)},
             {"bits", Attribute(bits)},
             {"block_size", Attribute(block)}},
            "com.microsoft"};
  }
  Tensor weights() const { return random_tensor(kU8, {columns, blocks(), block * bits / 8}, 2); }
  Tensor scales(ElementType type = kFloat) const {
    return random_tensor(type, {columns * blocks()}, 3, false);
  }
  Tensor packed_zeros() const { return random_tensor(kU8, {columns * ((blocks() * bits + 7) / 8)}, 4); }
};

Tensor reals(Dims dims, unsigned seed, ElementType type = kFloat) {
  return random_tensor(type, std::move(dims), seed, false);
}

// The tolerance is a part of the largest sum of so many products.
double tolerance(const Case& each) {
  return 1e-6 * static_cast<double>(each.depth) * std::ldexp(1.0, static_cast<int>(each.bits));
}

std::string name_of(const Case& each) {
  return fmt::format("cpu:{}bit_product", each.bits);
}

TEST(NbitsProduct, BitsBlocksAndRows) {
  for (const int64_t bits : {4, 8}) {
    for (const int64_t block : {16, 32, 64, 128, 256}) {
      for (const int64_t columns : {1, 16, 37}) {
        const Case each{bits, block, columns, 2 * block};
        for (const int64_t rows : {1, 2, 3, 5, 8, 15})
          OneKernel{each.node(),
                    {reals({rows, each.depth}, 1), each.weights(), each.scales()},
                    {1, 2},
                    Layout::kPlain,
                    tolerance(each)}
              .expect(name_of(each));
      }
    }
  }
}

TEST(NbitsProduct, ZeroPointsOfEachBlock) {
  for (const int64_t bits : {4, 8}) {
    const Case each{bits, 32, 21, 96};
    for (const int64_t rows : {1, 3, 40}) {
      const Tensor x = reals({rows, each.depth}, 1), w = each.weights(), s = each.scales();
      for (const Tensor& zeros : {each.packed_zeros(), reals({each.columns * each.blocks()}, 5)})
        OneKernel{each.node(),
                  {x, w, s, zeros, Tensor(), reals({each.columns}, 6)},
                  {1, 2, 3},
                  Layout::kPlain,
                  tolerance(each)}
            .expect(name_of(each));
    }
  }
}

TEST(NbitsProduct, ManyRowsAndDepthsThatEndWithinABlock) {
  for (const int64_t depth : {16, 50, 200, 333}) {
    for (const int64_t rows : {1, 33, 70}) {
      const Case each{4, 64, 150, depth};
      const Tensor x = reals({2, rows, depth}, 1);
      OneKernel{each.node(), {x, each.weights(), each.scales()}, {1, 2}, Layout::kPlain, tolerance(each)}
          .expect(name_of(each));
      OneKernel{each.node(),
                {x, each.weights(), each.scales(), each.packed_zeros(), Tensor(), reals({150}, 6)},
                {1, 2, 3, 5},
                Layout::kPlain,
                tolerance(each)}
          .expect(name_of(each));
    }
  }
}

TEST(NbitsProduct, HalvesAreUpcast) {
  const Case each{4, 32, 40, 64};
  constexpr auto kHalf = ElementType::kFloat16;
  for (const int64_t rows : {1, 50})
    OneKernel{each.node(),
              {reals({rows, 64}, 1, kHalf), each.weights(), each.scales(kHalf)},
              {1, 2},
              Layout::kPlain,
              2e-3}
        .expect(name_of(each) + ":upcast");
}

TEST(NbitsProduct, WhatIsNoNumberStaysInItsRow) {
  const Case each{4, 16, 17, 32};
  auto values = reals({2, 32}, 1).to_doubles();
  values[3] = std::nan("");
  const Tensor x = Tensor::from_doubles(kFloat, {2, 32}, values);
  OneKernel{each.node(), {x, each.weights(), each.scales()}, {1, 2}, Layout::kPlain, tolerance(each)}.expect(
      name_of(each));
}

TEST(NbitsProduct, OthersAreRefused) {
  const auto refuses = [](const Case& each, std::vector<Tensor> inputs, std::set<size_t> constants) {
    OneKernel kernel{each.node(), std::move(inputs), std::move(constants)};
    EXPECT_FALSE(kernel.run());
    EXPECT_THAT(kernel.reason, ::testing::HasSubstr("4 or 8 bits"));
  };
  const Case two{2, 16, 4, 32}, four{4, 16, 4, 32};
  refuses(two, {reals({1, 32}, 1), two.weights(), two.scales()}, {1, 2});
  refuses(four, {reals({1, 32}, 1), four.weights(), four.scales()}, {2});
  refuses(four,
          {reals({1, 32}, 1), four.weights(), four.scales(), Tensor(),
           Tensor::from_doubles(ElementType::kInt32, {32}, std::vector<double>(32, 1))},
          {1, 2, 4});
}

}  // namespace
}  // namespace vernier::cpu
