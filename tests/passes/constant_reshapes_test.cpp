// Targets of Reshape that are computed from sizes.
#include "passes/attention_lines.h"
#include "passes/expect_pass.h"

namespace vernier {
namespace {

const PassCase kSettle{constant_reshapes(), {}, {remove_dead_code()}};

// %y is %x, seen by the sizes of `axes` and `rest`.
Model reshaped(const std::string& input, const std::string& axes, const std::string& rest) {
  const std::vector<Line> lines = {{"s", "Shape", "%x"},
                                   {"g", "Gather", "%s, %axes"},
                                   {"to", "Concat", "%g, %rest", "axis = 0"},
                                   {"y", "Reshape", "%x, %to"}};
  const auto list = [](const std::string& text) {
    Dims dims;
    std::istringstream words(text);
    for (int64_t word; words >> word;) dims.push_back(word);
    return sizes(dims);
  };
  return attention_model("%x: " + input + ", %axes: i64[*], %rest: i64[*]", lines,
                         {{"axes", list(axes)}, {"rest", list(rest)}});
}

TEST(ConstantReshapes, SizesThatStayOrFollow) {
  expect_pass(kSettle, reshaped("f32[b, n, 32]", "0 1", "4 8"), R"(graph "g" (%x: f32[b, n, 32]) -> (%y) {
      const %y/sizes = i64[4] hex"0000000000000000000000000000000004000000000000000800000000000000"
      %y: f32[b, n, 4, 8] = Reshape(%x, %y/sizes) version 14 @"y" from ["y"]
  })");
  expect_pass(kSettle, reshaped("f32[b, n, 32]", "0 1", "4 -1"), R"(graph "g" (%x: f32[b, n, 32]) -> (%y) {
      const %y/sizes = i64[4] hex"0000000000000000000000000000000004000000000000000800000000000000"
      %y: f32[b, n, 4, 8] = Reshape(%x, %y/sizes) version 14 @"y" from ["y"]
  })");
  expect_pass(kSettle, reshaped("f32[b, 6, 32]", "1", "-1 32"), R"(graph "g" (%x: f32[b, 6, 32]) -> (%y) {
      const %y/sizes = i64[3] hex"0600000000000000ffffffffffffffff2000000000000000"
      %y: f32[6, b, 32] = Reshape(%x, %y/sizes) version 14 @"y" from ["y"]
  })");
}

TEST(ConstantReshapes, TensorsOfNoElementsToo) {
  const Model model = reshaped("f32[b, n, 32]", "0 1", "4 8");
  PassCase empty = kSettle;
  empty.data = {{"x", Tensor(ElementType::kFloat, {2, 0, 32})}};
  Model prepared, after;
  EXPECT_EQ(run_case(empty, model, prepared, after), 1);
  EXPECT_EQ(distance(model, after, empty.data), 0);
}

TEST(ConstantReshapes, SizesThatMoveMustBeComputed) {
  expect_unchanged(kSettle, reshaped("f32[b, n, 32]", "1 0", "32"));    // both would follow
  expect_unchanged(kSettle, reshaped("f32[b, 4, n, 8]", "0 2", "32"));  // n follows, b stays and may be 0
  expect_unchanged(kSettle, attention_model("%x: f32[b, 8], %to: i64[2]", {{"y", "Reshape", "%x, %to"}}, {}));
}

}  // namespace
}  // namespace vernier
