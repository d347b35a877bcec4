// Operators that only move data, at known sizes: a list of boxes that are copied.
#pragma once

#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/exec/backend.h"
#include "vernier/exec/kernel.h"
#include "vernier/tensor/tensor_type.h"

namespace vernier::cpu {

// Where the elements of a box lie in an operand: index i along axis a of the box is index
// start[a] + i * step[a] of the operand. A step of 0 repeats.
struct BoxPlace {
  Dims start, step;
};

// The first elements of an operand of this rank, as they are.
BoxPlace from_origin(size_t rank);

class CopyKernel : public Kernel {
 public:
  // Inputs that are one element of the kernel's own: what set_value gave it, and zero.
  static constexpr int kValue = -1, kZero = -2;

  explicit CopyKernel(std::string_view what);
  void run(const KernelArguments& arguments) const override;

  // Copies a box of `sizes` from an input to an output; both have as many axes as `sizes`. The operands'
  // layouts may differ.
  void add(int input, const Operand& from, const BoxPlace& source, int output, const Operand& to,
           const BoxPlace& target, const Dims& sizes);
  // Fills a box with the one element of an input, or with the value.
  void fill(int input, int output, const Operand& to, const BoxPlace& target, const Dims& sizes);
  // The element kValue, of as many bytes.
  void set_value(const void* value, size_t bytes);
  // Copies along any axes between plain operands, steps in bytes.
  void add(int input, int output, StridedCopy copy) { pieces_.push_back({input, output, std::move(copy)}); }
  // Lets output 0 take over the memory of input 0 if all copies leave the elements where they are.
  void allow_in_place();
  // Writes the zeros that a blocked output has behind its last channel.
  void clear_tail(int output, const Operand& to);

 private:
  struct Piece {
    int input, output;
    StridedCopy copy;
  };
  std::vector<Piece> pieces_;
  using Element = std::array<std::byte, 16>;
  Element value_{};
};

// Whether elements of the type are moved by width: all but strings.
bool is_movable(const KernelRequest& request);

// The steps of the axes of an operand in bytes; not for blocked ones.
std::vector<int64_t> byte_steps(const Operand& operand);

// y[i, j, …] = x[sources[0][i], sources[1][j], …]: copies that are known when the kernel is made, but follow
// no steps.
class IndexCopyKernel : public Kernel {
 public:
  // Elements of `width` bytes; `dims` are the sizes of x in memory, `sources` those of y's elements along
  // every axis.
  IndexCopyKernel(std::string_view what, size_t width, const Dims& dims,
                  std::vector<std::vector<int64_t>> sources);
  void run(const KernelArguments& arguments) const override;

 private:
  std::vector<std::vector<int64_t>> sources_;  // in bytes; the last axis is the row
  int64_t rows_ = 1;
  size_t run_;  // bytes that lie together for each element of the row
};

// Copies an operand into another layout; any element type but strings.
std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to);

}  // namespace vernier::cpu
