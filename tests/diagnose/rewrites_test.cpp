// Rewrites of a model: what they make of a node as text, and that it means the same.
#include "vernier/diagnose/rewrites/rewrites.h"

#include "diagnose/planted.h"
#include "vernier/diagnose/repairs/evaluator.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/verify.h"

namespace vernier {
namespace {

using Names = std::vector<std::string>;
using Apply = std::function<bool(Model& model, const Names& nodes, const NamedData& inputs)>;

struct RewriteCase {
  std::string name, graph, node;
  Apply apply;
  std::string gone;      // an operator that no node has any more; "" if the rewrite does not promise that
  double within = 1e-6;  // relative L2
};

std::string hex_floats(const std::vector<float>& values) {
  std::string text = "hex\"";
  for (const float value : values) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; ++i) text += fmt::format("{:02x}", bits >> 8 * i & 0xff);
  }
  return text + "\"";
}

std::string hex_ints(const std::vector<int64_t>& values) {
  std::string text = "hex\"";
  for (const int64_t value : values) {
    for (int i = 0; i < 8; ++i) text += fmt::format("{:02x}", static_cast<uint64_t>(value) >> 8 * i & 0xff);
  }
  return text + "\"";
}

std::string floats(const std::string& name, const Dims& dims, double frequency, double offset = 0) {
  std::vector<float> values;
  for (int64_t i = 0; i < element_count(dims); ++i)
    values.push_back(static_cast<float>(offset + std::sin(frequency * static_cast<double>(i + 1))));
  return fmt::format("const %{} = f32{} {}\n", name, dims_text(dims), hex_floats(values));
}

std::string scalar(const std::string& name, float value) {
  return fmt::format("const %{} = f32[] {}\n", name, hex_floats({value}));
}

std::string ints(const std::string& name, const std::vector<int64_t>& values, const Dims& dims = {}) {
  const Dims sizes = dims.empty() ? Dims{static_cast<int64_t>(values.size())} : dims;
  return fmt::format("const %{} = i64{} {}\n", name, dims_text(sizes), hex_ints(values));
}

// y = the operator of x, of the sizes given, with constants.
std::string of(const std::string& x, const std::string& constants, const std::string& node,
               const std::string& type = "f32") {
  return fmt::format(
      "graph \"g\" (%x: f32{}) -> (%y) {{\n{}%y: {}[*] = {} version 17 @\"n\" from [\"n\"]\n}}", x, constants,
      type, node);
}

Apply each(bool (*rewrite)(Replacement& node)) {
  return [=](Model& model, const Names& nodes, const NamedData&) {
    return rewrite_each(model, nodes_of(model, nodes), rewrite);
  };
}

Model ready(const std::string& graph) {
  Model model = parse_graph(graph);
  model.ir_version = 8;
  return model;
}

std::vector<Sample> samples_for(const Model& model) {
  std::vector<Sample> samples(2);
  double frequency = 0.7;
  for (Sample& sample : samples) {
    for (const Value* input : model.graph->inputs)
      sample.inputs[input->name] = wave(*to_dims(*input->type.tensor.shape), frequency += 0.31);
  }
  return samples;
}

