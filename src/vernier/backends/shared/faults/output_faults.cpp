#include <unistd.h>

#include <csignal>
#include <mutex>
#include <numeric>

#include "vernier/backends/shared/faults/fault_kernels.h"

namespace vernier {

namespace {

// Spoils what the sound kernel would have written, as it lies in memory.
class SpoiledOutput : public WrappedKernel {
 public:
  SpoiledOutput(const FaultPlace& place, std::unique_ptr<Kernel> inner, Mover mover)
      : WrappedKernel(std::move(inner), std::move(mover), place.kind),
        outputs_(place.request.outputs.size()),
        element_(place.request.out().element),
        open_sizes_(place.request.open_sizes) {
    if (open_sizes_) return;
    bytes_ = static_cast<size_t>(element_count(place.request.out().memory_dims())) * element_size(element_);
    reserve(bytes_);
  }

  void run(const KernelArguments& arguments) const override {
    if (open_sizes_) return run_measured(arguments);
    std::byte* right = reserved(arguments);
    run_inner(arguments, outputs_, right);
    spoil(arguments, right, bytes_);
  }

 protected:
  virtual void spoil(const KernelArguments& arguments, const std::byte* right, size_t bytes) const = 0;
  size_t element_bytes() const { return element_size(element_); }

 private:
  // Sizes are open on the host alone.
  void run_measured(const KernelArguments& arguments) const {
    std::vector<Dims> measured(outputs_);
    inner_->measure({arguments.inputs, nullptr, arguments.scratch}, measured);
    Tensor right(element_, measured[0]);
    run_inner(arguments, outputs_, right.mutable_raw());
    spoil(arguments, static_cast<const std::byte*>(right.raw()), right.byte_size());
  }

  size_t outputs_;
  ElementType element_;
  bool open_sizes_;
  size_t bytes_ = 0;
};

// From some element on, what the run before made: of the whole output, or of a part that was not waited for.
// Many sessions share a kernel, so they share what it left, too. Whatever lies in the memory would do as
// well, but might happen to be right.
class StaleOutput : public SpoiledOutput {
 public:
  StaleOutput(const FaultPlace& place, std::unique_ptr<Kernel> inner)
      : SpoiledOutput(place, std::move(inner), {}), fault_(place.kind), device_(place.device) {}

 protected:
  void spoil(const KernelArguments& arguments, const std::byte* right, size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    if (zeros_.size() < bytes) grow(arguments, bytes);
    const size_t begin = fault_ == Fault::kStaleBuffer ? 0 : bytes / element_bytes() / 2 * element_bytes();
    auto* output = static_cast<std::byte*>(arguments.outputs[0]);
    copy(arguments, right, output, begin);
    copy(arguments, left_->address() + begin, output + begin, bytes - begin);
    copy(arguments, right, left_->address(), bytes);
  }

 private:
  // There are zeros where nothing was left: in the first run, or by a smaller one.
  void grow(const KernelArguments& arguments, size_t bytes) const {
    auto larger = device_.allocate(bytes);
    const size_t before = zeros_.size();
    zeros_.resize(bytes);
    copy(arguments, zeros_.data(), larger->address(), bytes);
    if (left_) copy(arguments, left_->address(), larger->address(), before);
    std::swap(left_, larger);
    if (arguments.stream != nullptr && larger) arguments.stream->release(std::move(larger));
  }

  const Fault fault_;
  Device& device_;
  mutable std::mutex mutex_;
  mutable std::vector<std::byte> zeros_;  // as many as are left
  mutable std::unique_ptr<Buffer> left_;
};

class SwappedAxis : public SpoiledOutput {
 public:
  using SpoiledOutput::SpoiledOutput;

 protected:
  void spoil(const KernelArguments& arguments, const std::byte* right, size_t /*bytes*/) const override {
    move(arguments, right, arguments.outputs[0]);
  }
};

}  // namespace

bool spoils_output(Fault fault, const KernelRequest& request) {
  if (!request.wants(0) || request.out().size() == 0) return false;
  // Open sizes do not tell whether there are two axes to swap.
  if (fault != Fault::kSwappedAxis || request.open_sizes)
    return fault == Fault::kStaleBuffer || fault == Fault::kMissedSync;
  const Dims dims = request.out().memory_dims();
  return dims.size() >= 2 && dims.back() > 1 && dims.end()[-2] > 1;
}

std::shared_ptr<ChangedRequest> swap_request(const KernelRequest& request) {
  const Dims dims = request.out().memory_dims();
  std::vector<int64_t> axes(dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.back(), axes.end()[-2]);
  Dims swapped = dims;
  std::swap(swapped.back(), swapped.end()[-2]);
  return ChangedRequest::of_a_move("Transpose", {{"perm", Attribute(axes)}}, request.out().element, dims,
                                   swapped);
}

std::unique_ptr<Kernel> spoil_output(const FaultPlace& place, std::unique_ptr<Kernel> kernel,
                                     Mover transpose) {
  if (place.kind == Fault::kSwappedAxis)
    return std::make_unique<SwappedAxis>(place, std::move(kernel), std::move(transpose));
  return std::make_unique<StaleOutput>(place, std::move(kernel));
}

namespace {

class StoppingKernel : public WrappedKernel {
 public:
  StoppingKernel(std::unique_ptr<Kernel> inner, Fault fault)
      : WrappedKernel(std::move(inner), {}, fault), fault_(fault) {}

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
