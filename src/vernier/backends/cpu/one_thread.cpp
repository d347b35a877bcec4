#include "vernier/backends/cpu/one_thread.h"

#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

class OneThreadKernel : public Kernel {
 public:
  explicit OneThreadKernel(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {
    name = inner_->name + ", one thread";
    contract = inner_->contract;
    scratch_bytes = inner_->scratch_bytes;
    in_place = inner_->in_place;
  }
  void run(const KernelArguments& arguments) const override {
    const ThreadScope scope(1);
    inner_->run(arguments);
  }
  bool reads(size_t input) const override { return inner_->reads(input); }

 private:
  std::unique_ptr<Kernel> inner_;
};

}  // namespace

std::unique_ptr<Kernel> make_one_thread(
    const KernelRequest& request, std::string& reason,
    const std::function<std::unique_ptr<Kernel>(const KernelRequest&, std::string&)>& make) {
  const ThreadScope scope(1);
  KernelRequest own = request;
  own.tactic = {};
  auto kernel = make(own, reason);
  return kernel ? std::make_unique<OneThreadKernel>(std::move(kernel)) : nullptr;
}

}  // namespace vernier::cpu
