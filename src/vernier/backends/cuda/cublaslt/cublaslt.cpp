#include "vernier/backends/cuda/cublaslt/cublaslt.h"

#include "vernier/base/error.h"

namespace vernier::cuda {

LtHandle CublasLt::handle(std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr && missing_.empty()) {
    missing_ = library_.found().missing;
    if (missing_.empty()) {
      context_.use();
      const LtStatus status = api().create(&handle_);
      if (status != kLtSuccess) {
        handle_ = nullptr;
        missing_ = fmt::format("cuBLASLt does not serve this GPU: {}", api().status_name(status));
      }
    }
  }
  reason = missing_;
  return handle_;
}

void CublasLt::check(LtStatus status, std::string_view what) const {
  if (status != kLtSuccess) throw internal_error("cuBLASLt: {}: {}", what, api().status_name(status));
}

}  // namespace vernier::cuda
