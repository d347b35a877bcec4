// Nodes to instructions of a pointwise program.
#pragma once

#include <functional>

#include "vernier/backends/shared/pointwise/program.h"

namespace vernier::pointwise {

class Lowering {
 public:
  // A value of the program: elements of `type` as registers hold them.
  struct Register {
    size_t id = 0;
    ElementType type = ElementType::kUndefined;
  };

  explicit Lowering(const KernelRequest& request) : request_(request) {}
  Program run();
  // The program of what `made` gives as the output, for nodes that are not computed element by element to
  // their end.
  Program run(const std::function<Register(Lowering&)>& made);
  // The program of the nodes of a group but the last, which is not computed element by element. What that one
  // reads first is stored in the place of its result.
  Program run_before_last();
  // Says what a value of the group is, for nodes that read it.
  void give(const Value* value, Register made) { values_[value] = made; }
  // Lowers a node of the group, before its result is stored; nodes that read it get it rounded to its type.
  Register follow(const Node& node);

  // Nodes are lowered with these.
  Register load(size_t input, const Dims& aligned);
  Register immediate(ElementType type, double value);
  Register cast(Register value, ElementType to);
  // The value as `type` declares it: rounded to f16 or bf16, else as it is.
  Register round(Register value, ElementType type);
  Register select(Register condition, Register yes, Register no);
  Register saturate(Register value, ElementType to);
  Register quantize(Register value, ElementType to, double scale, double zero_point);
  Register dequantize(Register value, double scale, double zero_point);
  const KernelRequest& request() const { return request_; }
  Register read(const Node& node, size_t at);
  // The input of the request that an operand is; refuses what is made inside.
  size_t input_of(const Value* value) const;
  // An operator whose operands and result are of one type.
  Register apply(std::string_view op, const std::vector<Register>& operands, double alpha = 0,
                 double beta = 0);
  ElementType element_of(const Value* value) const;
  ElementType result_type(const Node& node) const;
  // The one element of an operand, if it is known.
  std::optional<double> scalar(const Value* value) const;

 private:
  void name_inputs();
  void run_group(const Graph& body);
  // A node of the group, and what it makes for others outside.
  void run_member(const Graph& body, const Node& node);
  Register add(Instruction instruction);
  void store(Register value, size_t output, ElementType type);
  Dims dims_of(const Value* value) const;
  Register fold(const Node& node, std::string_view op);
  Register lower(const Node& node);
  Register lower_microsoft(const Node& node);
  Register clip(const Node& node);
  Register cast_node(const Node& node);
  Register where(const Node& node);
  Register predicate(const Node& node);
  Register power(const Node& node);

  const KernelRequest& request_;
  Program program_;
  std::map<const Value*, size_t> inputs_;    // of the request
  std::map<const Value*, Register> values_;  // made by nodes of the group
};

// QuantizeLinear, DequantizeLinear and the pointwise QLinear operators; nothing for others.
std::optional<Lowering::Register> lower_quantized(Lowering& lowering, const Node& node);
// Quantized real numbers of DOUBLE, as QLinear operators make them: the quotient by the scale, an input of
// the node, is rounded to FLOAT, then to an integer; the zero point, which follows the scale, moves it.
Lowering::Register requantize(Lowering& lowering, const Node& node, Lowering::Register real, size_t scale);

}  // namespace vernier::pointwise
