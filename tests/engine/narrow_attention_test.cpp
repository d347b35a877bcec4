// Attention that an engine makes of several nodes, in types of 16 bits.
#include <gtest/gtest.h>

#include "engine/weighted_model.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/engine.h"

namespace vernier {
namespace {

// Integers as the text of a constant.
std::string integers(const std::vector<int64_t>& values) {
  std::string hex;
  for (const int64_t value : values) hex += fmt::format("{:02x}00000000000000", value);
  return hex;
}

// An attention takes over the nodes that bring its heads apart. Those, which nobody reads any more, say
// nothing of its types.
TEST(NarrowAttention, PackedHeadsStayNarrow) {
  const std::string constants = fmt::format(
      "const %half = f32[] hex\"0000003f\"\nconst %five = i64[5] hex\"{}\"\n"
      "const %thirds = i64[3] hex\"{}\"\nconst %first = i64[1] hex\"{}\"\n",
      integers({1, 5, 3, 2, 8}), integers({1, 1, 1}), integers({0}));
  const Model model = with_weights(R"(graph "g" (%x: f32[1, 5, 16], %w: f32[16, 48], %wz: f32[8, 8]) -> (%y) {
    )" + constants + R"(
    %p: f32[*] = MatMul(%x, %w) version 13 @"packed" from ["packed"]
    %r: f32[*] = Reshape(%p, %five) version 14 @"reshape" from ["reshape"]
    %t: f32[*] = Transpose(%r) {perm = ints[2, 0, 3, 1, 4]} version 13 @"transpose" from ["transpose"]
    %a: f32[*], %b: f32[*], %c: f32[*] = Split(%t, %thirds) {axis = 0} version 13 @"split" from ["split"]
    %q: f32[*] = Squeeze(%a, %first) version 13 @"queries" from ["queries"]
    %k: f32[*] = Squeeze(%b, %first) version 13 @"keys" from ["keys"]
    %v: f32[*] = Squeeze(%c, %first) version 13 @"values" from ["values"]
    %u: f32[*] = Transpose(%k) {perm = ints[0, 1, 3, 2]} version 13 @"turned" from ["turned"]
    %i: f32[*] = Mul(%q, %half) version 14 @"scaled" from ["scaled"]
    %j: f32[*] = Mul(%u, %half) version 14 @"scaled_keys" from ["scaled_keys"]
    %s: f32[*] = MatMul(%i, %j) version 13 @"scores" from ["scores"]
    %d: f32[*] = Softmax(%s) {axis = -1} version 13 @"weights" from ["weights"]
    %o: f32[*] = MatMul(%d, %v) version 13 @"attended" from ["attended"]
    %y: f32[*] = MatMul(%o, %wz) version 13 @"product" from ["product"]
  })");
  BuildOptions options;
  options.precision.bf16 = true;
  const auto engine = compile(model, options);
  for (const char* node : {"split", "scaled", "scaled_keys", "scores", "weights", "attended"})
    EXPECT_EQ(engine->precision().layers.at(node).store, ElementType::kBFloat16) << node;
}

}  // namespace
}  // namespace vernier
