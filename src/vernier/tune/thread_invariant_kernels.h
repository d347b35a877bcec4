// Kernels whose bits do not depend on the number of threads (`--deterministic`).
#pragma once

#include <map>
#include <mutex>

#include "vernier/exec/backend_decorator.h"

namespace vernier {

// A library may split sums among threads, or choose another order of them for another number. So what a
// kernel yields on drawn data is compared with what it yields where there is one thread: the same bits, or
// the kernel with one thread is taken instead (kOneThreadTactic). All numbers of threads thus agree with one,
// and with each other. Other tactics are not taken: which one would depend on what was measured.
class ThreadInvariantKernels : public BackendDecorator {
 public:
  // `kernels` outlives this; `threads` gives the number of threads that kernels are made for now.
  ThreadInvariantKernels(const Backend& kernels, int (*threads)())
      : BackendDecorator(kernels), threads_(threads) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  std::vector<std::string> tactics(const KernelRequest& request) const override;

  // kOneThreadTactic where make() takes that, else "": with this choice the source itself makes what make()
  // makes, so a plan that records it need not be compared again.
  std::string choice(const KernelRequest& request) const;

 private:
  enum class Finding : uint8_t { kSame, kDiffers, kRefusedByOne, kRefused };

  Finding find(const KernelRequest& request) const;
  Finding compare(const KernelRequest& request) const;
  bool differs_before_rounding(const KernelRequest& request, const Kernel& alone,
                               const Kernel& together) const;

  int (*threads_)();
  mutable std::mutex mutex_;
  mutable std::map<std::pair<int, std::string>, Finding> found_;  // by threads and request_key
};

}  // namespace vernier
