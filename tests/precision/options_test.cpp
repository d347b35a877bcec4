#include "vernier/precision/options.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(Options, Patterns) {
  EXPECT_TRUE(matches("/norm/*", "/norm/Mul_1"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*conv*_?", "a/conv/b_1"));
  EXPECT_TRUE(matches("a*b*c", "abbbc"));
  EXPECT_FALSE(matches("a*b*c", "abbb"));
  EXPECT_FALSE(matches("conv", "conv1"));
  EXPECT_FALSE(matches("conv?", "conv"));
  EXPECT_FALSE(matches("", "x"));
}

TEST(Options, Tf32IsAskedForUnlessItIsForbidden) {
  PrecisionOptions options;
  options.layers = parse_layer_types("a:fp32");
  EXPECT_FALSE(options.asks_tf32());
  options.layers = parse_layer_types("a:fp32,b:tf32");
  EXPECT_TRUE(options.asks_tf32());
  options.layers.clear();
  options.tf32 = true;
  EXPECT_TRUE(options.asks_tf32() && options.changes_types());
  options.no_tf32 = true;
  EXPECT_FALSE(options.asks_tf32());
}

TEST(Options, LayerTypes) {
  const auto layers = parse_layer_types("a:b:fp32,/norm/*:bf16,c:f16");
  ASSERT_EQ(layers.size(), 3);
  EXPECT_EQ(layers[0].pattern, "a:b");
  EXPECT_EQ(layers[0].type, ElementType::kFloat);
  EXPECT_EQ(layers[1].type, ElementType::kBFloat16);
  EXPECT_EQ(layers[2].type, ElementType::kFloat16);
  EXPECT_FALSE(layers[0].tf32);
  const LayerType tf32 = parse_layer_types("/fc/*:tf32").at(0);
  EXPECT_EQ(tf32.type, ElementType::kFloat);
  EXPECT_TRUE(tf32.tf32);
  for (const char* wrong : {"a", ":fp32", "a:", "a:fp33", "a:fp32,,b:fp32"})
    EXPECT_THROW(parse_layer_types(wrong), Error) << wrong;
}

}  // namespace
}  // namespace vernier
