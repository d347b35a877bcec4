// What a pointwise kernel runs for every tile: instructions over places in memory.
#pragma once

#include "vernier/backends/cpu/pointwise/access.h"
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/backends/shared/pointwise/program.h"

namespace vernier::cpu {

// Where an instruction finds, or leaves, the elements of a tile.
struct Place {
  enum class Kind : uint8_t {
    kRegister,  // in the first-level cache
    kInput,     // read where the caller has it (Access::kDirect)
    kRows,      // gathered into a register, unless a tile lies in one piece
    kPrepared,  // spread out once per run, or when the kernel was made (Access::kUniform, kPeriodic)
    kOutput,    // written where the caller wants it
  };
  Kind kind = Kind::kRegister;
  size_t index = 0;  // of the access, of what is prepared, or of the output
  size_t bytes = 0;  // of an element
  size_t slot = 0;   // the register
};

struct Instruction {
  Loop loop = nullptr;  // null: gathers the rows of `to`
  size_t to = 0;
  std::array<size_t, 3> from{};  // unused ones repeat the first
  double alpha = 0, beta = 0;
};

struct PointwiseProgram {
  static constexpr size_t kNoAccess = SIZE_MAX;
  struct Prepared {
    size_t access = kNoAccess;
    double immediate = 0;                        // where there is none
    ElementType type = ElementType::kUndefined;  // in registers
  };
  Dims walk;
  std::vector<Access> accesses;
  std::vector<Prepared> prepared;
  std::vector<Place> places;
  std::vector<Instruction> instructions;
  size_t registers = 0, register_bytes = 0;  // their number, and the bytes of the widest element
  int in_place = -1;
  double cost = 0;  // of an element, relative to an addition
  bool approximate = false;
};

using pointwise::register_type;

// Nothing, with `reason`, for nodes that are not computed element by element, or in types without loops.
std::optional<PointwiseProgram> compile_pointwise(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cpu
