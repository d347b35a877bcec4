// Type and shape inference of one node, symbolic or concrete. The same function serves both: concrete
// inference is the case where every dimension is an integer and every input value is known.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier::ops {

// Holds what is known of a value: its type, its content if constant, and, for small integer tensors, the
// symbolic content, by which shape arithmetic is followed.
struct ValueInfo {
  ValueType type;
  std::optional<Tensor> constant;
  // Row-major content as dimensions; set where constant is an integer tensor of rank <= 1, too. A float
  // tensor has it where its elements are exact integers (ops/support/follow.h).
  std::optional<std::vector<Dim>> dims;
};

// Tensors with more elements are not followed symbolically.
inline constexpr int64_t kMaxFollowedElements = 4096;

class InferContext {
 public:
  InferContext(const Node& node, std::vector<const ValueInfo*> inputs)
      : node_(node), inputs_(std::move(inputs)), outputs_(node.outputs.size()) {}
  virtual ~InferContext() = default;

  const Node& node() const { return node_; }
  int64_t version() const { return node_.version; }
  template <class T>
  T attribute(std::string_view name, T fallback) const {
    return node_.attribute<T>(name, std::move(fallback));
  }

  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }
  bool has(size_t input) const { return input < inputs_.size() && inputs_[input] != nullptr; }
  bool wants(size_t output) const { return output < outputs_.size() && node_.outputs[output] != nullptr; }

  // Throws bad_input if the input is missing.
  const ValueInfo& info(size_t input) const;
  const ValueType& type(size_t input) const { return info(input).type; }
  // Throws bad_input if the input is no tensor.
  ElementType element(size_t input) const;
  // Nothing if the rank is unknown.
  const std::optional<Shape>& shape(size_t input) const;
  // Content of an integer or bool tensor, if known completely; from a constant or from followed dimensions.
  std::optional<std::vector<int64_t>> ints(size_t input) const;
  // Content as dimensions, if known, of a tensor of rank 0 or 1; support/content.h has it for every rank.
  const std::optional<std::vector<Dim>>& dims(size_t input) const;
  const Tensor* constant(size_t input) const {
    return has(input) && info(input).constant ? &*info(input).constant : nullptr;
  }

  void set_type(size_t output, ValueType type);
  void set_output(size_t output, ElementType element, std::optional<Shape> shape);
  void set_dims(size_t output, std::vector<Dim> content);
  void set_constant(size_t output, Tensor value);

  // A dimension that only running can tell. In a concrete run the kernel allocates the output itself.
  Dim fresh(std::string_view hint) const;

  // Infers a region of this node with these inputs and gives the types of its outputs.
  virtual std::vector<ValueInfo> infer_region(const Graph& region, const std::vector<ValueInfo>& inputs);

  std::vector<ValueInfo>& outputs() { return outputs_; }

 private:
  const Node& node_;
  std::vector<const ValueInfo*> inputs_;
  std::vector<ValueInfo> outputs_;
};

// `axis` in [-rank, rank) made non-negative; throws bad_input otherwise.
int64_t normalize_axis(int64_t axis, int64_t rank);
std::vector<int64_t> normalize_axes(const std::vector<int64_t>& axes, int64_t rank);

// Throws bad_input unless the present inputs [first, last) have one element type.
void require_one_type(const InferContext& context, size_t first, size_t last);
// Throws bad_input if an input that is there is known to have another number of elements than `wanted`.
// Kernels rely on it: of sizes that come later, inference is what looks at them.
void require_elements(const InferContext& context, size_t input, const Dim& wanted);

// Inference rules that many operators share.
void infer_same_as_input(
    InferContext& context);  // output 0 has the type of input 0, and its content if of integers
void infer_broadcast(InferContext& context);       // element of input 0, all inputs broadcast
void infer_broadcast_bool(InferContext& context);  // BOOL, all inputs broadcast
// Broadcast shape of the inputs [first, last), nothing if a rank is unknown.
std::optional<Shape> broadcast_inputs(const InferContext& context, size_t first, size_t last);

}  // namespace vernier::ops
