// A pointwise kernel runs a program for every tile: instructions over places in memory.
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

// Operands that are spread out before a pointwise program runs: one element, or a few again and again.
class Prepared {
 public:
  // For tiles of `spread` elements. Content that is not known yet takes place in the scratch memory, of
  // which `scratch_bytes` are taken.
  Prepared(const PointwiseProgram::Prepared& what, const Access* access, int64_t spread,
           const KernelRequest& request, size_t& scratch_bytes);

  // Spreads what the arguments hold, unless it is known already.
  void fill(const KernelArguments& arguments) const;
  // The elements that the walk reads from `begin` on.
  const std::byte* at(const std::byte* scratch, int64_t begin) const {
    const std::byte* first = known_.empty() ? scratch + offset_ : known_.data();
    return first + static_cast<size_t>(period_ == 1 ? 0 : begin % period_) * element_size(type_);
  }

 private:
  void spread(const std::byte* from, std::byte* to) const;

  ElementType element_, type_;
  size_t input_ = 0, offset_ = 0;
  int64_t period_ = 1, count_ = 0;
  std::vector<std::byte> known_;
};

}  // namespace vernier::cpu
