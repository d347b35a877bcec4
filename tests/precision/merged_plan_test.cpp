// Plans that an engine was built by, where they are written to ONNX node by node.
#include "precision/typing.h"
#include "vernier/base/file.h"
#include "vernier/precision/typed_model.h"

namespace vernier {
namespace {

// Plans of engines say the same of all nodes that were merged. What a BatchNormalization reads is negative,
// too, and would be lost in the codes of what the Conv reads.
TEST(MergedPlan, AFoldedNodeDoesNotHaveTheScalesOfTheContraction) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[1, 1, 2, 2]) -> (%y) {
    const %w = f32[1, 1, 1, 1] hex"000080bf"
    const %one = f32[1] hex"0000803f"
    const %zero = f32[1] hex"00000000"
    %a: f32[*] = Conv(%x, %w) version 22 @"conv" from ["conv"]
    %b: f32[*] = BatchNormalization(%a, %one, %zero, %zero, %one) version 15 @"norm" from ["norm"]
    %y: f32[*] = Relu(%b) version 14 @"relu" from ["relu"]
  })");
  std::string layers;
  for (const char* node : {"conv", "norm", "relu"})
    layers += fmt::format(R"({}"{}": {{"compute": "i8", "accumulate": "i32", "store": "f32",
      "quant": [{{"input": 0, "type": "u8", "scale": 0.02, "zero_point": 0}}]}})",
                          layers.empty() ? "" : ", ", node);
  const TemporaryFolder folder;
  write_file(folder.path() / "plan.json",
             R"({"schema": "vernier-plan", "version": 1, "layers": {)" + layers + "}}");
  PrecisionOptions given;
  given.plan = folder.path() / "plan.json";
  EXPECT_EQ(types(*typed_model(model, given).model.graph),
            "QuantizeLinear:u8 DequantizeLinear:f32 DequantizeLinear:f32 Conv:f32 Relu:f32");
}

}  // namespace
}  // namespace vernier
