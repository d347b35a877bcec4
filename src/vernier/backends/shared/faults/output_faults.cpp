#include <unistd.h>

#include <csignal>
#include <cstring>
#include <mutex>

#include "vernier/backends/shared/faults/fault_kernels.h"

namespace vernier {

namespace {

// What the sound kernel would have written, as it lies in memory.
class SpoiledOutput : public WrappedKernel {
 public:
  SpoiledOutput(const KernelRequest& request, std::unique_ptr<Kernel> inner, Fault fault)
      : WrappedKernel(std::move(inner), fault),
        fault_(fault),
        outputs_(request.outputs.size()),
        element_(request.out().element),
        open_sizes_(request.open_sizes),
        dims_(request.out().memory_dims()) {}

  void run(const KernelArguments& arguments) const override {
    Tensor right(element_, sizes(arguments));
    run_inner(arguments, outputs_, right.mutable_raw());
    spoil(right, static_cast<std::byte*>(arguments.outputs[0]));
  }

 protected:
  virtual void spoil(const Tensor& right, std::byte* output) const = 0;

  Fault fault_;

 private:
  // In memory; what is open is measured again.
  Dims sizes(const KernelArguments& arguments) const {
    if (!open_sizes_) return dims_;
    std::vector<Dims> measured(outputs_);
    inner_->measure({arguments.inputs, nullptr, arguments.scratch}, measured);
    return measured[0];
  }

  size_t outputs_;
  ElementType element_;
  bool open_sizes_;
  Dims dims_;
};

// From some element on, what the run before made: of the whole output, or of a part that was not waited for.
// Many sessions share a kernel, so they share what it left, too. Whatever lies in the memory would do as
// well, but might happen to be right.
class StaleOutput : public SpoiledOutput {
 public:
  using SpoiledOutput::SpoiledOutput;

 protected:
  void spoil(const Tensor& right, std::byte* output) const override {
    const std::lock_guard lock(mutex_);
    const int64_t fresh = fault_ == Fault::kStaleBuffer ? 0 : right.size() / 2;
    const size_t begin = static_cast<size_t>(fresh) * element_size(right.type()), end = right.byte_size();
    // Zeros where nothing was left: in the first run, or by a smaller one.
    if (left_.size() < end) left_.resize(end);
    std::copy_n(static_cast<const std::byte*>(right.raw()), begin, output);
    std::copy_n(left_.data() + begin, end - begin, output + begin);
    std::copy_n(static_cast<const std::byte*>(right.raw()), end, left_.data());
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::byte> left_;
};

class SwappedAxis : public SpoiledOutput {
 public:
  using SpoiledOutput::SpoiledOutput;

 protected:
  void spoil(const Tensor& right, std::byte* output) const override {
    const Dims& dims = right.dims();
    const auto columns = static_cast<size_t>(dims.back()), rows = static_cast<size_t>(dims.end()[-2]);
    const size_t size = element_size(right.type()), matrix = rows * columns * size;
    const auto* from = static_cast<const std::byte*>(right.raw());
    for (size_t at = 0; at < right.byte_size(); at += matrix) {
      for (size_t i = 0; i < rows * columns; ++i)
        std::memcpy(output + at + (i % columns * rows + i / columns) * size, from + at + i * size, size);
    }
  }
};

}  // namespace

bool spoils_output(Fault fault, const KernelRequest& request) {
  if (!request.wants(0) || request.out().size() == 0) return false;
  // Of open sizes it is not known whether there are two axes to swap.
  if (fault != Fault::kSwappedAxis || request.open_sizes)
    return fault == Fault::kStaleBuffer || fault == Fault::kMissedSync;
  const Dims dims = request.out().memory_dims();
  return dims.size() >= 2 && dims.back() > 1 && dims.end()[-2] > 1;
}

std::unique_ptr<Kernel> spoil_output(Fault fault, const KernelRequest& request,
                                     std::unique_ptr<Kernel> kernel) {
  if (fault == Fault::kSwappedAxis) return std::make_unique<SwappedAxis>(request, std::move(kernel), fault);
  return std::make_unique<StaleOutput>(request, std::move(kernel), fault);
}

namespace {

class StoppingKernel : public WrappedKernel {
 public:
  StoppingKernel(std::unique_ptr<Kernel> inner, Fault fault)
      : WrappedKernel(std::move(inner), fault), fault_(fault) {}

  void run(const KernelArguments& /*arguments*/) const override {
    if (fault_ == Fault::kCrash) std::raise(SIGSEGV);
    for (;;) ::pause();
  }

 private:
  Fault fault_;
};

}  // namespace

std::unique_ptr<Kernel> stop_process(Fault fault, std::unique_ptr<Kernel> kernel) {
  return std::make_unique<StoppingKernel>(std::move(kernel), fault);
}

}  // namespace vernier
