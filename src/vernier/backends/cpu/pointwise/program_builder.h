// Makes a program from nodes: values become numbered, in order of making; at the end they get places.
#pragma once

#include "vernier/backends/cpu/pointwise/program.h"

namespace vernier::cpu {

using pointwise::Refused;

class ProgramBuilder {
 public:
  // A value of the program: elements of `type` as registers hold them.
  struct Register {
    size_t id = 0;
    ElementType type = ElementType::kUndefined;
  };

  explicit ProgramBuilder(const KernelRequest& request) : request_(request) {}

  // An input of the request with its sizes aligned as `aligned`.
  Register load(size_t input, const Dims& aligned);
  Register immediate(ElementType type, double value);
  // A loop over operands; the result is of `type`. Refuses if there is no loop; `what` says for which.
  Register emit(Loop loop, ElementType type, const std::vector<Register>& operands, std::string_view what,
                double alpha = 0, double beta = 0);
  Register cast(Register value, ElementType to);
  // The value as `type` declares it: rounded to f16 or bf16, else as it is.
  Register round(Register value, ElementType type);
  void store(Register value, size_t output, ElementType type);

  // The last instruction is as dear as so many additions.
  void charge(double additions) { program_.cost += additions - 1; }
  void set_approximate() { program_.approximate = true; }

  PointwiseProgram finish();

 private:
  struct Load {
    size_t raw = 0, value = 0;  // as it lies in memory, and in registers
  };
  struct Lives {
    std::vector<size_t> made, last_read;  // by instruction; kNever
  };
  static constexpr size_t kNever = SIZE_MAX;

  size_t add(Place place);
  void settle_loads();
  Lives lives() const;
  void assign_registers(const Lives& lives);
  int find_in_place(const Lives& lives) const;

  const KernelRequest& request_;
  PointwiseProgram program_;
  std::vector<Load> loads_;  // by access
  std::map<std::pair<ElementType, double>, size_t> immediates_;
};

}  // namespace vernier::cpu
