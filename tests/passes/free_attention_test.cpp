// Attention in graphs whose sizes are free, where targets of Reshape and masks are made of Shape.
#include "passes/attention_lines.h"
#include "passes/expect_pass.h"

namespace vernier {
namespace {

const std::vector<Pass> kFirst = {fold_constants(), constant_reshapes(), remove_dead_code()};
const PassCase kRecognise{recognise_attention(), kFirst, {remove_views(), remove_dead_code()}};
const PassCase kStays{recognise_attention(), kFirst};

Tensor number(int64_t value) {
  return Tensor::from_ints(ElementType::kInt64, {}, std::array{value});
}

const Constants kKnown = {{"i0", number(0)},     {"i1", number(1)},      {"i2", number(2)},
                          {"first", sizes({0})}, {"second", sizes({1})}, {"third", sizes({2})},
                          {"four", sizes({4})},  {"eight", sizes({8})},  {"rest", sizes({-1})},
                          {"heads", sizes({4})}};
const std::string kKnownInputs =
    ", %i0: i64[], %i1: i64[], %i2: i64[], %first: i64[1], %second: i64[1], %third: i64[1], %four: i64[1], "
    "%eight: i64[1], %rest: i64[1], %heads: i64[1]";

Tensor random_tensor(const Dims& dims) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = normal(random);
  return Tensor::from_doubles(ElementType::kFloat, dims, values);
}

Model free_model(const std::string& inputs, const std::vector<Line>& lines) {
  return attention_model(inputs + kKnownInputs, lines, kKnown);
}

// The size of %`of` along an axis, as a list of one, named `to`.
std::vector<Line> size(const std::string& to, const std::string& of, int axis) {
  return {{to + "_shape", "Shape", "%" + of},
          {to + "_size", "Gather", fmt::format("%{}_shape, %i{}", to, axis)},
          {to, "Unsqueeze", fmt::format("%{}_size, %first", to)}};
}

// [batch, rows, 32] brought to [batch, 4, rows, 8], or keys to [batch, 4, 8, rows].
std::vector<Line> free_heads(const std::string& name, const std::string& perm) {
  return size(name + "b", name, 0) + size(name + "r", name, 1) +
         std::vector<Line>{
             {name + "to", "Concat", fmt::format("%{0}b, %{0}r, %four, %eight", name), "axis = 0"},
             {name + "4", "Reshape", fmt::format("%{0}, %{0}to", name)},
             {name + "h", "Transpose", fmt::format("%{}4", name), "perm = ints[" + perm + "]"}};
}

// [batch, 4, rows, 8] brought to [batch, rows, 32].
std::vector<Line> packed_rows(const std::string& from) {
  return std::vector<Line>{{"t", "Transpose", "%" + from, "perm = ints[0, 2, 1, 3]"}} + size("tb", "t", 0) +
         size("tr", "t", 1) +
         std::vector<Line>{{"tto", "Concat", "%tb, %tr, %rest", "axis = 0"}, {"y", "Reshape", "%t, %tto"}};
}

const std::string kFree = "%q: f32[batch, rows, 32], %k: f32[batch, rows, 32], %v: f32[batch, rows, 32]";

std::vector<Line> three_heads() {
  return free_heads("q", "0, 2, 1, 3") + free_heads("k", "0, 2, 3, 1") + free_heads("v", "0, 2, 1, 3");
}

std::vector<Line> weighted_values(const std::string& scores, const std::string& values) {
  return {{"w", "Softmax", "%" + scores}, {"o", "MatMul", "%w, %" + values}};
}

TEST(RecogniseFreeAttention, AMaskOfFlagsThatIsExpanded) {
  const std::vector<Line> mask = size("mb", "flags", 0) + size("mr", "flags", 1) +
                                 std::vector<Line>{{"mto", "Concat", "%mb, %four, %mr, %mr", "axis = 0"},
                                                   {"f", "Cast", "%flags", "to = 1"},
                                                   {"f3", "Unsqueeze", "%f, %second"},
                                                   {"f4", "Unsqueeze", "%f3, %third"},
                                                   {"fe", "Expand", "%f4, %mto"}};
  const std::vector<Line> scores = {
      {"p", "MatMul", "%qh, %kh"}, {"s", "Div", "%p, %two"}, {"m", "Add", "%s, %fe"}};
  expect_pass(
      kRecognise,
      free_model(kFree + ", %flags: i64[batch, rows]",
                 three_heads() + mask + scores + weighted_values("m", "vh") + packed_rows("o")),
      R"(graph "g" (%q: f32[batch, rows, 32], %k: f32[batch, rows, 32], %v: f32[batch, rows, 32], %flags: i64[batch, rows]) -> (%y) {
      const %i0 = i64[] hex"0000000000000000"
      const %i1 = i64[] hex"0100000000000000"
      const %first = i64[1] hex"0000000000000000"
      const %second = i64[1] hex"0100000000000000"
      const %third = i64[1] hex"0200000000000000"
      const %four = i64[1] hex"0400000000000000"
      const %"y/sizes'" = i64[3] hex"000000000000000000000000000000002000000000000000"
      %mb_shape: i64[2] = Shape(%flags) version 18 @"mb_shape" from ["mb_shape"]
      %mb_size: i64[] = Gather(%mb_shape, %i0) version 18 @"mb_size" from ["mb_size"]
      %mb: i64[1] = Unsqueeze(%mb_size, %first) version 18 @"mb" from ["mb"]
      %mr_shape: i64[2] = Shape(%flags) version 18 @"mr_shape" from ["mr_shape"]
      %mr_size: i64[] = Gather(%mr_shape, %i1) version 18 @"mr_size" from ["mr_size"]
      %mr: i64[1] = Unsqueeze(%mr_size, %first) version 18 @"mr" from ["mr"]
      %mto: i64[4] = Concat(%mb, %four, %mr, %mr) {axis = 0} version 18 @"mto" from ["mto"]
      %f: f32[batch, rows] = Cast(%flags) {to = 1} version 18 @"f" from ["f"]
      %f3: f32[batch, 1, rows] = Unsqueeze(%f, %second) version 18 @"f3" from ["f3"]
      %f4: f32[batch, 1, 1, rows] = Unsqueeze(%f3, %third) version 18 @"f4" from ["f4"]
      %fe: f32[batch, 4, rows, rows] = Expand(%f4, %mto) version 18 @"fe" from ["fe"]
      %o/attention_2: f32[batch, rows, 32] = vernier::Attention(%q, %k, %v, %fe) {kv_num_heads = 4, q_num_heads = 4, scale = float 0.5} version 1 @"o" from ["kh", "m", "o", "p", "qh", "s", "t", "vh", "w"]
      %y: f32[batch, rows, 32] = Reshape(%o/attention_2, %"y/sizes'") version 14 @"y" from ["kh", "m", "o", "p", "qh", "s", "t", "vh", "w", "y"]
  })");
}

