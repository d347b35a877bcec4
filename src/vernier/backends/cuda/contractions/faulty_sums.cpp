#include "vernier/backends/cuda/contractions/faulty_sums.h"

#include "vernier/backends/cuda/kernel_registry.h"

namespace vernier::cuda {

namespace {

// As kernels/joined.cu numbers them.
const char* number_of(Fault fault) {
  switch (fault) {
    case Fault::kAccumulation: return "1";
    case Fault::kFp16Accumulator: return "2";
    case Fault::kTf32: return "3";
    default: throw internal_error("{} is no fault of sums", fault_name(fault));
  }
}

}  // namespace

std::unique_ptr<CudaKernel> make_faulty_sums(Fault fault, const KernelRequest& request, std::string& reason) {
  auto kernel = make_own_kernel(request, reason);
  if (!kernel) return nullptr;
  kernel->define("SUM_FAULT", number_of(fault));
  kernel->name += fmt::format(" (fault: {})", fault_name(fault));
  return kernel;
}

}  // namespace vernier::cuda
