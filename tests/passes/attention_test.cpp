// Attention in the forms that exporters write: recognised, and equal to what it was.
#include "passes/attention_lines.h"
#include "passes/expect_pass.h"

namespace vernier {
namespace {

const PassCase kRecognise{
    recognise_attention(), {}, {remove_dead_code(), fold_constants(), remove_identities()}};

TEST(RecogniseAttention, ScaleAfterOrBeforeOrHalfOfItOnEachSide) {
  const auto expect = [](const std::vector<Line>& scores, const std::string& last, const std::string& after) {
    expect_pass(kRecognise, attention_model(kSeparate, heads() + scores + weighted(last), kSplit), after);
  };
  expect(kScaled, "s", R"(graph "g" (%q: f32[2, 6, 32], %k: f32[2, 6, 32], %v: f32[2, 6, 32]) -> (%y) {
      const %o/attention_4 = i64[4] hex"0200000000000000060000000000000004000000000000000800000000000000"
      %o/attention_2: f32[2, 6, 32] = vernier::Attention(%q, %k, %v) {kv_num_heads = 4, q_num_heads = 4, scale = float 0.5} version 1 @"o" from ["kh", "o", "p", "qh", "s", "vh", "w", "y"]
      %y: f32[2, 6, 4, 8] = Reshape(%o/attention_2, %o/attention_4) version 21 @"o/3" from ["kh", "o", "p", "qh", "s", "vh", "w", "y"]
  })");
  expect({{"qs", "Mul", "%qh, %half"}, {"ks", "Mul", "%kh, %half"}, {"p", "MatMul", "%qs, %ks"}}, "p",
         R"(graph "g" (%q: f32[2, 6, 32], %k: f32[2, 6, 32], %v: f32[2, 6, 32]) -> (%y) {
      const %o/attention_4 = i64[4] hex"0200000000000000060000000000000004000000000000000800000000000000"
      %o/attention_2: f32[2, 6, 32] = vernier::Attention(%q, %k, %v) {kv_num_heads = 4, q_num_heads = 4, scale = float 0.25} version 1 @"o" from ["kh", "ks", "o", "p", "qh", "qs", "vh", "w", "y"]
      %y: f32[2, 6, 4, 8] = Reshape(%o/attention_2, %o/attention_4) version 21 @"o/3" from ["kh", "ks", "o", "p", "qh", "qs", "vh", "w", "y"]
  })");
  expect({{"qs", "Div", "%qh, %two"}, {"p", "MatMul", "%qs, %kh"}}, "p",
         R"(graph "g" (%q: f32[2, 6, 32], %k: f32[2, 6, 32], %v: f32[2, 6, 32]) -> (%y) {
      const %o/attention_4 = i64[4] hex"0200000000000000060000000000000004000000000000000800000000000000"
      %o/attention_2: f32[2, 6, 32] = vernier::Attention(%q, %k, %v) {kv_num_heads = 4, q_num_heads = 4, scale = float 0.5} version 1 @"o" from ["kh", "o", "p", "qh", "qs", "vh", "w", "y"]
      %y: f32[2, 6, 4, 8] = Reshape(%o/attention_2, %o/attention_4) version 21 @"o/3" from ["kh", "o", "p", "qh", "qs", "vh", "w", "y"]
  })");
}

TEST(RecogniseAttention, ASoftmaxAlongAnotherAxisStays) {
  const std::vector<Line> lines = {
      {"p", "MatMul", "%qh, %kh"}, {"w", "Softmax", "%p", "axis = 1"}, {"y", "MatMul", "%w, %vh"}};
  expect_unchanged({recognise_attention()}, attention_model(kSeparate, heads() + lines, kSplit));
}