// A decoder: keys and values of before in front of those of now. The mask has a length of its own.
TEST(RecogniseFreeAttention, KeysAndValuesOfACache) {
  const std::string inputs =
      kFree + ", %pk: f32[batch, 4, past, 8], %pv: f32[batch, 4, past, 8], %mask: f32[batch, 1, 1, all]";
  const std::vector<Line> lines = free_heads("q", "0, 2, 1, 3") + free_heads("k", "0, 2, 1, 3") +
                                  free_heads("v", "0, 2, 1, 3") +
                                  std::vector<Line>{{"ka", "Concat", "%pk, %kh", "axis = 2"},
                                                    {"va", "Concat", "%pv, %vh", "axis = 2"},
                                                    {"kt", "Transpose", "%ka", "perm = ints[0, 1, 3, 2]"},
                                                    {"p", "MatMul", "%qh, %kt"},
                                                    {"m", "Add", "%p, %mask"}} +
                                  weighted_values("m", "va") + packed_rows("o");
  PassCase with = kRecognise;
  for (const char* name : {"q", "k", "v"}) with.data[name] = random_tensor({2, 3, 32});
  for (const char* name : {"pk", "pv"}) with.data[name] = random_tensor({2, 4, 5, 8});
  with.data["mask"] = random_tensor({2, 1, 1, 8});
  expect_pass(
      with, free_model(inputs, lines),
      R"(graph "g" (%q: f32[batch, rows, 32], %k: f32[batch, rows, 32], %v: f32[batch, rows, 32], %pk: f32[batch, 4, past, 8], %pv: f32[batch, 4, past, 8], %mask: f32[batch, 1, 1, all]) -> (%y) {
      const %k4/sizes = i64[4] hex"0000000000000000000000000000000004000000000000000800000000000000"
      const %v4/sizes = i64[4] hex"0000000000000000000000000000000004000000000000000800000000000000"
      const %"y/sizes'" = i64[3] hex"000000000000000000000000000000002000000000000000"
      %k4: f32[batch, rows, 4, 8] = Reshape(%k, %k4/sizes) version 14 @"k4" from ["k4"]
      %kh: f32[batch, 4, rows, 8] = Transpose(%k4) {perm = ints[0, 2, 1, 3]} version 18 @"kh" from ["kh"]
      %v4: f32[batch, rows, 4, 8] = Reshape(%v, %v4/sizes) version 14 @"v4" from ["v4"]
      %vh: f32[batch, 4, rows, 8] = Transpose(%v4) {perm = ints[0, 2, 1, 3]} version 18 @"vh" from ["vh"]
      %ka: f32[batch, 4, past + rows, 8] = Concat(%pk, %kh) {axis = 2} version 18 @"ka" from ["ka"]
      %va: f32[batch, 4, past + rows, 8] = Concat(%pv, %vh) {axis = 2} version 18 @"va" from ["va"]
      %o/attention_1: f32[batch, rows, 32] = vernier::Attention(%q, %ka, %va, %mask) {kv_num_heads = 4, q_num_heads = 4, scale = float 1} version 1 @"o" from ["kt", "m", "o", "p", "qh", "t", "w"]
      %y: f32[batch, rows, 32] = Reshape(%o/attention_1, %"y/sizes'") version 14 @"y" from ["kt", "m", "o", "p", "qh", "t", "w", "y"]
  })");
}

