// An OpDef holds what Vernier knows of an operator, in one place: schema, type inference, reference
// semantics, traits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier::ops {

class InferContext;
class ReferenceContext;

// How an operator behaves when the type of its inputs is narrowed (docs/rooms/precision.md).
enum class PrecisionClass : uint8_t {
  kFollow,      // follows its inputs
  kAlways,      // safe and worthwhile in a narrow type (contractions)
  kNeverLower,  // statistics, exponentials, integers in floats: keep wide
};

enum Trait : uint32_t {
  kPointwise = 1 << 0,     // output element depends on the input elements of the same (broadcast) index
  kReduction = 1 << 1,     // sums or extrema over axes
  kView = 1 << 2,          // output shares the input's elements in the same order
  kDataMovement = 1 << 3,  // output elements are copies of input elements
  kContraction = 1 << 4,   // matrix product or convolution
  kNondeterministic = 1 << 5,
  kControlFlow = 1 << 6,
  kNormalisation = 1 << 7,
};

struct AttributeSpec {
  std::string name;
  std::string type;  // ONNX's name: "INT", "FLOATS", …
};

struct OpDef {
  std::string domain = "";  // "" is ai.onnx
  std::string op = "";
  int min_inputs = 0, max_inputs = 0;          // max -1: variadic
  int min_outputs = 1, max_outputs = 1;        // max -1: variadic
  std::vector<AttributeSpec> attributes = {};  // regions are not listed
  uint32_t traits = 0;
  PrecisionClass precision = PrecisionClass::kFollow;
  // Sets type and shape of every output; throws bad_input for inputs the operator cannot take.
  void (*infer)(InferContext&) = nullptr;
  // Computes every output in double or native integers, rounding once, on store.
  void (*reference)(ReferenceContext&) = nullptr;
  // Floating-point operations of one run on inputs and outputs of these sizes; null: one per output element.
  double (*flops)(const Node& node, const std::vector<Dims>& inputs,
                  const std::vector<Dims>& outputs) = nullptr;
};

// All operators; made once, never changed. Operators are found by domain and name; a definition covers every
// version of the operator and reads Node::version where the meaning changed.
class OpRegistry {
 public:
  static const OpRegistry& instance();
  const OpDef* find(std::string_view domain, std::string_view op) const;
  const OpDef* find(const Node& node) const { return find(node.domain, node.op); }
  // Throws unsupported, naming node, operator and domain.
  const OpDef& require(const Node& node) const;
  const std::vector<OpDef>& all() const { return defs_; }
  void add(OpDef def);

 private:
  std::vector<OpDef> defs_;
  std::map<std::pair<std::string, std::string>, size_t, std::less<>> index_;
};

// Infinitely many inputs or outputs.
inline constexpr int kVariadic = -1;

}  // namespace vernier::ops
