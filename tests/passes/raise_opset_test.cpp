// Older opsets said in newer words: the same bits, or a refusal that names the node.
#include "vernier/passes/opset/raise_opset.h"

#include <gmock/gmock.h>

#include "passes/rewriting.h"

namespace vernier {
namespace {

struct Case {
  const char* name;
  int64_t from, to;
  const char* body;       // %y is the output
  const char* operators;  // afterwards
  const char* inputs = "%x: f32[2, 4, 6, 6]";
};

const Case kCases[] = {
    {"Clip", 6, 13, "%y: f32[*] = Clip(%x) {max = float 1, min = float -0.5} version 6 @\"n\" from [\"n\"]",
     "Clip"},
    {"ClipOneBound", 6, 13, "%y: f32[*] = Clip(%x) {max = float 1} version 6 @\"n\" from [\"n\"]", "Clip"},
    {"Pad", 2, 13,
     "%y: f32[*] = Pad(%x) {pads = ints[0, 0, 1, 2, 0, 0, 0, 1], value = float 2} version 7 @\"n\" from "
     "[\"n\"]",
     "Pad"},
    {"Slice", 7, 13,
     "%y: f32[*] = Slice(%x) {axes = ints[1, 3], ends = ints[3, -1], starts = ints[1, 1]} version 7 @\"n\" "
     "from "
     "[\"n\"]",
     "Slice"},
    {"TopK", 7, 13, "%y: f32[*], %i: i64[*] = TopK(%x) {axis = 3, k = 2} version 7 @\"n\" from [\"n\"]",
     "TopK"},
    {"Upsample", 9, 13,
     "const %s = f32[4] hex\"0000803f0000803f0000004000004040\" %y: f32[*] = Upsample(%x, %s) {mode = "
     "\"nearest\"} version 9 @\"n\" from [\"n\"]",
     "Resize"},
    {"UpsampleLinear", 7, 22,
     "%y: f32[*] = Upsample(%x) {mode = \"linear\", scales = floats[1, 1, 2, 1.5]} version "
     "7 @\"n\" from [\"n\"]",
     "Resize"},
    {"Resize", 10, 22,
     "const %s = f32[4] hex\"0000803f0000803f0000003f00004040\" %y: f32[*] = Resize(%x, %s) version 10 "
     "@\"n\" "
     "from [\"n\"]",
     "Resize"},
    {"Softmax", 11, 13, "%y: f32[*] = Softmax(%x) {axis = 3} version 11 @\"n\" from [\"n\"]", "Softmax"},
    {"SoftmaxOfOnes", 11, 22, "%y: f32[*] = Softmax(%x) version 11 @\"n\" from [\"n\"]", "Softmax",
     "%x: f32[2, 4, 1, 1]"},
    {"SoftmaxOverAxes", 11, 22, "%y: f32[*] = Softmax(%x) version 11 @\"n\" from [\"n\"]",
     "Flatten Softmax Reshape"},
    {"SoftmaxOverFreeSizes", 9, 13, "%y: f32[*] = LogSoftmax(%x) {axis = 2} version 9 @\"n\" from [\"n\"]",
     "Flatten LogSoftmax Shape Reshape", "%x: f32[N, 4, M, 2]"},
    {"Squeeze", 11, 13, "%y: f32[*] = Squeeze(%x) {axes = ints[2, 3]} version 11 @\"n\" from [\"n\"]",
     "Squeeze", "%x: f32[2, 4, 1, 1]"},
    {"Unsqueeze", 11, 13, "%y: f32[*] = Unsqueeze(%x) {axes = ints[0]} version 11 @\"n\" from [\"n\"]",
     "Unsqueeze"},
    {"Split", 11, 22,
     "%y: f32[*], %z: f32[*] = Split(%x) {axis = 1, split = ints[1, 3]} version 11 @\"n\" from [\"n\"]",
     "Split"},
    {"SplitEvenly", 11, 22, "%y: f32[*], %z: f32[*] = Split(%x) {axis = 1} version 11 @\"n\" from [\"n\"]",
     "Split"},
    {"ReduceMean", 13, 22,
     "%y: f32[*] = ReduceMean(%x) {axes = ints[2, 3], keepdims = 0} version 13 @\"n\" from [\"n\"]",
     "ReduceMean"},
    {"ReduceSum", 11, 22, "%y: f32[*] = ReduceSum(%x) {axes = ints[1]} version 11 @\"n\" from [\"n\"]",
     "ReduceSum"},
    {"Dropout", 7, 22, "%y: f32[*] = Dropout(%x) {ratio = float 0.5} version 7 @\"n\" from [\"n\"]",
     "Dropout"},
    {"BatchNormalization", 7, 22,
     "const %s = f32[4] hex\"0000803f0000004000004040000080bf\" const %v = f32[4] "
     "hex\"0000803f0000004000004040000080"
     "3f\" %y: f32[*] = BatchNormalization(%x, %s, %s, %s, %v) {spatial = "
     "1} version 7 @\"n\" from [\"n\"]",
     "BatchNormalization"},
    {"BroadcastAlongAnAxis", 6, 13,
     "const %b = f32[4] hex\"0000803f0000004000004040000080bf\" %y: f32[*] = Add(%x, %b) {axis = 1, "
     "broadcast "
     "= 1} version 6 @\"n\" from [\"n\"]",
     "Add"},
    {"Scatter", 9, 13,
     "const %i = i64[1, 1, 1, 1] hex\"0200000000000000\" const %u = f32[1, 1, 1, 1] hex\"00000040\" %y: "
     "f32[*] "
     "= Scatter(%x, %i, %u) {axis = 3} version 9 @\"n\" from [\"n\"]",
     "ScatterElements"},
    {"GridSample", 16, 22,
     "%y: f32[*] = GridSample(%x, %g) {mode = \"bicubic\"} version 16 @\"n\" from [\"n\"]", "GridSample",
     "%x: f32[1, 2, 4, 4], %g: f32[1, 3, 3, 2]"},
    {"Unchanged", 7, 22, "%y: f32[*] = Relu(%x) version 7 @\"n\" from [\"n\"]", "Relu"},
};

Model model_of(const Case& test) {
  Model model = parse_model(fmt::format("model ir=3 opset \"\" {} {{ graph \"g\" ({}) -> (%y) {{\n{} }} }}",
                                        test.from, test.inputs, test.body));
  ops::infer_types(*model.graph);
  return model;
}

class RaiseOpset : public testing::TestWithParam<Case> {};

TEST_P(RaiseOpset, KeepsTheBits) {
  const Case& test = GetParam();
  const Model before = model_of(test);
  Model after = model_of(test);
  raise_opset(after, test.to);
  ops::infer_types(*after.graph);
  EXPECT_EQ(after.opset(""), test.to);
  for (const auto& node : after.graph->nodes()) EXPECT_EQ(node->version, test.to);
  EXPECT_EQ(operators(*after.graph), test.operators);
  EXPECT_EQ(distance(before, after), 0);
}

INSTANTIATE_TEST_SUITE_P(All, RaiseOpset, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RaisedOpset, BringsNodesOfSeveralOpsetsToOne) {
  Model model = parse_model(R"(model ir=8 opset "" 13 { graph "g" (%x: f32[2, 3]) -> (%y) {
    %m: f32[*] = ReduceMean(%x) {axes = ints[1]} version 13 @"m" from ["m"]
    %y: f32[*] = Gelu(%m) version 20 @"g" from ["g"]
  } })");
  ops::infer_types(*model.graph);
  raise_opset(model, 0);
  EXPECT_EQ(model.opset(""), 20);
  EXPECT_EQ(model.ir_version, 9);
  for (const auto& node : model.graph->nodes()) EXPECT_EQ(node->version, 20);
}

TEST(RaisedOpset, LeavesModelsOfOneNewerOpsetAlone) {
  Model model = parse_model(R"(model ir=3 opset "" 24 { graph "g" (%x: f32[2]) -> (%y) {
    %y: f32[*] = Relu(%x) version 24 @"r" from ["r"]
  } })");
  const std::string before = print(model);
  raise_opset(model, 13);
  EXPECT_EQ(print(model), before);
}

std::string refusal(int64_t from, const char* body) {
  const Case test{"", from, 13, body, ""};
  Model model = model_of(test);
  try {
    raise_opset(model, 22);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(error.node(), "n");
    return error.what();
  }
  return "accepted";
}

TEST(RaisedOpset, RefusesWhatChangedItsMeaning) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal(11,
                      "const %s = f32[4] hex\"0000803f0000803f0000004000000040\" %y: f32[*] = "
                      "Resize(%x, _, %s) {coordinate_transformation_mode = \"tf_half_pixel_for_nn\"} "
                      "version 11 @\"n\" from [\"n\"]"),
              HasSubstr("tf_half_pixel"));
}

}  // namespace
}  // namespace vernier
