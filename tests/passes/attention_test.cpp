// Attention in the forms that exporters write: recognised, and equal to what it was, down to the rows that
// may attend nothing.
#include <gmock/gmock.h>

#include "passes/lines.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kBatch = 2, kRows = 6, kHeads = 4, kSize = 8;

using Constants = std::map<std::string, Tensor>;

Tensor sizes(const Dims& dims) {
  return Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(dims.size())}, dims);
}

// `inputs` named in `constants` are constants.
Model attention_model(const std::string& inputs, const std::vector<Line>& lines, const Constants& constants) {
  Model model = model_of(inputs, lines);
  Graph& graph = *model.graph;
  std::erase_if(graph.inputs, [&](Value* input) {
    const auto found = constants.find(input->name);
    if (found != constants.end()) input->constant = found->second;
    return found != constants.end();
  });
  ops::infer_types(graph);
  return model;
}

// Equal numbers, NaN where NaN was.
void expect_close(const Model& before, const Model& after, const NamedData& data) {
  const auto a = run_reference(before, data).outputs[0].tensor,
             b = run_reference(after, data).outputs[0].tensor;
  ASSERT_EQ(a.dims(), b.dims());
  const double tolerance = a.type() == ElementType::kFloat16 ? 4e-3 : 1e-5;
  const auto x = a.to_doubles(), y = b.to_doubles();
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::isnan(x[i]), std::isnan(y[i])) << "at " << i;
    if (std::isnan(x[i])) continue;
    EXPECT_NEAR(x[i], y[i], tolerance) << "at " << i;
  }
}

struct Attended {
  std::string operators;
  std::shared_ptr<Model> model;

  const Node& attention() const {
    for (const auto& node : model->graph->nodes()) {
      if (node->op == "Attention") return *node;
    }
    throw internal_error("there is no Attention");
  }
  bool causal() const { return attention().attribute<int64_t>("is_causal", 0) != 0; }
  bool guarded() const { return attention().attribute<int64_t>("guarded", 0) != 0; }
};

// What becomes of the lines, having compared the numbers on random inputs, but for what `given` tells.
Attended attended(const std::string& inputs, const std::vector<Line>& lines, const Constants& constants = {},
                  const NamedData& given = {}) {
  const Model before = attention_model(inputs, lines, constants);
  Attended result{"", std::make_shared<Model>(attention_model(inputs, lines, constants))};
  rewrite(*result.model, {recognise_attention(), remove_dead_code(), fold_constants(), remove_identities()});
  result.operators = operators(*result.model->graph);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    NamedData data = random_data(*before.graph, seed);
    for (const auto& [name, datum] : given) data[name] = datum;
    expect_close(before, *result.model, data);
  }
  return result;
}

