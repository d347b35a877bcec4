// Passes that recognise patterns ask these about the nodes around a value.
#pragma once

#include "vernier/passes/uses.h"

namespace vernier {

// The Attention of ai.onnx, or the one that passes make.
bool is_attention(const Node& node);
// The ai.onnx node of this operator that makes the value as its first output; null if there is none.
Node* maker(const Value* value, std::string_view op);
// Its one element, if it is a constant number.
std::optional<double> scalar_of(const Value* value);
// Whether it is the constant `wanted`, as a float or less precisely stored.
bool is_scalar(const Value* value, double wanted);
std::optional<Dims> sizes_of(const Value* value);   // if all are known
std::optional<Shape> shape_of(const Value* value);  // if the rank is known
bool same_type(const Value* a, const Value* b);     // element type and shape, known
int64_t rank_of(const Value* value);                // -1: unknown

// An operand and the scalar constant beside it: of x * s, s * x, x + s, s + x, or x / s as x * (1 / s).
struct WithScalar {
  Node* node = nullptr;
  Value* value = nullptr;
  double scalar = 0;
};
std::optional<WithScalar> product_with_scalar(const Value* value);
std::optional<WithScalar> sum_with_scalar(const Value* value);
// x^exponent as Pow, or as x * x.
struct Power {
  Node* node = nullptr;
  Value* value = nullptr;
};
std::optional<Power> square(const Value* value);

// The node's other operand, of two; null if it does not read `value`, or reads nothing else.
Value* other_operand(const Node& node, const Value* value);

// The product that `value` is a factor of, through readers that are the only ones: value * other * scalar.
struct Product {
  Value* other = nullptr;
  std::vector<Node*> nodes, beside;  // on the way from `value`, the last making the product; and beside it
};
// As far as it takes to find another factor that is no scalar, and scalars that make `wanted`.
std::optional<Product> product_around(const Uses& uses, const Value* value, double wanted);

// Whether two numbers of a model are meant to be the same.
bool is_near(double value, double wanted);

// Whether nobody but the members reads what they make; the last one's first output is for everybody.
bool is_private(const Uses& uses, const std::vector<Node*>& members);

// A node of ai.onnx in place of `members`, of which the last made its output; it reads `inputs`.
Node* replace_with(Graph& graph, const std::vector<Node*>& members, const std::string& op, int64_t version,
                   const std::vector<Value*>& inputs, AttributeMap attributes = {});

}  // namespace vernier