std::vector<RewriteCase> cases() {
  const std::string image = "[1, 4, 7, 6]", rows = "[3, 8]";
  const std::string bounds = scalar("lo", -0.5F) + scalar("hi", 0.25F);
  std::vector<RewriteCase> all = {
      {"clip", of(rows, bounds, "Clip(%x, %lo, %hi)"), "n", each(write_clip), "Clip"},
      {"relu", of(rows, "", "Relu(%x)"), "n", each(write_activation), "Relu"},
      {"elu", of(rows, "", "Elu(%x) {alpha = float 0.5}"), "n", each(write_activation), "Elu"},
      {"sigmoid", of(rows, "", "Sigmoid(%x)"), "n", each(write_activation), "Sigmoid"},
      {"hard swish", of(rows, "", "HardSwish(%x)"), "n", each(write_activation), "HardSwish"},
      {"add", of(rows, floats("b", {8}, 0.4), "Add(%x, %b)"), "n", each(write_arithmetic), "Add"},
      {"mul", of(rows, floats("b", {8}, 0.4), "Mul(%x, %b)"), "n", each(write_arithmetic), "Mul"},
      {"div", of(rows, floats("b", {8}, 0.1, 2), "Div(%x, %b)"), "n", each(write_arithmetic), "Div"},
      {"softmax", of(rows, "", "Softmax(%x)"), "n", each(write_softmax), "Softmax"},
      {"log softmax", of("[2, 3, 4]", "", "LogSoftmax(%x) {axis = 1}"), "n", each(write_softmax),
       "LogSoftmax"},
      {"hardmax", of(rows, "", "Hardmax(%x)"), "n", each(write_softmax), "Hardmax"},
      {"maximum", of(rows, "", "Softmax(%x)"), "n", each(subtract_maximum), ""},
      {"layer norm",
       of(rows, floats("s", {8}, 0.3, 1) + floats("b", {8}, 0.9), "LayerNormalization(%x, %s, %b)"), "n",
       each(write_normalisation), "LayerNormalization"},
      {"instance norm",
       of(image, floats("s", {4}, 0.3, 1) + floats("b", {4}, 0.9), "InstanceNormalization(%x, %s, %b)"), "n",
       each(write_normalisation), "InstanceNormalization"},
      {"batch norm",
       of(image,
          floats("s", {4}, 0.3, 1) + floats("b", {4}, 0.9) + floats("m", {4}, 0.2) + floats("v", {4}, 0.1, 2),
          "BatchNormalization(%x, %s, %b, %m, %v)"),
       "n", each(write_normalisation), "BatchNormalization"},
      {"mean", of(rows, "", "ReduceMean(%x) {axes = ints[-1]}"), "n", each(write_mean), "ReduceMean"},
      {"max pool",
       of(image, "",
          "MaxPool(%x) {kernel_shape = ints[3, 2], strides = ints[2, 2], pads = ints[1, 0, 0, 1], ceil_mode "
          "= 1}"),
       "n", each(write_pads), ""},
      {"average pool",
       of(image, "",
          "AveragePool(%x) {kernel_shape = ints[3, 3], strides = ints[2, 2], pads = ints[1, 1, 1, 1]}"),
       "n", each(write_pads), ""},
      {"average pool with padding",
       of(image, "",
          "AveragePool(%x) {kernel_shape = ints[3, 3], strides = ints[2, 2], pads = ints[1, 1, 1, 1], "
          "count_include_pad = 1, ceil_mode = 1}"),
       "n", each(write_pads), ""},
      {"resize linear", of(image, ints("z", {1, 4, 10, 9}), "Resize(%x, _, _, %z) {mode = \"linear\"}"), "n",
       each(write_resampling), "Resize"},
      {"resize nearest", of(image, ints("z", {1, 4, 14, 9}), "Resize(%x, _, _, %z)"), "n",
       each(write_resampling), "Resize"},
      {"grid sample", of(image, floats("p", {1, 5, 3, 2}, 0.9), "GridSample(%x, %p) {mode = \"bilinear\"}"),
       "n", each(write_sampling), "GridSample"},
      {"grid sample at the nearest, aligned",
       of(image, floats("p", {1, 5, 3, 2}, 0.9, 0.3),
          "GridSample(%x, %p) {mode = \"nearest\", align_corners = 1, padding_mode = \"border\"}"),
       "n", each(write_sampling), "GridSample"},
      {"transposed conv",
       of(image, floats("w", {4, 3, 3, 2}, 0.3) + floats("b", {6}, 0.2),
          "ConvTranspose(%x, %w, %b) {group = 2, strides = ints[2, 3], pads = ints[1, 0, 2, 1], "
          "output_padding = ints[1, 2]}"),
       "n", each(write_transposed_convolution), "ConvTranspose"},
      {"groups",
       of(image, floats("w", {6, 2, 3, 3}, 0.3) + floats("b", {6}, 0.2), "Conv(%x, %w, %b) {group = 2}"), "n",
       each(write_groups), ""},
      {"conv bias", of(image, floats("w", {6, 4, 3, 3}, 0.3) + floats("b", {6}, 0.2), "Conv(%x, %w, %b)"),
       "n", each(write_bias), ""},
      {"gemm",
       of(rows, floats("w", {5, 8}, 0.3) + floats("b", {5}, 0.2),
          "Gemm(%x, %w, %b) {transB = 1, alpha = float 0.5}"),
       "n", each(write_bias), "Gemm"},
      {"gather", of("[2, 5, 3]", ints("i", {1, -1, 0, 4}), "Gather(%x, %i) {axis = 1}"), "n",
       each(write_indices), "Gather"},
      {"slice",
       of(image, ints("a", {5, 0}) + ints("e", {-9, 9}) + ints("x1", {2, 3}) + ints("st", {-2, 2}),
          "Slice(%x, %a, %e, %x1, %st)"),
       "n", each(write_indices), "Slice"},
      {"scatter",
       of("[4, 3]", floats("d", {5, 3}, 0.4) + ints("i", {1, -1, 1, 0}, {4, 1}), "ScatterND(%d, %i, %x)"),
       "n", each(write_scatter), "ScatterND"},
      {"extremum", of("[4, 6]", "", "ArgMax(%x) {axis = 1}", "i64"), "n", each(write_extremum), "ArgMax"},
      {"round", of(rows, "", "Round(%x)"), "n", each(write_rounding), "Round"},
      {"sums of products", of("[3, 40]", floats("w", {40, 5}, 0.3), "MatMul(%x, %w)"), "n",
       [](Model& model, const Names& nodes, const NamedData&) {
         return rewrite_each(model, nodes_of(model, nodes),
                             [](Replacement& node) { return split_sum(node, 16); });
       },
       ""},
      {"sums", of("[3, 40]", ints("k", {-1}), "ReduceSum(%x, %k) {keepdims = 0}"), "n",
       [](Model& model, const Names& nodes, const NamedData&) {
         return rewrite_each(model, nodes_of(model, nodes),
                             [](Replacement& node) { return split_sum(node, 16); });
       },
       ""},
      {"single products", of("[3, 40]", floats("w", {40, 5}, 0.3), "MatMul(%x, %w)"), "n",
       each(write_product), "MatMul"},
      {"single products of a batch", of("[2, 3, 4]", floats("w", {2, 4, 5}, 0.3), "MatMul(%x, %w)"), "n",
       each(write_product), "MatMul"},
      {"operands", of("[3, 40]", floats("w", {40, 5}, 0.3), "MatMul(%x, %w)"), "n",
       [](Model& model, const Names& nodes, const NamedData&) {
         return rewrite_each(model, nodes_of(model, nodes),
                             [](Replacement& node) { return split_operands(node, 11); });
       },
       ""},
  };
  return all;
}

