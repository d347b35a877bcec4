// Decomposed attention as lists of lines, and what becomes of it.
#pragma once

#include <gmock/gmock.h>

#include "passes/lines.h"

namespace vernier {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr int64_t kBatch = 2, kRows = 6, kHeads = 4, kSize = 8;

using Constants = std::map<std::string, Tensor>;

inline Tensor sizes(const Dims& dims) {
  return Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(dims.size())}, dims);
}

// `inputs` named in `constants` are constants.
inline Model attention_model(const std::string& inputs, const std::vector<Line>& lines,
                             const Constants& constants) {
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
inline void expect_close(const Model& before, const Model& after, const NamedData& data) {
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

// Gives what becomes of the lines, after comparing the numbers on random inputs, except those that `given`
// tells.
inline Attended attended(const std::string& inputs, const std::vector<Line>& lines,
                         const Constants& constants = {}, const NamedData& given = {}) {
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

inline std::vector<Line> operator+(std::vector<Line> lines, const std::vector<Line>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

inline const std::string kSeparate =
    "%split: i64[4], %q: f32[2, 6, 32], %k: f32[2, 6, 32], %v: f32[2, 6, 32]";
inline const Constants kSplit = {{"split", sizes({kBatch, kRows, kHeads, kSize})}};

// Queries, keys and values in one projection each, brought to [2, 4, 6, 8]; keys to [2, 4, 8, 6].
inline std::vector<Line> heads() {
  std::vector<Line> lines;
  for (const std::string name : {"q", "k", "v"}) {
    lines.push_back({name + "4", "Reshape", fmt::format("%{}, %split", name)});
    lines.push_back({name + "h", "Transpose", fmt::format("%{}4", name),
                     fmt::format("perm = ints[{}]", name == "k" ? "0, 2, 3, 1" : "0, 2, 1, 3")});
  }
  return lines;
}

// From the scores `from` to the result, [batch, rows, heads, size].
inline std::vector<Line> weighted(const std::string& from) {
  return {{"w", "Softmax", "%" + from},
          {"o", "MatMul", "%w, %vh"},
          {"y", "Transpose", "%o", "perm = ints[0, 2, 1, 3]"}};
}

inline std::vector<Line> guarded(const std::string& from) {
  return {{"w", "Softmax", "%" + from},
          {"i", "IsNaN", "%w", "", 13},
          {"g", "Where", "%i, %zero, %w"},
          {"o", "MatMul", "%g, %vh"},
          {"y", "Transpose", "%o", "perm = ints[0, 2, 1, 3]"}};
}

inline const std::vector<Line> kScaled = {{"p", "MatMul", "%qh, %kh"}, {"s", "Mul", "%p, %half"}};

// Minus infinity for all keys of one row, for some of another, and numbers for the rest.
inline Tensor forbidding_mask(bool flags, ElementType type = ElementType::kFloat) {
  std::vector<double> values(static_cast<size_t>(kBatch * kRows * kRows), flags ? 1 : 0.25);
  for (size_t i = 0; i < 9; ++i) values[i] = flags ? 0 : -kInfinity;
  return Tensor::from_doubles(flags ? ElementType::kBool : type, {kBatch, 1, kRows, kRows}, values);
}

}  // namespace vernier
