#include "vernier/backends/mirror/driver.h"

#include "vernier/exec/device/host_device.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier::mirror {

namespace {

// Memory and streams are those of the host, under a name of its own.
class MirrorDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  bool host_visible() const override { return true; }
  std::unique_ptr<Buffer> allocate(size_t bytes) override { return host_device().allocate(bytes); }
  std::unique_ptr<Stream> stream() override { return host_device().stream(); }
  int stream_count() const override { return 1; }

 private:
  std::string name_ = "mirror";
};

class MirrorKernel : public Kernel {
 public:
  explicit MirrorKernel(const KernelRequest& request)
      : node_(request.node), inputs_(request.inputs), outputs_(request.outputs) {
    name = "mirror:" + node_.op;
    contract.computed = ElementType::kDouble;
    contract.stored = request.out().element;
  }

  void run(const KernelArguments& arguments) const override {
    std::vector<Tensor> tensors(inputs_.size());
    std::vector<const Tensor*> operands(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i]) continue;
      tensors[i] = Tensor::borrow(inputs_[i]->element, inputs_[i]->dims, arguments.inputs[i], nullptr);
      operands[i] = &tensors[i];
    }
    const auto results = ops::evaluate(node_, operands);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i]) continue;
      const Tensor& result = results.at(i).tensor;
      const size_t bytes = static_cast<size_t>(result.size()) * element_size(result.type());
      std::copy_n(static_cast<const std::byte*>(result.raw()), bytes,
                  static_cast<std::byte*>(arguments.outputs[i]));
    }
  }

 private:
  const Node& node_;
  std::vector<std::optional<Operand>> inputs_, outputs_;
};

class MirrorBackend : public FaultableBackend {
 public:
  Device& device() const override { return device_; }
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    const auto* def = ops::OpRegistry::instance().find(request.node);
    const auto is_number = [](const std::optional<Operand>& operand) {
      return !operand || operand->element != ElementType::kString;
    };
    const bool serves = def != nullptr && !ops::is_group(request.node) && request.node.regions.empty() &&
                        !request.open_sizes && request.wants(0) &&
                        std::all_of(request.inputs.begin(), request.inputs.end(), is_number) &&
                        std::all_of(request.outputs.begin(), request.outputs.end(), is_number);
    if (serves) return std::make_unique<MirrorKernel>(request);
    reason = "it is no operator on numbers of known sizes";
    return nullptr;
  }
  void choose_layouts(KernelRequest& request) const override {
    for (auto* operands : {&request.inputs, &request.outputs}) {
      for (auto& operand : *operands) {
        if (operand) operand->layout = Layout::kPlain;
      }
    }
  }
  std::unique_ptr<Kernel> reorder(const Operand& /*from*/, Layout /*to*/) const override {
    throw internal_error("the mirror has plain tensors alone");
  }
  std::optional<FaultSpec> applied_fault() const override { return std::nullopt; }

 private:
  mutable MirrorDevice device_;
};

class MirrorDriver : public Driver {
 public:
  const std::string& name() const override { return name_; }
  std::string instruction_sets() const override { return "none"; }
  std::string library_versions() const override { return "the reference"; }
  bool computes_bf16() const override { return false; }
  GroupTraits group_traits() const override { return {}; }
  const std::set<std::string>& tactic_names() const override { return tactics_; }
  std::set<std::string> approximate_tactics() const override { return {}; }
  std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault) const override {
    if (fault) throw unsupported("the mirror puts no fault into its kernels");
    return std::make_unique<MirrorBackend>();
  }

 private:
  std::string name_ = "mirror";
  std::set<std::string> tactics_;
};

}  // namespace

const AcceleratorKind& accelerator_kind() {
  static const AcceleratorKind kind{
      "mirror", "number", "a device that computes what the host would", {}, [](const auto& /*options*/) {
        return std::shared_ptr<const Driver>(std::make_shared<MirrorDriver>());
      }};
  return kind;
}

}  // namespace vernier::mirror
