// Nodes to instructions of a pointwise program.
#pragma once

#include "vernier/backends/cpu/pointwise/program_builder.h"

namespace vernier::cpu {

class Lowering {
 public:
  using Register = ProgramBuilder::Register;

  explicit Lowering(const KernelRequest& request) : request_(request), builder_(request) {}
  PointwiseProgram run();

  // What nodes are lowered with.
  ProgramBuilder& builder() { return builder_; }
  const KernelRequest& request() const { return request_; }
  Register read(const Node& node, size_t at);
  // The input of the request that an operand is; refuses what is made inside.
  size_t input_of(const Value* value) const;
  // The loop of an operator in one type: a fast one if there is one.
  Register apply(std::string_view op, const std::vector<Register>& operands, double alpha = 0,
                 double beta = 0);
  ElementType element_of(const Value* value) const;
  ElementType result_type(const Node& node) const;
  // The one element of an operand, if it is known.
  std::optional<double> scalar(const Value* value) const;

 private:
  void run_group(const Graph& body);
  const Dims& dims_of(const Value* value) const;
  Register fold(const Node& node, std::string_view op);
  Register lower(const Node& node);
  Register lower_microsoft(const Node& node);
  Register clip(const Node& node);
  Register cast(const Node& node);
  Register select(const Node& node);
  Register predicate(const Node& node);
  Register power(const Node& node);

  const KernelRequest& request_;
  ProgramBuilder builder_;
  std::map<const Value*, size_t> inputs_;    // of the request
  std::map<const Value*, Register> values_;  // made by nodes of the group
};

// QuantizeLinear, DequantizeLinear and the pointwise QLinear operators; nothing for others.
std::optional<Lowering::Register> lower_quantised(Lowering& lowering, const Node& node);

}  // namespace vernier::cpu