// Heads folded into the batch for the products, and unfolded for the mask.
std::vector<Line> folded(const std::string& mask, bool unfolds) {
  std::vector<Line> lines = size("b", "q", 0) + size("r", "q", 1) +
                            std::vector<Line>{{"b_heads", "Mul", "%b, %heads"},
                                              {"unfolded", "Concat", "%b, %four, %r, %r", "axis = 0"},
                                              {"refolded", "Concat", "%b_heads, %r, %r", "axis = 0"},
                                              {"result", "Concat", "%b, %four, %r, %eight", "axis = 0"},
                                              {"parts", "Concat", "%b_heads, %rest, %eight", "axis = 0"}};
  for (const std::string name : {"q", "k", "v"})
    lines = lines + free_heads(name, "0, 2, 1, 3") +
            std::vector<Line>{{name + "f", "Reshape", fmt::format("%{}h, %parts", name)}};
  lines = lines +
          std::vector<Line>{{"kt", "Transpose", "%kf", "perm = ints[0, 2, 1]"}, {"p", "MatMul", "%qf, %kt"}};
  if (!unfolds) return lines + std::vector<Line>{{"m", "Add", "%p, " + mask}} + weighted_values("m", "vf");
  lines = lines + std::vector<Line>{{"s4", "Reshape", "%p, %unfolded"},
                                    {"a", "Add", "%s4, " + mask},
                                    {"m", "Reshape", "%a, %refolded"}};
  return lines + weighted_values("m", "vf");
}

