#include "vernier/backends/shared/faults/process_faults.h"

#include <unistd.h>

#include <csignal>

namespace vernier {

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
