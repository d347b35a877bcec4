// Cube of floats.
#include "vernier/backends/cpu/kernel_registry.h"

namespace vernier::cpu {

namespace {

class CubeKernel : public Kernel {
 public:
  explicit CubeKernel(int64_t size) : size_(size) {
    name = "cpu:cube";
    contract.computed = contract.stored = ElementType::kFloat;
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    for (int64_t i = 0; i < size_; ++i) y[i] = x[i] * x[i] * x[i];
  }

 private:
  int64_t size_;
};

std::unique_ptr<Kernel> make_cube(const KernelRequest& request, std::string& reason) {
  if (request.in(0).element == ElementType::kFloat) return std::make_unique<CubeKernel>(request.out().size());
  reason = "not of floats";
  return nullptr;
}

}  // namespace

void register_cube_kernel(KernelRegistry& registry) {
  registry.add({"com.example", "Cube", LayoutRule::kPlain, Priority::kNarrow, make_cube});
}

}  // namespace vernier::cpu