TEST(RecogniseFreeAttention, HeadsThatAreFoldedIntoTheBatch) {
  const std::vector<Line> back = {{"o4", "Reshape", "%o, %result"}};
  expect_pass(
      kRecognise,
      free_model(kFree + ", %mask: f32[batch, 1, rows, rows]",
                 folded("%mask", true) + back + packed_rows("o4")),
      R"(graph "g" (%q: f32[batch, rows, 32], %k: f32[batch, rows, 32], %v: f32[batch, rows, 32], %mask: f32[batch, 1, rows, rows]) -> (%y) {
      const %"y/sizes'" = i64[3] hex"000000000000000000000000000000002000000000000000"
      %o/attention_1: f32[batch, rows, 32] = vernier::Attention(%q, %k, %v, %mask) {kv_num_heads = 4, q_num_heads = 4, scale = float 1} version 1 @"o" from ["a", "kh", "kt", "m", "o", "o4", "p", "qh", "s4", "t", "vh", "w"]
      %y: f32[batch, rows, 32] = Reshape(%o/attention_1, %"y/sizes'") version 14 @"y" from ["a", "kh", "kt", "m", "o", "o4", "p", "qh", "s4", "t", "vh", "w", "y"]
  })");
  expect_pass(
      kRecognise,
      free_model(kFree + ", %mask: f32[1, rows, rows]", folded("%mask", false) + back + packed_rows("o4")),
      R"(graph "g" (%q: f32[batch, rows, 32], %k: f32[batch, rows, 32], %v: f32[batch, rows, 32], %mask: f32[1, rows, rows]) -> (%y) {
      const %"y/sizes'" = i64[3] hex"000000000000000000000000000000002000000000000000"
      %o/attention_1: f32[batch, rows, 32] = vernier::Attention(%q, %k, %v, %mask) {kv_num_heads = 4, q_num_heads = 4, scale = float 1} version 1 @"o" from ["kh", "kt", "m", "o", "o4", "p", "qh", "t", "vh", "w"]
      %y: f32[batch, rows, 32] = Reshape(%o/attention_1, %"y/sizes'") version 14 @"y" from ["kh", "kt", "m", "o", "o4", "p", "qh", "t", "vh", "w", "y"]
  })");
}

TEST(RecogniseFreeAttention, AFoldedResultThatNobodyUnfoldsStays) {
  // Its sizes, [batch * 4, rows, 8], would have to be computed.
  std::vector<Line> lines = folded("%mask", true);
  lines.push_back({"y", "Relu", "%o"});
  const Model model = free_model(kFree + ", %mask: f32[batch, 1, rows, rows]", lines);
  expect_unchanged(kStays, model);
  const Model after = clone(model);
  EXPECT_EQ(recognise_attention().run(*after.graph), 0);
  EXPECT_EQ(after.graph->values().size(), model.graph->values().size()) << "what was made in vain is left";
}

TEST(RecogniseFreeAttention, MasksThatMayBroadcastTheScoresStay) {
  const std::vector<Line> lines = three_heads() +
                                  std::vector<Line>{{"p", "MatMul", "%qh, %kh"}, {"m", "Add", "%p, %mask"}} +
                                  weighted_values("m", "vh") + packed_rows("o");
  expect_unchanged(kStays, free_model(kFree + ", %mask: f32[batch, 1, others, rows]", lines));
  expect_unchanged(kStays, free_model(kFree + ", %mask: f32[others, 1, 1, rows]", lines));
  const std::vector<Line> three =
      folded("%mask", false) + std::vector<Line>{{"o4", "Reshape", "%o, %result"}};
  expect_unchanged(kStays, free_model(kFree + ", %mask: f32[others, rows, rows]", three + packed_rows("o4")));
}

TEST(RecogniseFreeAttention, AnUnknownNumberOfHeadsStays) {
  const std::vector<Line> lines = {{"k", "Transpose", "%kh", "perm = ints[0, 1, 3, 2]"},
                                   {"p", "MatMul", "%qh, %k"},
                                   {"w", "Softmax", "%p"},
                                   {"y", "MatMul", "%w, %vh"}};
  expect_unchanged(kStays,
                   free_model("%qh: f32[b, n, r, 8], %kh: f32[b, n, r, 8], %vh: f32[b, n, r, 8]", lines));
}

}  // namespace
}  // namespace vernier