std::vector<Line> operator+(std::vector<Line> lines, const std::vector<Line>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

const std::string kSeparate = "%split: i64[4], %q: f32[2, 6, 32], %k: f32[2, 6, 32], %v: f32[2, 6, 32]";
const Constants kSplit = {{"split", sizes({kBatch, kRows, kHeads, kSize})}};

// Queries, keys and values in one projection each, brought to [2, 4, 6, 8]; keys to [2, 4, 8, 6].
std::vector<Line> heads() {
  std::vector<Line> lines;
  for (const std::string name : {"q", "k", "v"}) {
    lines.push_back({name + "4", "Reshape", fmt::format("%{}, %split", name)});
    lines.push_back({name + "h", "Transpose", fmt::format("%{}4", name),
                     fmt::format("perm = ints[{}]", name == "k" ? "0, 2, 3, 1" : "0, 2, 1, 3")});
  }
  return lines;
}

// From the scores `from` to the result, [batch, rows, heads, size].
std::vector<Line> weighted(const std::string& from) {
  return {{"w", "Softmax", "%" + from},
          {"o", "MatMul", "%w, %vh"},
          {"y", "Transpose", "%o", "perm = ints[0, 2, 1, 3]"}};
}

std::vector<Line> guarded(const std::string& from) {
  return {{"w", "Softmax", "%" + from},
          {"i", "IsNaN", "%w", "", 13},
          {"g", "Where", "%i, %zero, %w"},
          {"o", "MatMul", "%g, %vh"},
          {"y", "Transpose", "%o", "perm = ints[0, 2, 1, 3]"}};
}

const std::vector<Line> kScaled = {{"p", "MatMul", "%qh, %kh"}, {"s", "Mul", "%p, %half"}};

TEST(RecogniseAttention, ScaleAfterOrBeforeOrHalfOfItOnEachSide) {
  EXPECT_EQ(attended(kSeparate, heads() + kScaled + weighted("s"), kSplit).operators, "Attention Reshape");
  const std::vector<Line> both = {
      {"qs", "Mul", "%qh, %half"}, {"ks", "Mul", "%kh, %half"}, {"p", "MatMul", "%qs, %ks"}};
  EXPECT_EQ(attended(kSeparate, heads() + both + weighted("p"), kSplit).operators, "Attention Reshape");
  const std::vector<Line> queries = {{"qs", "Div", "%qh, %two"}, {"p", "MatMul", "%qs, %kh"}};
  EXPECT_EQ(attended(kSeparate, heads() + queries + weighted("p"), kSplit).operators, "Attention Reshape");
}

TEST(RecogniseAttention, ASoftmaxAlongAnotherAxisStays) {
  const std::vector<Line> lines = {
      {"p", "MatMul", "%qh, %kh"}, {"w", "Softmax", "%p", "axis = 1"}, {"y", "MatMul", "%w, %vh"}};
  EXPECT_EQ(attended(kSeparate, heads() + lines, kSplit).operators,
            "Reshape Transpose Reshape Transpose Reshape Transpose MatMul Softmax MatMul");
}

// Minus infinity for all keys of one row, for some of another, and numbers for the rest.
Tensor forbidding_mask(bool flags, ElementType type = ElementType::kFloat) {
  std::vector<double> values(static_cast<size_t>(kBatch * kRows * kRows), flags ? 1 : 0.25);
  for (size_t i = 0; i < 9; ++i) values[i] = flags ? 0 : -kInfinity;
  return Tensor::from_doubles(flags ? ElementType::kBool : type, {kBatch, 1, kRows, kRows}, values);
}

TEST(RecogniseAttention, RowsThatMayAttendNothing) {
  const std::string inputs = kSeparate + ", %mask: f32[2, 1, 6, 6]";
  const std::vector<Line> masked = heads() + kScaled + std::vector<Line>{{"m", "Add", "%s, %mask"}};
  const NamedData data = {{"mask", forbidding_mask(false)}};
  const auto plain = attended(inputs, masked + weighted("m"), kSplit, data);
  EXPECT_EQ(plain.operators, "Attention Reshape");
  EXPECT_FALSE(plain.guarded());
  const auto safe = attended(inputs, masked + guarded("m"), kSplit, data);
  EXPECT_EQ(safe.operators, "Attention Reshape");
  EXPECT_TRUE(safe.guarded());
}

TEST(RecogniseAttention, GuardOfNarrowWeights) {
  const std::string inputs =
      "%q: f16[2, 4, 6, 8], %k: f16[2, 4, 6, 8], %v: f16[2, 4, 6, 8], %none: f16[], %mask: f16[2, 1, 6, 6]";
  const std::vector<Line> lines = {{"kt", "Transpose", "%k", "perm = ints[0, 1, 3, 2]"},
                                   {"p", "MatMul", "%q, %kt"},
                                   {"m", "Add", "%p, %mask"},
                                   {"w", "Softmax", "%m"},
                                   {"c", "Cast", "%w", "to = 1"},
                                   {"i", "IsNaN", "%c", "", 13},
                                   {"g", "Where", "%i, %none, %w"},
                                   {"y", "MatMul", "%g, %v"}};
  const auto result = attended(inputs, lines, {{"none", Tensor(ElementType::kFloat16, {})}},
                               {{"mask", forbidding_mask(false, ElementType::kFloat16)}});
  EXPECT_EQ(result.operators, "Attention");
  EXPECT_TRUE(result.guarded());
}

TEST(RecogniseAttention, GuardOfScoresThatAreNoNumbers) {
  NamedData data;
  Tensor q(ElementType::kFloat, {kBatch, kRows, kHeads * kSize});
  static_cast<float*>(q.mutable_raw())[3] = std::numeric_limits<float>::quiet_NaN();
  data["q"] = q;
  EXPECT_TRUE(attended(kSeparate, heads() + kScaled + guarded("s"), kSplit, data).guarded());
  EXPECT_FALSE(attended(kSeparate, heads() + kScaled + weighted("s"), kSplit, data).guarded());
}

TEST(RecogniseAttention, MasksThatChoose) {
  const std::string inputs = kSeparate + ", %mask: bool[2, 1, 6, 6], %least: f32[]";
  const NamedData data = {{"mask", forbidding_mask(true)}};
  for (const double least : {-kInfinity, -1e30, -3.4028234663852886e38}) {
    Constants constants = kSplit;
    constants["least"] = Tensor::from_doubles(ElementType::kFloat, {}, std::array{least});
    for (const char* choice : {"%mask, %s, %least", "%mask, %least, %s"}) {
      const std::vector<Line> lines = heads() + kScaled + std::vector<Line>{{"m", "Where", choice}};
      EXPECT_THAT(attended(inputs, lines + weighted("m"), constants, data).operators,
                  testing::EndsWith("Attention Reshape"));
    }
  }
}

TEST(RecogniseAttention, CausalConstants) {
  std::vector<double> bias(static_cast<size_t>(kRows * kRows)), flags(bias.size());
  for (int64_t i = 0; i < kRows * kRows; ++i) {
    const bool allowed = i % kRows <= i / kRows;
    bias[static_cast<size_t>(i)] = allowed ? 0 : -kInfinity;
    flags[static_cast<size_t>(i)] = allowed ? 1 : 0;
  }
  Constants constants = kSplit;
  constants["bias"] = Tensor::from_doubles(ElementType::kFloat, {kRows, kRows}, bias);
  constants["flags"] = Tensor::from_doubles(ElementType::kBool, {1, 1, kRows, kRows}, flags);
  constants["least"] = Tensor::from_doubles(ElementType::kFloat, {}, std::array{-3.4028234663852886e38});
  const std::string inputs = kSeparate + ", %bias: f32[6, 6], %flags: bool[1, 1, 6, 6], %least: f32[]";
  const std::vector<Line> adds = {{"m", "Add", "%s, %bias"}},
                          chooses = {{"m", "Where", "%flags, %s, %least"}};
  for (const auto& mask : {adds, chooses}) {
    const auto result = attended(inputs, heads() + kScaled + mask + weighted("m"), constants);
    EXPECT_EQ(result.operators, "Attention Reshape");
    EXPECT_TRUE(result.causal());
    EXPECT_EQ(result.attention().inputs.size(), 3u);
  }
  // Padding in front: row 0 may attend nothing for certain, and no flag says by how much less.
  NamedData padding;
  std::vector<double> front(static_cast<size_t>(kRows), 0);
  front[0] = -3e38;
  padding["padding"] = Tensor::from_doubles(ElementType::kFloat, {kRows}, front);
  const auto both = attended(inputs + ", %padding: f32[6]",
                             heads() + kScaled + std::vector<Line>{{"n", "Add", "%s, %padding"}} +
                                 std::vector<Line>{{"m", "Where", "%flags, %n, %least"}} + weighted("m"),
                             constants, padding);
  EXPECT_FALSE(both.causal());
  EXPECT_EQ(both.attention().inputs.size(), 4u);
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
  const auto packed = attended(inputs, gathers + kScaled + weighted("s"), constants);
  EXPECT_EQ(packed.operators, "Split Attention Reshape");
  rewrite(*packed.model, {read_packed_heads()});
  EXPECT_EQ(operators(*packed.model->graph), "attention(Split Attention) Reshape");
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
  const auto result = attended(inputs, lines + kScaled + guarded("s"), constants);
  EXPECT_EQ(result.operators, "Attention Reshape");
  EXPECT_EQ(result.attention().attribute<int64_t>("q_num_heads", 0), kHeads);
  EXPECT_EQ(result.attention().attribute<int64_t>("kv_num_heads", 0), 2);
}

TEST(RecogniseAttention, BiasOfPositions) {
  const std::string inputs = kSeparate + ", %bias: f32[1, 4, 6, 6], %mask: f32[2, 1, 1, 6]";
  const std::vector<Line> lines = {
      {"p", "MatMul", "%qh, %kh"}, {"b", "Add", "%bias, %p"}, {"m", "Add", "%b, %mask"}};
  EXPECT_EQ(attended(inputs, heads() + lines + weighted("m"), kSplit).operators, "Add Attention Reshape");
}

// Windows of an image are entries, whose masks differ: [1, 2 windows, 1, 6, 6].
TEST(RecogniseAttention, MaskOfWindows) {
  Constants constants = kSplit;
  constants["windows"] = sizes({1, kBatch, kHeads, kRows, kRows});
  constants["scores"] = sizes({kBatch, kHeads, kRows, kRows});
  const std::string inputs = kSeparate +
                             ", %bias: f32[1, 4, 6, 6], %mask: f32[1, 2, 1, 6, 6], %windows: i64[5], "
                             "%scores: i64[4]";
  const std::vector<Line> lines = {{"b", "Add", "%s, %bias"},
                                   {"there", "Reshape", "%b, %windows"},
                                   {"sum", "Add", "%there, %mask"},
                                   {"m", "Reshape", "%sum, %scores"}};
  EXPECT_THAT(attended(inputs, heads() + kScaled + lines + weighted("m"), constants).operators,
              testing::EndsWith("Attention Reshape"));
}

// float16 whose softmax is computed in float. A bias behind the choice tells the forbidden apart.
TEST(RecogniseAttention, CastsAroundTheSoftmax) {
  const std::string inputs =
      "%q: f16[2, 4, 6, 8], %k: f16[2, 4, 8, 6], %v: f16[2, 4, 6, 8], "
      "%mask: bool[2, 1, 6, 6], %least: f16[], %scale: f16[], %bias: f32[4, 6, 6]";
  Constants constants;
  constants["least"] = Tensor::from_doubles(ElementType::kFloat16, {}, std::array{-65504.0});
  constants["scale"] = Tensor::from_doubles(ElementType::kFloat16, {}, std::array{0.5});
  const std::vector<Line> scores = {{"kt", "Transpose", "%k", "perm = ints[0, 1, 3, 2]"},
                                    {"kh", "Transpose", "%kt", "perm = ints[0, 1, 3, 2]"},
                                    {"p", "MatMul", "%q, %kh"},
                                    {"s", "Mul", "%p, %scale"},
                                    {"m", "Where", "%mask, %s, %least"},
                                    {"c", "Cast", "%m", "to = 1"}};
  const NamedData data = {{"mask", forbidding_mask(true)}};
  for (const std::string last : {"c", "b"}) {
    const std::vector<Line> lines = {
        {"w", "Softmax", "%" + last}, {"n", "Cast", "%w", "to = 10"}, {"y", "MatMul", "%n, %v"}};
    const std::vector<Line> bias = {{"b", "Add", "%c, %bias"}};
    const auto all = last == "b" ? scores + bias + lines : scores + lines;
    EXPECT_THAT(attended(inputs, all, constants, data).operators,
                testing::EndsWith(last == "c" ? "Attention" : "Softmax Cast MatMul"));
  }
}

}  // namespace
}  // namespace vernier
