#include "vernier/exec/node_runner.h"

#include "vernier/exec/program_run.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier {

namespace {

using ops::ValueInfo;

// Contents that kernels look at when they are made (axes, sizes, bounds) are never larger.
constexpr int64_t kMaxContent = 64;

bool is_small_content(const Tensor& tensor) {
  return tensor.size() <= kMaxContent && (is_integer(tensor.type()) || tensor.type() == ElementType::kBool);
}

ValueInfo info_of(const Value& value, const Datum& datum) {
  ValueInfo info;
  info.type = value.type;
  if (!datum.is_tensor()) return info;
  const Tensor& tensor = datum.tensor;
  info.type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
  info.constant = tensor;
  if (tensor.rank() <= 1 && tensor.size() <= ops::kMaxFollowedElements &&
      (is_integer(tensor.type()) || tensor.type() == ElementType::kBool))
    info.dims = to_shape(tensor.to_ints());
  return info;
}

// The node at the sizes at hand, if all operands are tensors of known sizes.
std::optional<KernelRequest> request_for(const Node& node, const std::vector<const Datum*>& inputs,
                                         const std::vector<ValueInfo>& outputs) {
  KernelRequest request{node, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      request.inputs.emplace_back(std::nullopt);
      continue;
    }
    if (!inputs[i]->is_tensor() || inputs[i]->tensor.type() == ElementType::kString) return std::nullopt;
    const Tensor& tensor = inputs[i]->tensor;
    const bool known = is_small_content(tensor) || node.inputs[i]->is_constant();
    request.inputs.push_back(
        Operand{tensor.type(), tensor.dims(), Layout::kPlain, known ? &tensor : nullptr});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] == nullptr) {
      request.outputs.emplace_back(std::nullopt);
      continue;
    }
    const ValueType& type = outputs[i].type;
    const auto dims = type.is_tensor() && type.tensor.shape ? to_dims(*type.tensor.shape) : std::nullopt;
    if (!dims || type.tensor.element == ElementType::kString) return std::nullopt;
    request.outputs.push_back(Operand{type.tensor.element, *dims, Layout::kPlain, nullptr});
  }
  return request;
}

std::vector<int64_t> key_of(const KernelRequest& request) {
  std::vector<int64_t> key;
  for (const auto& input : request.inputs) {
    key.push_back(input ? input->rank() : -1);
    if (!input) continue;
    key.push_back(static_cast<int64_t>(input->element));
    key.insert(key.end(), input->dims.begin(), input->dims.end());
    if (input->constant == nullptr || !is_small_content(*input->constant)) continue;
    const auto content = input->constant->to_ints();
    key.insert(key.end(), content.begin(), content.end());
  }
  return key;
}

}  // namespace

class NodeRunner::Context : public ops::ReferenceContext {
 public:
  using ReferenceContext::ReferenceContext;
  std::function<std::vector<Datum>(const Graph&, std::vector<Datum>)> region;
  std::vector<Datum> run_region(const Graph& graph, std::vector<Datum> inputs) override {
    return region(graph, std::move(inputs));
  }
};

NodeRunner::NodeRunner(const KernelSource& kernels) : kernels_(kernels) {}
NodeRunner::~NodeRunner() = default;

size_t NodeRunner::bytes() const {
  size_t total = scratch_.bytes();
  for (const auto& region : regions_) total += region.second ? region.second->bytes() : 0;
  return total;
}

const Kernel* NodeRunner::kernel_for(const Plan& plan, const KernelRequest& request) {
  auto key = std::make_tuple(plan.id, &request.node, key_of(request));
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second.get();
  if (kept_.size() >= kMaxKept) kept_.clear();
  std::string reason;
  return (kept_[std::move(key)] = kernels_.make(request, reason)).get();
}

std::vector<Datum> NodeRunner::run_region(const Plan& plan, const Graph& region, std::vector<Datum> inputs,
                                          const std::atomic<bool>* stop) {
  const auto program = plan.regions.find(&region);
  if (program == plan.regions.end()) throw internal_error("region '{}' was not compiled", region.name);
  auto& run = regions_[program->second];
  if (!run) run = std::make_unique<ProgramRun>(*program->second);
  return run->run(inputs, {.stop = stop});
}

std::vector<Datum> NodeRunner::run(const Plan& plan, const Step& step,
                                   const std::vector<const Datum*>& inputs, const Captured& captured,
                                   const std::atomic<bool>* stop) {
  const Node& node = *step.node;
  try {
    const ops::OpDef& def = ops::OpRegistry::instance().require(node);
    std::vector<ValueInfo> infos(inputs.size());
    std::vector<const ValueInfo*> known;
    std::vector<ElementType> declared;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != nullptr) infos[i] = info_of(*node.inputs[i], *inputs[i]);
      known.push_back(inputs[i] == nullptr ? nullptr : &infos[i]);
      declared.push_back(infos[i].type.is_tensor() ? infos[i].type.tensor.element : ElementType::kUndefined);
    }
    ops::InferContext inference(node, std::move(known));
    def.infer(inference);
    if (const auto request = request_for(node, inputs, inference.outputs())) {
      if (const Kernel* kernel = kernel_for(plan, *request)) {
        std::vector<const void*> from;
        std::vector<void*> to;
        std::vector<Datum> results(node.outputs.size());
        for (const Datum* input : inputs) from.push_back(input == nullptr ? nullptr : input->tensor.raw());
        for (size_t i = 0; i < results.size(); ++i) {
          if (request->wants(i)) results[i] = Tensor(request->out(i).element, request->out(i).dims);
          to.push_back(request->wants(i) ? results[i].tensor.mutable_raw() : nullptr);
        }
        kernel->run({from.data(), to.data(), scratch_.at_least(kernel->scratch_bytes)});
        return results;
      }
    }
    Context context(node, ops::ReferenceMode::kDeclared, inputs, std::move(declared), inference.outputs());
    context.region = [&](const Graph& region, std::vector<Datum> arguments) {
      if (const auto found = captured.find(&region); found != captured.end())
        arguments.insert(arguments.end(), found->second.begin(), found->second.end());
      return run_region(plan, region, std::move(arguments), stop);
    };
    def.reference(context);
    return std::move(context.results());
  } catch (Error& error) {
    throw error.at_node(node.name);
  }
}

}  // namespace vernier
