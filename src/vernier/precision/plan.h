// A precision plan: for each ONNX node what it is computed, accumulated and stored in, and who said so.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

class JsonValue;

// How an input is quantized: q = saturate(round(x / scale) + zero_point).
struct InputScale {
  size_t input = 0;
  ElementType type = ElementType::kInt8;  // or u8
  double scale = 1;
  int64_t zero_point = 0;
};

struct LayerPrecision {
  // Who set it, the weakest first.
  enum class By : uint8_t { kDeclared, kRule, kRange, kSearch, kUser };

  ElementType compute = ElementType::kFloat, accumulate = ElementType::kFloat, store = ElementType::kFloat;
  std::vector<InputScale> quant = {};  // of activations; weights are quantized by their own content
  By by = By::kDeclared;
  std::string why = {};
  bool frozen = false;  // rules leave it alone
  // If positive, weights are i4, with a scale for so many elements of what is summed; what computes is as
  // above.
  int64_t weight_block = 0;
  // Computes f32, but factors of products may be rounded to TF32: "compute" is "tf32" in its file.
  bool tf32 = false;
};

struct PrecisionPlan {
  std::string model;                             // structural hash of the model that it is for; empty: any
  std::map<std::string, LayerPrecision> layers;  // by ONNX node
  bool tf32 = true;                              // layers may be tf32
  // On what the plan was made from, for who makes an engine by it; they are not in its file.
  std::vector<std::string> notes = {};

  const LayerPrecision* find(const std::string& node) const;
  // Whether it adds quantization to what the model has of it.
  bool quantizes() const;
  // Makes f32 of what is tf32. Returns how many layers were.
  size_t forbid_tf32();
  // Gives what a node that computes several ONNX nodes must keep: the widest of their types. Null types where
  // the plan names none of them. It is tf32 if one of them is: those that multiply nothing cannot say so.
  std::optional<LayerPrecision> strictest(const Node& node) const;
};

// "bf16 53 nodes, f32 12 nodes": what results are stored in.
std::string summary(const PrecisionPlan& plan);

// Whether values of `narrow` are values of `wide`.
bool holds(ElementType wide, ElementType narrow);
// The narrowest of the floats that holds both.
ElementType wider(ElementType a, ElementType b);

// The ONNX nodes behind a node: its provenance, or itself.
std::set<std::string> onnx_nodes(const Node& node);
// Gives the ONNX nodes of a graph and of all regions in it.
std::set<std::string> onnx_nodes(const Graph& graph);

// Schema "vernier-plan", version 1.
std::string plan_json(const PrecisionPlan& plan);
// Throws bad_input for what is no plan.
PrecisionPlan parse_plan(const JsonValue& json);
// Whether the file says of itself that it is a plan.
bool is_plan_file(const std::filesystem::path& path);
// Throws bad_input, naming the file, for what is no plan.
PrecisionPlan read_plan(const std::filesystem::path& path);
// Reads a plan for the model. Throws bad_input, naming the file, for nodes that it does not have and for
// plans made for another model.
PrecisionPlan read_plan(const std::filesystem::path& path, const Graph& model);

}  // namespace vernier
