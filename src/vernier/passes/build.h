// Building blocks of rewrites.
#pragma once

#include <set>
#include <string>

#include "vernier/ir/graph.h"

namespace vernier {

// Names that no value of a graph, of those around it and of those inside it has.
class FreeNames {
 public:
  explicit FreeNames(const Graph& graph);
  // `base`, or with as many strokes behind it as make it free. It is taken then.
  std::string take(std::string base);

 private:
  std::set<std::string, std::less<>> taken_;
};

// One of them.
std::string free_name(const Graph& graph, std::string base);

// A node of ai.onnx named after its output.
std::unique_ptr<Node> make_node(std::string op, int64_t version, std::vector<Value*> inputs, Value* output);

// from -> Transpose -> to
std::unique_ptr<Node> make_transpose(Value* from, const std::vector<size_t>& perm, Value* to);
// from -> Reshape -> to, by these sizes as Reshape reads them.
std::unique_ptr<Node> make_reshape(Graph& graph, Value* from, const Dims& dims, Value* to);

// Gives the target of a Reshape from one shape to the other, if that is possible without knowing every size:
// 0 for a size that stays where it is, and -1 for one that follows from the others.
std::optional<Dims> reshape_target(const Shape& from, const Shape& to);

// Gives the content of a value that does not depend on the inputs of the model: an initializer, or what a
// Constant node makes, also behind Identities, by which exporters share weights that are equal.
std::optional<Tensor> known_content(const Value* value);
// The sizes of a tensor, if all are known.
std::optional<Dims> known_dims(const Value& value);
// The rank, if it is known.
std::optional<size_t> known_rank(const Value& value);
// The permutation, if the node is a Transpose and its permutation is known.
std::optional<std::vector<size_t>> transposition(const Node* node);
std::vector<size_t> inverse(const std::vector<size_t>& perm);

}  // namespace vernier