TEST(Rewrites, MeanTheSame) {
  for (const RewriteCase& each : cases()) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, each.name);
    const Model before = ready(each.graph);
    Model after = clone(before);
    const auto samples = samples_for(before);
    ASSERT_TRUE(each.apply(after, {each.node}, samples[0].inputs));
    ops::infer_types(*after.graph);
    verify(*after.graph);
    EXPECT_LE(distance_in_meaning(before, after, samples), each.within);
    for (const auto& node : after.graph->nodes()) {
      EXPECT_NE(node->op, each.gone);
      EXPECT_TRUE(node->provenance.contains("n")) << node->name;
    }
  }
}

// A node that is not there, or is another operator, is left alone.
TEST(Rewrites, LeaveOthersAlone) {
  for (const RewriteCase& each : cases()) {
    Model model = ready(of("[3, 8]", "", "Erf(%x)"));
    EXPECT_FALSE(each.apply(model, {"n", "nowhere"}, samples_for(model)[0].inputs)) << each.name;
    EXPECT_EQ(model.graph->nodes().size(), 1U);
  }
}

// All that a decision follows from, and nothing beside it.
TEST(Rewrites, WidenTheWholePath) {
  Model model = ready(R"(graph "g" (%x: f32[3, 8]) -> (%y, %z) {
    %a: f32[*] = Exp(%x) version 13 @"a" from ["a"]
    %y: f32[*] = Erf(%a) version 13 @"n" from ["n"]
    %z: f32[*] = Sin(%a) version 7 @"beside" from ["beside"] })");
  const Model before = clone(model);
  ASSERT_TRUE(widen_path_to_double(model, {"n"}));
  ops::infer_types(*model.graph);
  std::set<std::string> in_double;
  for (const auto& node : model.graph->nodes()) {
    if (node->op != "Cast" && node->output(0)->type.tensor.element == ElementType::kDouble)
      in_double.insert(node->op);
  }
  EXPECT_EQ(in_double, (std::set<std::string>{"Exp", "Erf"}));
  EXPECT_LT(distance_in_meaning(before, model, samples_for(before)), 1e-6);
}

