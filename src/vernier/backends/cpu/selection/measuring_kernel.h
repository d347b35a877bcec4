// Kernels that find out how large their outputs are (Kernel::measures), of any operator whose sizes follow
// from what its inputs hold.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

class MeasuringKernel : public Kernel {
 public:
  bool measures() const override { return open_sizes_; }
  void measure(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    find(arguments);
    set_sizes(arguments, sizes);
  }
  void run(const KernelArguments& arguments) const override {
    if (!open_sizes_) find(arguments);
    write(arguments);
  }

 protected:
  explicit MeasuringKernel(const KernelRequest& request) : open_sizes_(request.open_sizes) {}

  // Leaves in scratch what the other two need.
  virtual void find(const KernelArguments& arguments) const = 0;
  virtual void set_sizes(const KernelArguments& arguments, std::span<Dims> sizes) const = 0;
  virtual void write(const KernelArguments& arguments) const = 0;

 private:
  bool open_sizes_;
};

}  // namespace vernier::cpu
