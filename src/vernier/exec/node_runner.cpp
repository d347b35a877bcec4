#include "vernier/exec/node_runner.h"

#include <chrono>

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

using Content = NodeContent;

bool is_known(const Value& value, const Tensor& tensor, Content content) {
  return value.is_constant() || content == Content::kAll ||
         (content == Content::kSmall && is_small_content(tensor));
}

// What is known of an input: its sizes, and perhaps its content.
ValueInfo info_of(const Value& value, const Datum& datum, Content content) {
  ValueInfo info;
  info.type = value.type;
  if (!datum.is_tensor()) return info;
  const Tensor& tensor = datum.tensor;
  info.type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
  if (!is_known(value, tensor, content)) return info;
  info.constant = tensor;
  if (tensor.rank() <= 1 && tensor.size() <= ops::kMaxFollowedElements &&
      (is_integer(tensor.type()) || tensor.type() == ElementType::kBool))
    info.dims = to_shape(tensor.to_ints());
  return info;
}

// The node at the sizes at hand, if all operands are tensors of known sizes.
std::optional<KernelRequest> request_for(const Node& node, const std::vector<const Datum*>& inputs,
                                         const std::vector<ValueInfo>& outputs, Content content) {
  KernelRequest request{node, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      request.inputs.emplace_back(std::nullopt);
      continue;
    }
    if (!inputs[i]->is_tensor() || inputs[i]->tensor.type() == ElementType::kString) return std::nullopt;
    const Tensor& tensor = inputs[i]->tensor;
    const bool known = is_known(*node.inputs[i], tensor, content);
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

// The node, with kinds, types and sizes of the inputs, and small contents if they are looked at.
void set_key(std::vector<int64_t>& key, const Plan& plan, const Node& node,
             const std::vector<const Datum*>& inputs, Content content) {
  key.assign({static_cast<int64_t>(plan.id), static_cast<int64_t>(reinterpret_cast<intptr_t>(&node)),
              static_cast<int64_t>(content)});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !inputs[i]->is_tensor()) {
      key.push_back(-1);
      continue;
    }
    const Tensor& tensor = inputs[i]->tensor;
    key.push_back(tensor.rank());
    key.push_back(static_cast<int64_t>(tensor.type()));
    key.insert(key.end(), tensor.dims().begin(), tensor.dims().end());
    if (content == Content::kNone || node.inputs[i]->is_constant() || !is_small_content(tensor)) continue;
    const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
    key.insert(key.end(), bytes, bytes + tensor.byte_size());
  }
}

void add_outputs(const KernelRequest& request, std::vector<int64_t>& key) {
  for (const auto& output : request.outputs) {
    if (output) key.insert(key.end(), output->dims.begin(), output->dims.end());
  }
}

}  // namespace

// What inference makes of a node at the sizes at hand.
struct NodeRunner::Inferred {
  std::vector<ValueInfo> outputs;
  std::vector<ElementType> declared;

  Inferred(const Node& node, const ops::OpDef& def, const std::vector<const Datum*>& data, Content content) {
    std::vector<ValueInfo> inputs(data.size());
    std::vector<const ValueInfo*> known;
    for (size_t i = 0; i < data.size(); ++i) {
      if (data[i] != nullptr) inputs[i] = info_of(*node.inputs[i], *data[i], content);
      known.push_back(data[i] == nullptr ? nullptr : &inputs[i]);
      const ValueType& type = inputs[i].type;
      declared.push_back(type.is_tensor() ? type.tensor.element : ElementType::kUndefined);
    }
    ops::InferContext context(node, std::move(known));
    def.infer(context);
    outputs = std::move(context.outputs());
  }
};

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

