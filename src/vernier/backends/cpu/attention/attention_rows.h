// The rows of heads as the operands give them: as floats, with what is added to them.
#pragma once

#include "vernier/backends/cpu/attention/attention.h"

namespace vernier::cpu {

class HeadRows {
 public:
  explicit HeadRows(const AttentionPlan& plan) : plan_(plan) {}

  // Where it lies, or in `buffer`.
  const float* load(const KernelArguments& arguments, const HeadsPlace& place, int64_t entry, int64_t head,
                    int64_t row, float* buffer) const;
  // Writes the present keys and values of a head, where they are wanted.
  void keep(const KernelArguments& arguments, int64_t entry, int64_t head) const;

 private:
  void keep(const KernelArguments& arguments, const PresentPlace& present, const HeadsPlace& past,
            const HeadsPlace& added, int64_t entry, int64_t head) const;

  AttentionPlan plan_;
};

}  // namespace vernier::cpu
