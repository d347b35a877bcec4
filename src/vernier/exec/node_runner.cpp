#include "vernier/exec/node_runner.h"

#include "vernier/exec/program_run.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier {

namespace {

using ops::ValueInfo;

// Contents that kernels look at when they are made (axes, sizes, scales, bounds) are never larger.
constexpr int64_t kMaxContent = 64;

bool is_small_content(const Tensor& tensor) {
  return tensor.size() <= kMaxContent && tensor.type() != ElementType::kString &&
         element_bits(tensor.type()) >= 8;
}

// What is known of an input: its sizes, and its content if it is constant or `with_content`.
ValueInfo info_of(const Value& value, const Datum& datum, bool with_content) {
  ValueInfo info;
  info.type = value.type;
  if (!datum.is_tensor()) return info;
  const Tensor& tensor = datum.tensor;
  info.type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
  if (!with_content && !value.is_constant()) return info;
  info.constant = tensor;
  if (tensor.rank() <= 1 && tensor.size() <= ops::kMaxFollowedElements &&
      (is_integer(tensor.type()) || tensor.type() == ElementType::kBool))
    info.dims = to_shape(tensor.to_ints());
  return info;
}

// The node at the sizes at hand, if all operands are tensors of known sizes.
std::optional<KernelRequest> request_for(const Node& node, const std::vector<const Datum*>& inputs,
                                         const std::vector<ValueInfo>& outputs, bool with_content) {
  KernelRequest request{node, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      request.inputs.emplace_back(std::nullopt);
      continue;
    }
    if (!inputs[i]->is_tensor() || inputs[i]->tensor.type() == ElementType::kString) return std::nullopt;
    const Tensor& tensor = inputs[i]->tensor;
    const bool known = node.inputs[i]->is_constant() || (with_content && is_small_content(tensor));
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

// Kinds, types and sizes of the inputs, and small contents `with_content`.
void set_key(std::vector<int64_t>& key, const Node& node, const std::vector<const Datum*>& inputs,
             bool with_content) {
  key.assign(1, with_content ? 1 : 0);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !inputs[i]->is_tensor()) {
      key.push_back(-1);
      continue;
    }
    const Tensor& tensor = inputs[i]->tensor;
    key.push_back(tensor.rank());
    key.push_back(static_cast<int64_t>(tensor.type()));
    key.insert(key.end(), tensor.dims().begin(), tensor.dims().end());
    if (!with_content || node.inputs[i]->is_constant() || !is_small_content(tensor)) continue;
    const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
    key.insert(key.end(), bytes, bytes + tensor.byte_size());
  }
}

// Sizes of outputs may follow from contents that are not small.
void add_outputs(const KernelRequest& request, std::vector<int64_t>& key) {
  for (const auto& output : request.outputs) {
    if (output) key.insert(key.end(), output->dims.begin(), output->dims.end());
  }
}

// What inference makes of a node at the sizes at hand.
struct Inferred {
  std::vector<ValueInfo> inputs, outputs;
  std::vector<ElementType> declared;

  Inferred(const Node& node, const ops::OpDef& def, const std::vector<const Datum*>& data, bool with_content)
      : inputs(data.size()) {
    std::vector<const ValueInfo*> known;
    for (size_t i = 0; i < data.size(); ++i) {
      if (data[i] != nullptr) inputs[i] = info_of(*node.inputs[i], *data[i], with_content);
      known.push_back(data[i] == nullptr ? nullptr : &inputs[i]);
      const ValueType& type = inputs[i].type;
      declared.push_back(type.is_tensor() ? type.tensor.element : ElementType::kUndefined);
    }
    ops::InferContext context(node, std::move(known));
    def.infer(context);
    outputs = std::move(context.outputs());
  }
};

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
  size_t total = scratch_.bytes() + region_arena_.bytes();
  for (const auto& region : regions_) total += region.second ? region.second->bytes() : 0;
  return total;
}

template <class Make>
const NodeRunner::Kept& NodeRunner::kept(const Plan& plan, const Node& node, const Make& make) {
  const std::pair<uint64_t, const Node*> of_node{plan.id, &node};
  if (const auto found = kept_.find(of_node); found != kept_.end()) {
    for (const auto& [key, kept] : found->second) {
      if (key == key_) return kept;
    }
  }
  if (++kept_count_ > kMaxKept) {
    kept_.clear();
    kept_count_ = 1;
  }
  auto& all = kept_[of_node];
  all.emplace_front(key_, make());  // what came last comes again
  return all.front().second;
}

NodeRunner::Kept NodeRunner::make_kept(KernelRequest request) const {
  std::string reason;
  auto kernel = kernels_.make(request, reason);
  return {std::move(request.outputs), std::move(kernel)};
}

std::vector<Datum> NodeRunner::run_kernel(const Kept& kept, const std::vector<const Datum*>& inputs) {
  from_.clear();
  to_.clear();
  std::vector<Datum> results(kept.outputs.size());
  for (const Datum* input : inputs) from_.push_back(input == nullptr ? nullptr : input->tensor.raw());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& output = kept.outputs[i];
    if (output) results[i] = Tensor(output->element, output->dims);
    to_.push_back(output ? results[i].tensor.mutable_raw() : nullptr);
  }
  kept.kernel->run({from_.data(), to_.data(), scratch_.at_least(kept.kernel->scratch_bytes)});
  return results;
}

std::vector<Datum> NodeRunner::run_region(const Plan& plan, const Graph& region, std::vector<Datum> inputs,
                                          const std::atomic<bool>* stop) {
  const auto program = plan.regions.find(&region);
  if (program == plan.regions.end()) throw internal_error("region '{}' was not compiled", region.name);
  auto& run = regions_[program->second];
  if (!run) run = std::make_unique<ProgramRun>(*program->second, region_arena_);
  return run->run(inputs, {.stop = stop});
}

std::vector<Datum> NodeRunner::run(const Plan& plan, const Step& step,
                                   const std::vector<const Datum*>& inputs, const Captured& captured,
                                   const std::atomic<bool>* stop) {
  const Node& node = *step.node;
  try {
    const ops::OpDef& def = ops::OpRegistry::instance().require(node);
    if (node.regions.empty()) {
      // Mostly sizes are enough; a kernel for each content that comes would be made in vain.
      set_key(key_, node, inputs, false);
      const Kept& by_sizes = kept(plan, node, [&] {
        const Inferred inferred(node, def, inputs, false);
        const auto request = request_for(node, inputs, inferred.outputs, false);
        return request ? make_kept(*request) : Kept{};
      });
      if (by_sizes.kernel) return run_kernel(by_sizes, inputs);
    }
    Inferred inferred(node, def, inputs, true);
    if (const auto request = request_for(node, inputs, inferred.outputs, true);
        request && node.regions.empty()) {
      set_key(key_, node, inputs, true);
      add_outputs(*request, key_);
      const Kept& by_content = kept(plan, node, [&] { return make_kept(*request); });
      if (by_content.kernel) return run_kernel(by_content, inputs);
    }
    Context context(node, ops::ReferenceMode::kDeclared, inputs, std::move(inferred.declared),
                    inferred.outputs);
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
