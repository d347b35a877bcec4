// The memory that a session reads its inputs from and writes its outputs to.
#pragma once

#include "vernier/api/engine_state.h"
#include "vernier/exec/run_options.h"

namespace vernier::api {

// Memory as an application describes it.
struct Memory {
  ElementType element;
  const Dims& dims;
  const void* data;
  std::span<const int64_t> byte_strides;  // empty: dense
};

class Bindings {
 public:
  explicit Bindings(const Graph& graph);  // outlives this

  // All throw as v1::Session says, and then change nothing.
  void bind_input(std::string_view name, const Memory& memory);
  void bind_output(std::string_view name, const Memory& memory);
  void unbind(std::string_view name);
  void require_inputs() const;

  const std::vector<Datum>& inputs() const { return inputs_; }
  const std::vector<OutputMemory>& outputs() const { return outputs_; }
  NamedData named_inputs() const;

 private:
  void require_apart(const std::string& what, const Memory& memory, const OutputMemory* instead_of) const;

  const Graph& graph_;
  std::vector<Datum> inputs_;  // a default until it is bound
  std::vector<bool> bound_;    // of inputs
  std::vector<OutputMemory> outputs_;
};

}  // namespace vernier::api
