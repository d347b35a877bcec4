// Operands that are spread out before a pointwise program runs: one element, or a few again and again.
#pragma once

#include "vernier/backends/cpu/pointwise/program.h"

namespace vernier::cpu {

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
