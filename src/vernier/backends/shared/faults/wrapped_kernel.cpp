#include <cstring>

#include "vernier/backends/shared/faults/fault_kernels.h"

namespace vernier {

namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

WrappedKernel::WrappedKernel(std::unique_ptr<Kernel> inner, Mover mover, Fault fault)
    : KernelDecorator(std::move(inner)), mover_(std::move(mover)) {
  name = fmt::format("{} (fault: {})", inner_->name, fault_name(fault));
  scratch_bytes = std::max(inner_->scratch_bytes, mover_.kernel ? mover_.kernel->scratch_bytes : 0);
}

void WrappedKernel::prepare() const {
  inner_->prepare();
  if (mover_.kernel) mover_.kernel->prepare();
}

bool WrappedKernel::is_prepared() const {
  return inner_->is_prepared() && (!mover_.kernel || mover_.kernel->is_prepared());
}

void WrappedKernel::add_payloads(Payloads& to) const {
  inner_->add_payloads(to);
  if (mover_.kernel) mover_.kernel->add_payloads(to);
}

void WrappedKernel::reserve(size_t bytes) {
  reserved_at_ = aligned(scratch_bytes);
  scratch_bytes = reserved_at_ + bytes;
}

void WrappedKernel::run_inner(const KernelArguments& arguments, size_t outputs, void* output) const {
  std::vector<void*> to(arguments.outputs, arguments.outputs + outputs);
  to.at(0) = output;
  inner_->run({arguments.inputs, to.data(), arguments.scratch, arguments.stream});
}

void WrappedKernel::move(const KernelArguments& arguments, const void* from, void* to) const {
  mover_.kernel->run({&from, &to, arguments.scratch, arguments.stream});
}

void copy(const KernelArguments& arguments, const void* from, void* to, size_t bytes) {
  if (bytes == 0) return;
  if (arguments.stream != nullptr) return arguments.stream->copy(from, to, bytes);
  std::memcpy(to, from, bytes);
}

}  // namespace vernier
