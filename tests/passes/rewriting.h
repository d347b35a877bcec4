// Tests of passes share this: text in, text out, and the reference before and after.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/passes.h"

namespace vernier {

inline Model parse_graph(const std::string& graph) {
  Model model = parse_model("model ir=10 opset \"\" 24 {\n" + graph + "\n}");
  ops::infer_types(*model.graph);
  return model;
}

// Runs the passes; gives the number of rewrites of each that fired.
inline std::map<std::string, int> rewrite(Model& model, const std::vector<Pass>& passes) {
  std::map<std::string, int> fired;
  for (const PassRecord& record : run_passes(*model.graph, passes, {})) fired[record.name] += record.rewrites;
  return fired;
}

// Operators in order, e.g. "Conv Relu"; of groups their kind and members: "conv(Conv Relu)".
inline std::string operators(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) {
    text += text.empty() ? "" : " ";
    const Graph* body = node->op == "Group" ? node->region("body") : nullptr;
    text +=
        body == nullptr ? node->op : node->attribute<std::string>("kind", "") + "(" + operators(*body) + ")";
  }
  return text;
}

// Inputs that are not `given`, whose rank is known, are drawn; and so are free sizes, one for each symbol.
inline NamedData random_data(const Graph& graph, uint64_t seed, const NamedData& given = {}) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  SymbolValues sizes;
  NamedData data = given;
  for (const Value* input : graph.inputs) {
    if (given.contains(input->name)) continue;
    Dims dims;
    for (const Dim& dim : *input->type.tensor.shape) {
      for (const std::string& symbol : dim.symbols())
        sizes.try_emplace(symbol, static_cast<int64_t>(1 + (seed + sizes.size() * 2) % 5));
      dims.push_back(*dim.evaluate(sizes));
    }
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) value = normal(random);
    data[input->name] = Tensor::from_doubles(input->type.tensor.element, dims, values);
  }
  return data;
}

// The relative L2 distance of two tensors; 0: the same bits. Infinite if their sizes differ, or if one has a
// NaN or an infinity where the other has something else.
inline double distance(const Tensor& a, const Tensor& b) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (a.type() != b.type() || a.dims() != b.dims()) return kInfinite;
  if (a.identical(b)) return 0;
  const auto x = a.to_doubles(), y = b.to_doubles();
  double difference = 0, size = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    if ((std::isnan(x[k]) && std::isnan(y[k])) || x[k] == y[k]) {
      if (std::isfinite(x[k])) size += x[k] * x[k];
      continue;
    }
    if (!std::isfinite(x[k]) || !std::isfinite(y[k])) return kInfinite;
    difference += (x[k] - y[k]) * (x[k] - y[k]), size += x[k] * x[k];
  }
  return std::max(1e-300, std::sqrt(difference / std::max(size, 1e-300)));
}

// The largest distance between the outputs of two models on the same inputs, which are `given` or random.
inline double distance(const Model& before, const Model& after, const NamedData& given = {}) {
  double worst = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const NamedData data = random_data(*before.graph, seed, given);
    const auto a = run_reference(before, data).outputs, b = run_reference(after, data).outputs;
    EXPECT_EQ(a.size(), b.size());
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      worst = std::max(worst, distance(a[i].tensor, b[i].tensor));
  }
  return worst;
}

}  // namespace vernier
