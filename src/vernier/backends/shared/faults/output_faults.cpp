#include "vernier/backends/shared/faults/output_faults.h"

#include <cstring>
#include <mutex>

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
        dims_(physical_dims(request.out().dims, request.out().layout)) {}

  void run(const KernelArguments& arguments) const override {
    Tensor right(element_, dims_);
    run_inner(arguments, outputs_, right.mutable_raw());
    spoil(right, static_cast<std::byte*>(arguments.outputs[0]));
  }

 protected:
  virtual void spoil(const Tensor& right, std::byte* output) const = 0;

  Fault fault_;
  size_t outputs_;
  ElementType element_;
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
    if (!left_.is_defined()) left_ = Tensor(element_, dims_);
    const int64_t fresh = fault_ == Fault::kStaleBuffer ? 0 : right.size() / 2;
    const size_t bytes = static_cast<size_t>(fresh) * element_size(element_);
    std::memcpy(output, right.raw(), bytes);
    std::memcpy(output + bytes, left_.bytes().data() + bytes, left_.byte_size() - bytes);
    left_ = right;
  }

 private:
  mutable std::mutex mutex_;
  mutable Tensor left_;
};

class SwappedAxis : public SpoiledOutput {
 public:
  using SpoiledOutput::SpoiledOutput;

 protected:
  void spoil(const Tensor& right, std::byte* output) const override {
    const auto columns = static_cast<size_t>(dims_.back()), rows = static_cast<size_t>(dims_.end()[-2]);
    const size_t size = element_size(element_), matrix = rows * columns * size;
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
  if (fault != Fault::kSwappedAxis) return fault == Fault::kStaleBuffer || fault == Fault::kMissedSync;
  const Dims dims = physical_dims(request.out().dims, request.out().layout);
  return dims.size() >= 2 && dims.back() > 1 && dims.end()[-2] > 1;
}

std::unique_ptr<Kernel> spoil_output(Fault fault, const KernelRequest& request,
                                     std::unique_ptr<Kernel> kernel) {
  if (fault == Fault::kSwappedAxis) return std::make_unique<SwappedAxis>(request, std::move(kernel), fault);
  return std::make_unique<StaleOutput>(request, std::move(kernel), fault);
}

}  // namespace vernier