// The comparison sees differences: a rewrite that means another thing is far off.
TEST(Rewrites, OfAnotherMeaningAreSeen) {
  const Model before = ready(of("[3, 8]", scalar("hi", 0.25F), "Clip(%x, _, %hi)"));
  const Model after = ready(of("[3, 8]", scalar("hi", 0.5F), "Clip(%x, _, %hi)"));
  EXPECT_GT(distance_in_meaning(before, after, samples_for(before)), 0.1);
  EXPECT_EQ(distance_in_meaning(before, before, samples_for(before)), 0);
}

// Numbers that fp16 does not hold: what is computed on the way is smaller, and the result the same.
TEST(Rewrites, LargeNumbersAreScaledDown) {
  const std::string graph = R"(graph "g" (%x: f32[3, 8]) -> (%y) {
    )" + scalar("large", 4096) +
                            ints("last", {-1}) + R"(
    %a: f32[*] = Mul(%x, %large) version 17 @"a" from ["a"]
    %square: f32[*] = Mul(%a, %a) version 17 @"square" from ["square"]
    %total: f32[*] = ReduceSum(%square, %last) version 17 @"total" from ["total"]
    %root: f32[*] = Sqrt(%total) version 17 @"root" from ["root"]
    %y: f32[*] = Div(%a, %root) version 17 @"y" from ["y"]
  })";
  const Model before = ready(graph);
  const auto samples = samples_for(before);
  Model after = clone(before);
  ASSERT_TRUE(scale_down(after, {"square", "total"}, samples[0].inputs));
  ops::infer_types(*after.graph);
  verify(*after.graph);
  EXPECT_LE(distance_in_meaning(before, after, samples), 1e-6);
  const auto largest = [&](const Model& model) {
    double most = 0;
    InterpreterOptions options;
    options.observe = [&](const Value&, const Datum& datum) {
      for (const double value : datum.tensor.to_doubles()) most = std::max(most, std::abs(value));
    };
    run_reference(model, samples[0].inputs, options);
    return most;
  };
  EXPECT_GT(largest(before), 65504);
  EXPECT_LT(largest(after), 65504);
}

TEST(Rewrites, VarianceInTwoPasses) {
  const std::string graph = R"(graph "g" (%x: f32[3, 8]) -> (%y) {
    %squares: f32[*] = Mul(%x, %x) version 17 @"squares" from ["squares"]
    %first: f32[*] = ReduceMean(%squares) {axes = ints[-1]} version 17 @"first" from ["first"]
    %mean: f32[*] = ReduceMean(%x) {axes = ints[-1]} version 17 @"mean" from ["mean"]
    %second: f32[*] = Mul(%mean, %mean) version 17 @"second" from ["second"]
    %y: f32[*] = Sub(%first, %second) version 17 @"less" from ["less"]
  })";
  const Model before = ready(graph);
  Model after = clone(before);
  ASSERT_TRUE(two_passes(after, {"less"}));
  ops::infer_types(*after.graph);
  verify(*after.graph);
  EXPECT_LE(distance_in_meaning(before, after, samples_for(before)), 1e-6);
}

TEST(Rewrites, ClipAsText) {
  Model model = ready(of("[3, 8]", scalar("lo", -0.5F) + scalar("hi", 0.25F), "Clip(%x, %lo, %hi)"));
  ASSERT_TRUE(each(write_clip)(model, {"n"}, {}));
  ops::infer_types(*model.graph);
  const std::string text = print(*model.graph);
  EXPECT_THAT(text,
              testing::HasSubstr("%\"y~Max\": f32[3, 8] = Max(%x, %lo) version 17 @\"n~Max\" from [\"n\"]"));
  EXPECT_THAT(text,
              testing::HasSubstr("%y: f32[3, 8] = Min(%\"y~Max\", %hi) version 17 @\"n~Min\" from [\"n\"]"));
}

}  // namespace
}  // namespace vernier