// One product of [2, 6, 3 * 32], cut by columns, or seen as [2, 6, 3, 4, 8] and cut by the third axis.
TEST(RecogniseAttention, PackedProjections) {
  Constants constants = kSplit;
  constants["five"] = sizes({kBatch, kRows, 3, kHeads, kSize});
  for (int64_t i = 0; i < 4; ++i) {
    constants["at" + std::to_string(i)] = sizes({32 * i});
    constants["i" + std::to_string(i)] = Tensor::from_ints(ElementType::kInt64, {}, std::array{i});
  }
  constants["axis"] = sizes({2});
  std::string inputs = "%x: f32[2, 6, 96], %split: i64[4], %five: i64[5], %axis: i64[1]";
  for (int i = 0; i < 4; ++i) inputs += fmt::format(", %at{}: i64[1], %i{}: i64[]", i, i);
  std::vector<Line> slices,
      gathers = {{"x5", "Reshape", "%x, %five"}, {"xt", "Transpose", "%x5", "perm = ints[2, 0, 3, 1, 4]"}};
  const std::array names = {"q", "k", "v"};
  for (size_t i = 0; i < 3; ++i) {
    slices.push_back({names[i], "Slice", fmt::format("%x, %at{}, %at{}, %axis", i, i + 1)});
    gathers.push_back(
        {fmt::format("{}{}", names[i], i == 1 ? "r" : "h"), "Gather", fmt::format("%xt, %i{}", i)});
  }
  gathers.push_back({"kh", "Transpose", "%kr", "perm = ints[0, 1, 3, 2]"});
  EXPECT_EQ(attended(inputs, slices + heads() + kScaled + weighted("s"), constants).operators,
            "Slice Slice Slice Attention Reshape");
  const Model model = attention_model(inputs, gathers + kScaled + weighted("s"), constants);
  expect_pass(kRecognise, model, R"(graph "g" (%x: f32[2, 6, 96]) -> (%y) {
      const %o/attention_6 = i64[4] hex"0200000000000000060000000000000004000000000000000800000000000000"
      %o/attention_1: f32[2, 6, 32], %o/attention_2: f32[2, 6, 32], %o/attention_3: f32[2, 6, 32] = Split(%x) {axis = 2, num_outputs = 3} version 18 @"o/split" from ["kh", "o", "p", "s", "w", "xt", "y"]
      %o/attention_4: f32[2, 6, 32] = vernier::Attention(%o/attention_1, %o/attention_2, %o/attention_3) {kv_num_heads = 4, q_num_heads = 4, scale = float 0.5} version 1 @"o" from ["kh", "o", "p", "s", "w", "xt", "y"]
      %y: f32[2, 6, 4, 8] = Reshape(%o/attention_4, %o/attention_6) version 21 @"o/5" from ["kh", "o", "p", "s", "w", "xt", "y"]
  })");
  std::vector<Pass> recognised = kRecognise.then;
  recognised.insert(recognised.begin(), recognise_attention());
  expect_pass({read_packed_heads(), recognised}, model, R"(graph "g" (%x: f32[2, 6, 96]) -> (%y) {
      const %o/attention_6 = i64[4] hex"0200000000000000060000000000000004000000000000000800000000000000"
      %o/attention_4: f32[2, 6, 32] = vernier::Group(%x) {kind = "attention"} version 1 @"o" from ["kh", "o", "p", "s", "w", "xt", "y"] regions {
        body =
        graph "attention" (%x: f32[2, 6, 96]) -> (%o/attention_4) {
          %o/attention_1: f32[2, 6, 32], %o/attention_2: f32[2, 6, 32], %o/attention_3: f32[2, 6, 32] = Split(%x) {axis = 2, num_outputs = 3} version 18 @"o/split" from ["kh", "o", "p", "s", "w", "xt", "y"]
          %o/attention_4: f32[2, 6, 32] = vernier::Attention(%o/attention_1, %o/attention_2, %o/attention_3) {kv_num_heads = 4, q_num_heads = 4, scale = float 0.5} version 1 @"o" from ["kh", "o", "p", "s", "w", "xt", "y"]
        }
      }
      %y: f32[2, 6, 4, 8] = Reshape(%o/attention_4, %o/attention_6) version 21 @"o/5" from ["kh", "o", "p", "s", "w", "xt", "y"]
  })");
}

TEST(ReadPackedHeads, APartThatOthersReadStays) {
  const std::string text = R"(graph "g" (%x: f32[2, 6, 96]) -> (OUTPUTS) {
    %q: f32[*], %k: f32[*], %v: f32[*] = Split(%x) {axis = 2, num_outputs = 3} version 18 @"s" from ["s"]
    %y: f32[*] = Attention(%q, %k, %v) {q_num_heads = 4, kv_num_heads = 4} version 23 @"a" from ["a"]
  })";
  const auto with = [&](const std::string& outputs) {
    std::string changed = text;
    return changed.replace(changed.find("OUTPUTS"), 7, outputs);
  };
  expect_pass({read_packed_heads()}, with("%y"), R"(graph "g" (%x: f32[2, 6, 96]) -> (%y) {
      %y: f32[2, 6, 32] = vernier::Group(%x) {kind = "attention"} version 1 @"a" from ["a", "s"] regions {
        body =
        graph "attention" (%x: f32[2, 6, 96]) -> (%y) {
          %q: f32[2, 6, 32], %k: f32[2, 6, 32], %v: f32[2, 6, 32] = Split(%x) {axis = 2, num_outputs = 3} version 18 @"s" from ["s"]
          %y: f32[2, 6, 32] = Attention(%q, %k, %v) {kv_num_heads = 4, q_num_heads = 4} version 23 @"a" from ["a"]
        }
      }
  })");
  expect_unchanged({read_packed_heads()}, with("%y, %k"));
}