size_t NodeRunner::HashKey::operator()(const Key& key) const {
  uint64_t hash = key.size();
  for (const int64_t part : key) {
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

template <class Make>
const NodeRunner::Kept& NodeRunner::kept(const Make& make) {
  if (const auto found = kept_.find(key_); found != kept_.end()) return found->second;
  if (kept_.size() >= kMaxKept) kept_.clear();
  return kept_.emplace(key_, make()).first->second;
}

NodeRunner::Kept NodeRunner::make_kept(KernelRequest request) const {
  std::string reason;
  auto kernel = kernels_.make(request, reason);
  return {std::move(request.outputs), std::move(kernel), nullptr};
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
                                          const RunOptions& options) {
  const auto program = plan.regions.find(&region);
  if (program == plan.regions.end()) throw internal_error("region '{}' was not compiled", region.name);
  auto& run = regions_[program->second];
  if (!run) run = std::make_unique<ProgramRun>(*program->second, region_arena_);
  StepObserver inside;
  if (options.observer != nullptr) inside.made_when_run = options.observer->made_when_run;
  // What leaves the node is detached from what lives only as long as its step.
  return run->run(
      inputs,
      {.observer = inside.made_when_run ? &inside : nullptr, .stop = options.stop, .shares_inputs = true});
}

const NodeRunner::Kept& NodeRunner::kept_by(Content content, const Plan& plan, const Node& node,
                                            const ops::OpDef& def, const std::vector<const Datum*>& inputs) {
  set_key(key_, plan, node, inputs, content);
  return kept([&] {
    auto inferred = std::make_shared<Inferred>(node, def, inputs, content);
    const auto request = request_for(node, inputs, inferred->outputs, content);
    if (!request) return Kept{};
    Kept made = make_kept(*request);
    if (!made.kernel) made.inferred = std::move(inferred);
    return made;
  });
}

std::pair<std::vector<Datum>, const Kernel*> NodeRunner::run_by_any(const Plan& plan, const Step& step,
                                                                    const std::vector<const Datum*>& inputs,
                                                                    const Captured& captured,
                                                                    const RunOptions& options) {
  const auto by_kernel = [&](const Kept& kept) {
    return std::pair(run_kernel(kept, inputs), kept.kernel.get());
  };
  const Node& node = *step.node;
  const bool may_have_kernel = node.regions.empty() && !step.by_reference;
  const ops::OpDef& def = ops::OpRegistry::instance().require(node);
  std::shared_ptr<const Inferred> inferred;
  if (may_have_kernel) {
    // Mostly sizes are enough; a kernel for each content that comes would be made in vain.
    const Kept& by_sizes = kept_by(Content::kNone, plan, node, def, inputs);
    if (by_sizes.kernel) return by_kernel(by_sizes);
    const Kept& by_content = kept_by(Content::kSmall, plan, node, def, inputs);
    if (by_content.kernel) return by_kernel(by_content);
    inferred = by_content.inferred;
  }
  if (!inferred) {
    // Sizes of outputs may follow from contents that are not small.
    inferred = std::make_shared<Inferred>(node, def, inputs, Content::kAll);
    const auto request = request_for(node, inputs, inferred->outputs, Content::kSmall);
    if (request && may_have_kernel) {
      set_key(key_, plan, node, inputs, Content::kAll);
      add_outputs(*request, key_);
      const Kept& by_outputs = kept([&] { return make_kept(*request); });
      if (by_outputs.kernel) return by_kernel(by_outputs);
    }
  }
  Context context(node, ops::ReferenceMode::kDeclared, inputs, inferred->declared, inferred->outputs);
  context.region = [&](const Graph& region, std::vector<Datum> arguments) {
    if (const auto found = captured.find(&region); found != captured.end())
      arguments.insert(arguments.end(), found->second.begin(), found->second.end());
    return run_region(plan, region, std::move(arguments), options);
  };
  def.reference(context);
  return {std::move(context.results()), nullptr};
}

std::vector<Datum> NodeRunner::run(const Plan& plan, const Step& step,
                                   const std::vector<const Datum*>& inputs, const Captured& captured,
                                   const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Node& node = *step.node;
  const bool watched = options.observer != nullptr && options.observer->made_when_run && node.regions.empty();
  try {
    const auto start = watched ? Clock::now() : Clock::time_point();
    auto [results, kernel] = run_by_any(plan, step, inputs, captured, options);
    if (watched) options.observer->made_when_run(step, kernel, (Clock::now() - start).count());
    return std::move(results);
  } catch (Error& error) {
    throw error.at_node(node.name);
  }
}

}  // namespace vernier
