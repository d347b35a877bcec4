// An engine that was saved loads as it was built: the same kernels, and the same bits.
#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "vernier/builder/builder.h"
#include "vernier/compile/compiler.h"

namespace vernier {
namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int64_t of(std::initializer_list<int64_t> values) { return *(values.begin() + random_() % values.size()); }

 private:
  std::mt19937 random_;
};

Model input_model(const Dims& dims) {
  Model model = parse_graph(fmt::format(R"(graph "g" (%x: f32[{}]) -> (%i) {{
    %i: f32[*] = Relu(%x) version 14 @"i" from ["i"]
  }})",
                                        fmt::join(dims, ", ")));
  return model;
}

Model finished(Model model, Value* output) {
  model.graph->outputs = {output};
  return model;
}

// Computes on codes of 8 bits, as QuantizeLinear and DequantizeLinear around it say.
class Codes {
 public:
  explicit Codes(Graph& graph)
      : graph_(graph),
        scale_(graph.add_constant("scale", Tensor::from<float>(ElementType::kFloat, {}, {1.F / 64}))),
        zero_(graph.add_constant("zero",
                                 Tensor::from_ints(ElementType::kUint8, {}, std::vector<int64_t>{128}))) {}

  Value* around(Value* value) {
    const std::string name = fmt::format("codes{}", ++count_);
    Node* codes = append(graph_, "QuantizeLinear", 13, {value, scale_, zero_}, name.c_str());
    return append(graph_, "DequantizeLinear", 13, {codes->output(0), scale_, zero_}, (name + "_back").c_str())
        ->output(0);
  }
  Value* weights(const Dims& dims) {
    std::vector<int64_t> codes;
    for (const double value : noise(dims, 3).to_doubles()) codes.push_back(std::lround(value * 200));
    const std::string name = fmt::format("weights{}", ++count_);
    Value* constant = graph_.add_constant(name, Tensor::from_ints(ElementType::kInt8, dims, codes));
    return append(graph_, "DequantizeLinear", 13, {constant, scale_}, (name + "_back").c_str())->output(0);
  }

 private:
  Graph& graph_;
  Value *scale_, *zero_;
  int count_ = 0;
};

// A convolution, or two alike one after the other where sizes allow, of images of one pixel and more, with
// kernels that may be larger than the image, and with groups.
Model convolution(Draw& draw, bool quantized = false) {
  const int64_t groups = draw.of({1, 1, 1, 2, 4}), kernel = draw.of({1, 3, 5}), stride = draw.of({1, 1, 2});
  const int64_t in = groups * draw.of({1, 2, 3, 8, 16, 32}), out = draw.of({0, 1, 3, 8, 16, 24});
  const int64_t channels = out == 0 ? in : groups * out;
  Model model = input_model({draw.of({1, 1, 2}), in, draw.of({1, 1, 1, 2, 3, 7}), draw.of({1, 1, 2, 5})});
  Graph& graph = *model.graph;
  Value* at = graph.nodes()[0]->output(0);
  std::optional<Codes> codes;
  if (quantized) at = codes.emplace(graph).around(at);
  for (const char* name : {"first", "second"}) {
    if (std::string_view(name) == "second" && channels != in) break;
    const Dims dims{channels, in / groups, kernel, kernel};
    Value* weights =
        quantized ? codes->weights(dims) : graph.add_constant(std::string("w_") + name, noise(dims, 3));
    Node* node = append(graph, "Conv", 11, {at, weights}, name);
    node->attributes["pads"] = Attribute(std::vector<int64_t>(4, kernel / 2));
    node->attributes["strides"] = Attribute(std::vector<int64_t>(2, stride));
    node->attributes["group"] = Attribute(groups);
    at = quantized ? codes->around(node->output(0)) : node->output(0);
  }
  return finished(std::move(model), at);
}

Model product(Draw& draw) {
  const int64_t rows = draw.of({1, 2, 7, 33}), terms = draw.of({1, 3, 16, 40}),
                columns = draw.of({1, 5, 16, 48});
  Model model = input_model({rows, terms});
  Graph& graph = *model.graph;
  Value* x = graph.nodes()[0]->output(0);
  if (draw.of({0, 1}) == 0)
    return finished(std::move(model),
                    append(graph, "MatMul", 13, {x, graph.add_constant("w", noise({terms, columns}, 3))}, "y")
                        ->output(0));
  Node* gemm = append(
      graph, "Gemm", 13,
      {x, graph.add_constant("w", noise({columns, terms}, 3)), graph.add_constant("b", noise({columns}, 4))},
      "y");
  gemm->attributes["transB"] = Attribute(int64_t{1});
  return finished(std::move(model), gemm->output(0));
}