// However many rows there are; but their columns must be known.
TEST(ReadPackedHeads, RowsOfAnyNumber) {
  const auto model = [](const char* sizes) {
    return fmt::format(R"(graph "g" (%x: f32[{}]) -> (%y) {{
    %q: f32[*], %k: f32[*], %v: f32[*] = Split(%x) {{axis = 2, num_outputs = 3}} version 18 @"s" from ["s"]
    %y: f32[*] = Attention(%q, %k, %v) {{q_num_heads = 4, kv_num_heads = 4}} version 23 @"a" from ["a"]
  }})",
                       sizes);
  };
  expect_pass({read_packed_heads()}, model("batch, rows, 96"),
              R"(graph "g" (%x: f32[batch, rows, 96]) -> (%y) {
      %y: f32[batch, rows, 32] = vernier::Group(%x) {kind = "attention"} version 1 @"a" from ["a", "s"] regions {
        body =
        graph "attention" (%x: f32[batch, rows, 96]) -> (%y) {
          %q: f32[batch, rows, 32], %k: f32[batch, rows, 32], %v: f32[batch, rows, 32] = Split(%x) {axis = 2, num_outputs = 3} version 18 @"s" from ["s"]
          %y: f32[batch, rows, 32] = Attention(%q, %k, %v) {kv_num_heads = 4, q_num_heads = 4} version 23 @"a" from ["a"]
        }
      }
  })");
  expect_unchanged({read_packed_heads()}, model("batch, rows, columns"));
}

// Heads of keys and values that several queries share: [2, 2, 6, 8] copied to [2, 4, 6, 8].
TEST(RecogniseAttention, GroupedHeads) {
  Constants constants = kSplit;
  constants["two_axis"] = sizes({2});
  constants["copies"] = sizes({kBatch, 2, 2, kRows, kSize});
  constants["all"] = sizes({kBatch, kHeads, kRows, kSize});
  constants["shared"] = sizes({kBatch, kRows, 2, kSize});
  const std::string inputs =
      "%split: i64[4], %two_axis: i64[1], %copies: i64[5], %all: i64[4], "
      "%shared: i64[4], %q: f32[2, 6, 32], %k: f32[2, 6, 16], %v: f32[2, 6, 16]";
  std::vector<Line> lines = {{"q4", "Reshape", "%q, %split"},
                             {"qh", "Transpose", "%q4", "perm = ints[0, 2, 1, 3]"}};
  for (const std::string name : {"k", "v"}) {
    lines = lines +
            std::vector<Line>{{name + "4", "Reshape", fmt::format("%{}, %shared", name)},
                              {name + "t", "Transpose", fmt::format("%{}4", name), "perm = ints[0, 2, 1, 3]"},
                              {name + "u", "Unsqueeze", fmt::format("%{}t, %two_axis", name)},
                              {name + "e", "Expand", fmt::format("%{}u, %copies", name)},
                              {name + (name == "k" ? "r" : "h"), "Reshape", fmt::format("%{}e, %all", name)}};
  }
  lines.push_back({"kh", "Transpose", "%kr", "perm = ints[0, 1, 3, 2]"});
  expect_pass(kRecognise, attention_model(inputs, lines + kScaled + guarded("s"), constants),
              R"(graph "g" (%q: f32[2, 6, 32], %k: f32[2, 6, 16], %v: f32[2, 6, 16]) -> (%y) {
      const %o/attention_3 = i64[4] hex"0200000000000000060000000000000004000000000000000800000000000000"
      %o/attention_1: f32[2, 6, 32] = vernier::Attention(%q, %k, %v) {guarded = 1, kv_num_heads = 2, q_num_heads = 4, scale = float 0.5} version 1 @"o" from ["g", "i", "ke", "kh", "kt", "o", "p", "qh", "s", "ve", "vt", "w", "y"]
      %y: f32[2, 6, 4, 8] = Reshape(%o/attention_1, %o/attention_3) version 21 @"o/2" from ["g", "i", "ke", "kh", "kt", "o", "p", "qh", "s", "ve", "vt", "w", "y"]
  })");
}

}  // namespace
}  // namespace vernier
