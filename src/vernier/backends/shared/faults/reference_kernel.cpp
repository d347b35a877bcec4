#include <cstring>

#include "vernier/backends/shared/faults/fault_kernels.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier {

namespace {

class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(std::shared_ptr<ChangedRequest> request)
      : source_(std::move(request)), request_(source_->request()) {
    name = "reference:" + request_.node.op;
    contract.computed = ElementType::kDouble;
    contract.stored = request_.out().element;
  }

  void run(const KernelArguments& arguments) const override {
    std::vector<Datum> data(request_.inputs.size());
    std::vector<const Datum*> inputs(data.size(), nullptr);
    std::vector<ElementType> declared(data.size(), ElementType::kUndefined);
    for (size_t i = 0; i < data.size(); ++i) {
      if (!request_.has(i)) continue;
      const Operand& operand = request_.in(i);
      data[i] = Tensor::borrow(operand.element, operand.dims, arguments.inputs[i], nullptr);
      inputs[i] = &data[i];
      declared[i] = operand.element;
    }
    std::vector<ops::ValueInfo> outputs(request_.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (request_.wants(i))
        outputs[i].type = ValueType::of(request_.out(i).element, to_shape(request_.out(i).dims));
    }
    ops::ReferenceContext context(request_.node, ops::ReferenceMode::kDeclared, std::move(inputs),
                                  std::move(declared), std::move(outputs));
    ops::OpRegistry::instance().require(request_.node).reference(context);
    for (size_t i = 0; i < request_.outputs.size(); ++i) {
      if (!request_.wants(i)) continue;
      const auto bytes = context.results()[i].as_tensor().bytes();
      if (!bytes.empty()) std::memcpy(arguments.outputs[i], bytes.data(), bytes.size());
    }
  }

 private:
  std::shared_ptr<ChangedRequest> source_;
  const KernelRequest& request_;
};

}  // namespace

std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<ChangedRequest> changed, std::string& reason) {
  const KernelRequest& request = changed->request();
  const auto is_image = [](const std::optional<Operand>& operand) {
    return operand && operand->layout != Layout::kPlain;
  };
  if (ops::is_group(request.node) || !request.wants(0) || request.open_sizes ||
      std::any_of(request.inputs.begin(), request.inputs.end(), is_image) ||
      std::any_of(request.outputs.begin(), request.outputs.end(), is_image)) {
    reason = "a fault is put into a node without a kernel";
    return nullptr;
  }
  return std::make_unique<ReferenceKernel>(std::move(changed));
}

}  // namespace vernier