Model pool(Draw& draw) {
  const int64_t kernel = draw.of({1, 2, 3}), size = draw.of({3, 4, 7});
  Model model = input_model({1, draw.of({1, 3, 16, 20}), size, size});
  Graph& graph = *model.graph;
  Node* node = append(graph, draw.of({0, 1}) == 0 ? "MaxPool" : "AveragePool", draw.of({11, 11}),
                      {graph.nodes()[0]->output(0)}, "y");
  node->attributes["kernel_shape"] = Attribute(std::vector<int64_t>(2, kernel));
  node->attributes["strides"] = Attribute(std::vector<int64_t>(2, draw.of({1, 2})));
  return finished(std::move(model), node->output(0));
}

std::vector<std::string> kernels_of(const Engine& engine) {
  std::vector<std::string> names;
  for (const Step& step : engine.prepared().at(0).plan->steps)
    names.push_back(step.kernel ? step.kernel->name : "");
  return names;
}

std::string bits(const std::shared_ptr<const Engine>& engine, const NamedData& data) {
  const auto outputs = Session(engine).run(data);
  const auto bytes = outputs.begin()->second.as_tensor().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

enum class Narrow : uint8_t { kNo, kBf16, kFp16 };

void expect_reloads(Model model, Narrow narrow, const fs::path& path, const std::string& what) {
  ops::infer_types(*model.graph);
  BuildOptions options;
  options.tune.level = 2;
  options.precision.bf16 = narrow == Narrow::kBf16;
  options.precision.fp16 = narrow == Narrow::kFp16;
  const auto built = Builder(model, options).build({}, Judge::kNever).engine;
  save_engine(*built, path, {});
  try {
    const auto loaded = load_engine(path).engine;
    EXPECT_EQ(kernels_of(*loaded), kernels_of(*built)) << what;
    const auto data = random_data(*model.graph, 5);
    EXPECT_EQ(bits(loaded, data), bits(built, data)) << what;
  } catch (const Error& error) {
    ADD_FAILURE() << what << ": " << error.what() << "\n" << print(*model.graph);
  }
}

class Reload : public EngineFileTest, public testing::WithParamInterface<const char*> {};

TEST_P(Reload, SmallModels) {
  const std::string kind = GetParam();
  for (unsigned seed = 0; seed < 120; ++seed) {
    for (const Narrow narrow : {Narrow::kNo, Narrow::kBf16, Narrow::kFp16}) {
      if (kind == "quantized" && narrow != Narrow::kNo) continue;
      if (narrow == Narrow::kFp16 && seed % 4 != 0) continue;
      Draw draw(seed);
      Model model = kind == "convolution" ? convolution(draw)
                    : kind == "product"   ? product(draw)
                    : kind == "pool"      ? pool(draw)
                                          : convolution(draw, true);
      expect_reloads(std::move(model), narrow, path(),
                     fmt::format("{} {}, {}", kind, seed, static_cast<int>(narrow)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Reload, testing::Values("convolution", "product", "pool", "quantized"));

// oneDNN's choice for an image of one pixel must not follow from what was made before in this process: there
// the layouts of such an image are alike.
TEST_F(EngineFileTest, WhatWasMadeBeforeDecidesNothing) {
  const auto kernels = [&](Layout images) {
    Model model = input_model({1, 32, 1, 1});
    Graph& graph = *model.graph;
    Node* node =
        append(graph, "Conv", 11,
               {graph.nodes()[0]->output(0), graph.add_constant("w", noise({32, 16, 3, 3}, 3))}, "y");
    node->attributes["pads"] = Attribute(std::vector<int64_t>(4, 1));
    node->attributes["group"] = Attribute(int64_t{2});
    model.graph->outputs = {node->output(0)};
    ops::infer_types(graph);
    Compiler compiler(model, untuned());
    const PlanChoices choices{images, {}};
    compiler.prepare({model.graph->inputs[0]->type}, choices);
    const auto engine = compiler.engine();
    bits(engine, random_data(*model.graph, 1));
    return kernels_of(*engine);
  };
  const auto before = kernels(Layout::kBlocked16);
  kernels(Layout::kChannelsLast);
  kernels(Layout::kPlain);
  EXPECT_EQ(kernels(Layout::kBlocked16), before);
}

}  // namespace
}  // namespace vernier
