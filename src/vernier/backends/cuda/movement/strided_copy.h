// A box of elements that is copied between two buffers: what every operator that moves data at known sizes
// comes to.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// Element (i, j, …) lies at i * axes[0].from + j * axes[1].from + …; steps are in elements, may be 0 or
// negative in the source, and are positive in the target.
struct CopyAxis {
  int64_t size, from, to;
  bool operator==(const CopyAxis&) const = default;
};

struct CopyBox {
  size_t width = 0;  // bytes of an element: 1, 2, 4, 8 or 16
  std::vector<CopyAxis> axes = {};
  int64_t from_offset = 0, to_offset = 0;  // of element (0, 0, …)
};

// The same box with as few axes, and as wide elements, as it can have; the axes in the order of the target.
CopyBox simplified(CopyBox box);

// Adds a launch that copies the box. False, with `reason`, where it has too many axes.
bool add_copy(CudaKernel& kernel, const CopyBox& box, const CudaKernel::Place& from,
              const CudaKernel::Place& to, std::string& reason);

// Steps, in elements, of the axes of what lies so: plain, channels last, or in a cache of that capacity.
std::vector<int64_t> element_steps(const Dims& dims, Layout layout, int64_t capacity = 0);
inline std::vector<int64_t> element_steps(const Operand& operand) {
  return element_steps(operand.dims, operand.layout, operand.capacity);
}

// Copies an operand, plain, channels last or in a cache, into another of these layouts; into a cache of its
// capacity.
std::unique_ptr<CudaKernel> make_reorder(const Operand& from, Layout to);

}  // namespace vernier::cuda
