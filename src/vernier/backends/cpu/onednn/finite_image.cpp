#include <atomic>

#include "vernier/backends/cpu/onednn/convolution.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/exec/kernel_decorator.h"
#include "vernier/exec/scratch.h"

namespace vernier::cpu {

namespace {

bool is_finite(const uint16_t* bits, int64_t count) {
  constexpr uint16_t kExponent = 0x7F80;
  constexpr int64_t kGrain = 1 << 16;
  std::atomic<bool> finite = true;
  parallel(count, kGrain, [&](int64_t begin, int64_t end) {
    uint16_t found = 0;
    for (int64_t i = begin; i < end; ++i)
      found = static_cast<uint16_t>(found | ((bits[i] & kExponent) == kExponent ? 1 : 0));
    if (found != 0) finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

class FiniteImage : public KernelDecorator {
 public:
  FiniteImage(std::unique_ptr<Kernel> kernel, std::unique_ptr<Kernel> exact, int x, int64_t count)
      : KernelDecorator(std::move(kernel)), exact_(std::move(exact)), x_(x), count_(count) {
    scratch_bytes = inner_->scratch_bytes;
    in_place = inner_->in_place;
  }

  bool reads(size_t input) const override { return inner_->reads(input) || exact_->reads(input); }

  void run(const KernelArguments& arguments) const override {
    if (is_finite(static_cast<const uint16_t*>(arguments.inputs[x_]), count_)) return inner_->run(arguments);
    Scratch scratch;
    exact_->run({arguments.inputs, arguments.outputs, scratch.at_least(exact_->scratch_bytes)});
  }

 private:
  std::unique_ptr<Kernel> exact_;
  int x_;
  int64_t count_;
};

}  // namespace

std::unique_ptr<Kernel> where_finite(std::unique_ptr<Kernel> kernel, std::unique_ptr<Kernel> exact,
                                     const KernelRequest& request, int x) {
  const Operand& image = request.in(static_cast<size_t>(x));
  return std::make_unique<FiniteImage>(std::move(kernel), std::move(exact), x,
                                       element_count(image.memory_dims()));
}

}  // namespace vernier::cpu
