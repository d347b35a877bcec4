// A small engine that a file is written of, and what such files are tried with.
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/session.h"

namespace vernier {

namespace fs = std::filesystem;

inline Tensor noise(Dims dims, unsigned seed) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) {
    seed = seed * 1664525 + 1013904223;
    values[i] = static_cast<double>(seed >> 8) / (1 << 24) - 0.5;
  }
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

// A node of one output, which names it, too.
inline Node* append(Graph& graph, const char* op, int64_t version, std::vector<Value*> inputs,
                    const char* output) {
  auto made = std::make_unique<Node>();
  made->op = op;
  made->version = version;
  made->name = std::string("node_") + output;
  made->provenance = {made->name};
  made->inputs = std::move(inputs);
  made->outputs = {graph.add_value(output)};
  return graph.add_node(std::move(made));
}

// A convolution whose weights are large enough to be kept packed only, a view, and a product; sizes fixed but
// for the batch.
inline Model small_model(unsigned seed = 1) {
  Model model = parse_graph(R"(graph "g" (%x: f32[N, 16, 6, 6]) -> (%y) {
    const %bias = f32[4] hex"0000803f000000400000404000008040"
    %c: f32[*] = Relu(%x) version 14 @"r" from ["r"]
    %y: f32[*] = Identity(%c) version 14 @"i" from ["i"]
  })");
  Graph& graph = *model.graph;
  const auto node = [&](const char* op, int64_t version, std::vector<Value*> inputs, const char* output) {
    return append(graph, op, version, std::move(inputs), output);
  };
  Value* relu = graph.nodes()[0]->output(0);
  Value* weights = graph.add_constant("w", noise({32, 16, 3, 3}, seed));
  Node* conv = node("Conv", 11, {relu, weights}, "conv");
  Node* pool = node("GlobalAveragePool", 1, {conv->output(0)}, "pool");
  Node* flat = node("Flatten", 13, {pool->output(0)}, "flat");
  Node* product =
      node("MatMul", 13, {flat->output(0), graph.add_constant("m", noise({32, 4}, seed + 1))}, "product");
  Node* sum = node("Add", 14, {product->output(0), graph.values()[1].get()}, "sum");
  for (const auto& value : graph.values()) {
    if (value->name == "bias") sum->inputs[1] = value.get();
  }
  graph.outputs = {sum->output(0)};
  return model;
}

inline std::vector<ValueType> batch(int64_t size) {
  return {ValueType::of(ElementType::kFloat, to_shape(Dims{size, 16, 6, 6}))};
}

// Timings may come out either way; these tests need the same engine each time.
inline BuildOptions untuned() {
  BuildOptions options;
  options.tune.level = 0;
  return options;
}

inline std::shared_ptr<const Engine> small_engine(unsigned seed = 1, std::vector<int64_t> batches = {1}) {
  Compiler compiler(small_model(seed), untuned());
  for (const int64_t size : batches) compiler.prepare(batch(size));
  return compiler.engine();
}

inline std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string run(const std::shared_ptr<const Engine>& engine, int64_t size) {
  Session session(engine);
  const auto outputs = session.run({{"x", noise({size, 16, 6, 6}, 7)}});
  const auto bytes = outputs.begin()->second.as_tensor().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class EngineFileTest : public testing::Test {
 protected:
  fs::path path(const char* name = "small.engine") const { return folder_.path() / name; }
  fs::path saved(SaveOptions options = {}) {
    save_engine(*small_engine(), path(), options);
    return path();
  }
  void write(const std::string& content) { std::ofstream(path("other"), std::ios::binary) << content; }
  // Gives what opening these bytes says.
  std::string refusal(const std::string& content) {
    try {
      EngineFile::read(std::as_bytes(std::span(content)), nullptr);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

}  // namespace vernier
