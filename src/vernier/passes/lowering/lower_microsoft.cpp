// Lowers what com.microsoft fuses and the backend computes as its parts: Attention -> MatMul, Add, Split and
// MultiHeadAttention; EmbedLayerNormalization -> Gather, Add and LayerNormalization.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/contrib/operands.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kAddOpset = 14, kCastOpset = 13, kEqualOpset = 13, kReduceSumOpset = 13, kConcatOpset = 13,
                  kConstantOfShapeOpset = 9, kGatherOpset = 13, kMatMulOpset = 13, kNormOpset = 17,
                  kSliceOpset = 13, kSplitOpset = 13, kShapeOpset = 15, kSqueezeOpset = 13;
constexpr const char* kDomain = "com.microsoft";

// The nodes in the place of one, named after its first output.
class Parts {
 public:
  Parts(Graph& graph, Node* node) : graph_(graph), node_(node) {}

  Value* ints(const std::vector<int64_t>& values) {
    return graph_.add_constant(
        name("sizes"), Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values));
  }
  Value* one_like(const Value* value) {
    return graph_.add_constant(name("one"),
                               Tensor::from_ints(value->type.tensor.element, {}, std::vector<int64_t>{1}));
  }
  // A value in between; types are inferred afterwards.
  Value* between(const char* what) { return graph_.add_value(name(what)); }
  Node& add(const char* op, int64_t version, std::vector<Value*> inputs, std::vector<Value*> outputs,
            AttributeMap attributes = {}) {
    auto node = make_node(op, version, std::move(inputs), outputs[0]);
    node->outputs = std::move(outputs);
    node->attributes = std::move(attributes);
    nodes_.push_back(std::move(node));
    return *nodes_.back();
  }
  Value* made(const char* op, int64_t version, std::vector<Value*> inputs, AttributeMap attributes = {}) {
    return add(op, version, std::move(inputs), {between(op)}, std::move(attributes)).output(0);
  }
  void finish() { Rewriter(graph_).replace({node_}, std::move(nodes_)); }

 private:
  std::string name(const char* what) {
    return free_name(graph_, fmt::format("{}/{}", node_->output(0)->name, what));
  }

  Graph& graph_;
  Node* node_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

AttributeMap axis_of(int64_t axis) {
  return {{"axis", Attribute(axis)}};
}

// Sizes of the projections; nothing if they are not known.
std::optional<std::vector<int64_t>> projection_sizes(const Node& node) {
  auto sizes = node.attribute<std::vector<int64_t>>("qkv_hidden_sizes", {});
  const auto weights = sizes_of(node.input(1));
  if (!weights || weights->size() != 2) return std::nullopt;
  if (sizes.empty()) sizes.assign(3, (*weights)[1] / 3);
  const bool fit = sizes.size() == 3 && sizes[0] > 0 && sizes[2] > 0 && sizes[0] == sizes[1] &&
                   sizes[0] + sizes[1] + sizes[2] == (*weights)[1];
  return fit ? std::optional(sizes) : std::nullopt;
}

// The past holds keys and then values, and so does the present.
bool lower_attention(Graph& graph, Node* node) {
  enum Input : size_t { kInput, kWeights, kBias, kMask, kPast, kScoreBias, kPastLength };
  const auto sizes = projection_sizes(*node);
  for (const char* option : {"do_rotary", "past_present_share_buffer"}) {
    if (ops::integer_attribute(*node, option) != 0) return false;
  }
  if (!sizes || node->input(kPastLength) != nullptr) return false;
  Parts parts(graph, node);
  Value* projected = parts.made("MatMul", kMatMulOpset, {node->input(kInput), node->input(kWeights)});
  if (node->input(kBias) != nullptr)
    projected = parts.made("Add", kAddOpset, {projected, node->input(kBias)});
  std::vector<Value*> inputs = {parts.between("queries"), parts.between("keys"), parts.between("values")};
  parts.add("Split", kSplitOpset, {projected, parts.ints(*sizes)}, inputs, axis_of(-1));
  inputs.insert(inputs.end(), {nullptr, node->input(kMask), node->input(kScoreBias)});
  if (Value* past = node->input(kPast)) {
    const std::vector<Value*> parts_of_past = {parts.between("past_keys"), parts.between("past_values")};
    parts.add("Split", kSplitOpset, {past, parts.ints({1, 1})}, parts_of_past, axis_of(0));
    for (Value* half : parts_of_past)
      inputs.push_back(parts.made("Squeeze", kSqueezeOpset, {half, parts.ints({0})}));
  }
  while (inputs.back() == nullptr) inputs.pop_back();
  std::vector<Value*> outputs = {node->output(0)}, parts_of_past;
  Value* present = node->outputs.size() > 1 ? node->outputs[1] : nullptr;
  if (present != nullptr)
    outputs.insert(outputs.end(), {parts.between("keys_now"), parts.between("values_now")});
  Node& attention = parts.add("MultiHeadAttention", 1, inputs, outputs, node->attributes);
  attention.domain = kDomain;
  for (const char* option :
       {"do_rotary", "past_present_share_buffer", "qkv_hidden_sizes", "rotary_embedding_dim"})
    attention.attributes.erase(option);
  if (present != nullptr) {
    for (size_t i = 1; i < outputs.size(); ++i)
      parts_of_past.push_back(parts.made("Unsqueeze", kSqueezeOpset, {outputs[i], parts.ints({0})}));
    parts.add("Concat", kConcatOpset, parts_of_past, {present}, axis_of(0));
  }
  parts.finish();
  return true;
}

