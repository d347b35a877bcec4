// Memory of a GPU.
#pragma once

#include "vernier/backends/cuda/device/cuda_device.h"

namespace vernier::cuda {

class CudaBuffer : public Buffer {
 public:
  // Throws OutOfMemory.
  CudaBuffer(CudaDevice& device, size_t bytes);
  ~CudaBuffer() override;

  std::byte* address() const override { return address_; }
  size_t bytes() const override { return bytes_; }

 private:
  CudaDevice& device_;
  std::byte* address_ = nullptr;
  size_t bytes_;
};

}  // namespace vernier::cuda
