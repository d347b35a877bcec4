// A cache of rows in the memory of a device, in which it stays from run to run.
#pragma once

#include "vernier/exec/device/device.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The first rows of a cache, whose memory has room for `capacity` in each […], copied to the host: `dims` are
// […, rows, size]. No run uses the cache meanwhile.
Tensor dense_rows(Device& device, ElementType element, const Dims& dims, int64_t capacity,
                  const void* memory);

class ResidentCache {
 public:
  // Memory for `dims` […, capacity, size]; what is in it is not defined. `device` outlives it. Throws
  // bad_input for fewer than two sizes, and OutOfMemory.
  ResidentCache(Device& device, ElementType element, Dims dims);

  size_t bytes() const { return memory_->bytes(); }
  const std::byte* address() const { return memory_->address(); }
  // The first rows of each […] as an input of runs that have the cache (RunOptions::bindings). Where the host
  // does not see the memory of the device its elements cannot be read.
  Tensor rows(int64_t count) const;
  // The same as dense_rows gives them.
  Tensor read(int64_t count) const;

 private:
  Dims dims_of(int64_t rows) const;

  Device& device_;
  ElementType element_;
  Dims dims_;
  std::unique_ptr<Buffer> memory_;
};

}  // namespace vernier
