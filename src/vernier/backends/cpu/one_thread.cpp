#include "vernier/backends/cpu/one_thread.h"

#include "vernier/backends/cpu/parallel.h"
#include "vernier/exec/kernel_decorator.h"

namespace vernier::cpu {

namespace {

class OneThreadKernel : public KernelDecorator {
 public:
  explicit OneThreadKernel(std::unique_ptr<Kernel> inner) : KernelDecorator(std::move(inner)) {
    name += ", one thread";
    scratch_bytes = inner_->scratch_bytes;
    in_place = inner_->in_place;
  }
  void run(const KernelArguments& arguments) const override {
    const ThreadLimit scope(1);
    inner_->run(arguments);
  }
  void measure(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    const ThreadLimit scope(1);
    inner_->measure(arguments, sizes);
  }
  void prepare() const override {
    const ThreadLimit scope(1);
    inner_->prepare();
  }
  bool reads(size_t input) const override { return inner_->reads(input); }
};

}  // namespace

std::unique_ptr<Kernel> make_one_thread(
    const KernelRequest& request, std::string& reason,
    const std::function<std::unique_ptr<Kernel>(const KernelRequest&, std::string&)>& make) {
  const ThreadLimit scope(1);
  KernelRequest own = request;
  own.tactic = {};
  auto kernel = make(own, reason);
  return kernel ? std::make_unique<OneThreadKernel>(std::move(kernel)) : nullptr;
}

}  // namespace vernier::cpu
