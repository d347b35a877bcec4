// Which layout images take where plans are tried in another.
#include "engine/small_engine.h"

namespace vernier {
namespace {

// x [1, 32, 8, 8] in bytes, convolved with weights of bytes.
Model quantized_model() {
  Model model = parse_graph(R"(graph "g" (%x: u8[1, 32, 8, 8]) -> (%y) {
    const %scale = f32[] hex"cdcccc3d"
    const %zero = u8[] hex"80"
    const %level = i8[] hex"00"
    %y: u8[*] = Identity(%x) version 14 @"i" from ["i"]
  })");
  Graph& graph = *model.graph;
  std::vector<int64_t> values(32 * 32 * 9);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * 37 % 15) - 7;
  Value* weights = graph.add_constant("w", Tensor::from_ints(ElementType::kInt8, {32, 32, 3, 3}, values));
  const auto constant = [&](const std::string& name) {
    for (const auto& value : graph.values()) {
      if (value->name == name) return value.get();
    }
    return static_cast<Value*>(nullptr);
  };
  Value *scale = constant("scale"), *zero = constant("zero"), *level = constant("level");
  Node* conv = append(graph, "QLinearConv", 10,
                      {graph.inputs[0], scale, zero, weights, scale, level, scale, zero}, "c");
  graph.outputs = {conv->output(0)};
  return model;
}

TEST(ImageLayout, BytesStayChannelsLast) {
  std::vector<std::string> outputs;
  for (const Layout images : {Layout::kChannelsLast, Layout::kBlocked16}) {
    Compiler compiler(quantized_model(), untuned());
    const PlanChoices choices{images, {}};
    const auto type = compiler.graph().inputs[0]->type;
    compiler.prepare({type}, choices);
    const auto engine = compiler.engine();
    int convolutions = 0;
    for (const Step& step : engine->prepared()[0].plan->steps) {
      if (step.node == nullptr) continue;
      ASSERT_NE(step.kernel, nullptr) << step.reason;
      EXPECT_EQ(step.kernel->name.find("ref"), std::string::npos) << step.kernel->name;
      ++convolutions;
    }
    EXPECT_EQ(convolutions, 1);
    std::vector<int64_t> bytes(32 * 64);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<int64_t>(i * 101 % 256);
    Session session(engine);
    const auto made = session.run({{"x", Tensor::from_ints(ElementType::kUint8, {1, 32, 8, 8}, bytes)}});
    const auto content = made.at("c").as_tensor().bytes();
    outputs.emplace_back(reinterpret_cast<const char*>(content.data()), content.size());
  }
  EXPECT_EQ(outputs[0], outputs[1]);
}

}  // namespace
}  // namespace vernier