// How many tokens of each sequence the mask keeps; 0 without one.
void lower_counts(Parts& parts, Value* words, Value* mask, Value* counts) {
  constexpr auto kInt32 = static_cast<int64_t>(ElementType::kInt32);
  if (mask == nullptr) {
    Value* batch = parts.made("Shape", kShapeOpset, {words}, {{"end", Attribute(int64_t{1})}});
    parts.add("ConstantOfShape", kConstantOfShapeOpset, {batch}, {counts},
              {{"value", Attribute(Tensor(ElementType::kInt32, {1}))}});
    return;
  }
  Value* kept = parts.made("Equal", kEqualOpset, {mask, parts.one_like(mask)});
  Value* flags = parts.made("Cast", kCastOpset, {kept}, {{"to", Attribute(kInt32)}});
  parts.add("ReduceSum", kReduceSumOpset, {flags, parts.ints({1})}, {counts},
            {{"keepdims", Attribute(int64_t{0})}});
}

bool lower_embedding(Graph& graph, Node* node) {
  using namespace ops::embed_layer_norm;
  const auto output = [&](size_t i) { return i < node->outputs.size() ? node->outputs[i] : nullptr; };
  const Value *words_in = node->input(kWords), *mask = node->input(kMask);
  const bool counts = output(1) != nullptr && mask != nullptr;
  // Between float16 operators would be roundings that the one operator has not.
  const bool floats = node->input(kWordTable)->type.is_tensor() &&
                      node->input(kWordTable)->type.tensor.element == ElementType::kFloat;
  if (!floats || rank_of(words_in) != 2 ||
      (counts && (rank_of(mask) != 2 || mask->type.tensor.shape != words_in->type.tensor.shape)))
    return false;
  Parts parts(graph, node);
  Value* words = node->input(kWords);
  Value* rows = parts.made("Shape", kShapeOpset, {words}, {{"start", Attribute(int64_t{1})}});
  const auto embedded = [&](size_t table, Value* ids) {
    return parts.made("Gather", kGatherOpset, {node->input(table), ids}, axis_of(0));
  };
  Value* positions = node->input(kPositions) != nullptr
                         ? embedded(kPositionTable, node->input(kPositions))
                         : parts.made("Slice", kSliceOpset,
                                      {node->input(kPositionTable), parts.ints({0}), rows, parts.ints({0})});
  const bool segmented = node->input(kSegments) != nullptr && node->input(kSegmentTable) != nullptr;
  Value* sum = output(2) != nullptr ? output(2) : parts.between("sum");
  Value* placed = segmented ? parts.between("placed") : sum;
  parts.add("Add", kAddOpset, {embedded(kWordTable, words), positions}, {placed});
  if (segmented)
    parts.add("Add", kAddOpset, {placed, embedded(kSegmentTable, node->input(kSegments))}, {sum});
  parts.add(
      "LayerNormalization", kNormOpset, {sum, node->input(kGamma), node->input(kBeta)}, {output(0)},
      {{"axis", Attribute(int64_t{-1})}, {"epsilon", Attribute(ops::real_attribute(*node, "epsilon"))}});
  if (output(1) != nullptr) lower_counts(parts, words, node->input(kMask), output(1));
  parts.finish();
  return true;
}

int lower_in(Graph& graph) {
  std::vector<std::pair<Node*, bool (*)(Graph&, Node*)>> found;
  for (const auto& node : graph.nodes()) {
    if (node->domain != kDomain) continue;
    if (node->op == "Attention") found.emplace_back(node.get(), lower_attention);
    if (node->op == "EmbedLayerNormalization") found.emplace_back(node.get(), lower_embedding);
  }
  return static_cast<int>(std::count_if(found.begin(), found.end(),
                                        [&](const auto& each) { return each.second(graph, each.first); }));
}

}  // namespace

Pass lower_microsoft() {
  return {"lower-microsoft", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += lower_in(inner); });
            return found;
          }};
}

}  // namespace vernier
